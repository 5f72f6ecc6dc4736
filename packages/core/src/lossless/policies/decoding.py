"""Decoding: JSON as tools really answer it, whole, one value a line, printed by Python, or cut off in the middle."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

__all__ = ["decode"]


def decode(text: str, begin: int) -> tuple[Any, int] | None:
    """Decode the object or list that begins there; give it and where it ends, or None when there is none.

    Numbers stay as they are written. Of a value that is broken or cut off, what stands before the break is given.
    """
    try:
        value, end = _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return _printed_by_python(text, begin) or _before_the_break(text, begin)
    if isinstance(value, dict) and text[end : end + 200].lstrip()[:1] == "{":
        return _json_lines(text, begin) or (value, end)
    return value, end


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False)
_LONGEST_PRINTED = 20_000
_DEEPEST = 50


def _json_lines(text: str, begin: int) -> tuple[list[Any], int] | None:
    values: list[Any] = []
    try:
        for line in text[begin:].splitlines():
            if line.strip():
                values.append(_DECODER.decode(line))
    except (ValueError, RecursionError):
        return None
    return values, len(text)


def _printed_by_python(text: str, begin: int) -> tuple[Any, int] | None:
    """Read what Python prints of a dict or list; short ones only, since its parser takes a hundred times the memory."""
    if len(text) - begin > _LONGEST_PRINTED or text[begin : begin + 2] not in ("{'", "[{", "['", "[("):
        return None
    try:
        return ast.literal_eval(text[begin:].strip()), len(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


_SPACE = re.compile(r"[\s,]*")
_COLON = re.compile(r"\s*:\s*")


def _before_the_break(text: str, begin: int) -> tuple[Any, int] | None:
    value, end, _ = _container(text, begin, 0)
    return (value, end) if value else None


def _container(text: str, begin: int, depth: int) -> tuple[Any, int, bool]:
    """Decode a container member by member, up to the first that can't be; say whether it was whole."""
    is_object = text[begin] == "{"
    found: dict[str, Any] = {}
    members: list[Any] = []
    at = begin + 1
    whole = False
    while True:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if text[at : at + 1] in ("}", "]"):
            at, whole = at + 1, True
            break
        name = ""
        place = at
        if is_object:
            key, place = _member(text, at)
            colon = _COLON.match(text, place)
            if not isinstance(key, str) or colon is None:
                break
            name, place = key, colon.end()
        value, end = _member(text, place)
        closed = value is not _BROKEN
        if not closed and text[place : place + 1] in ("{", "[") and depth < _DEEPEST:
            value, end, closed = _container(text, place, depth + 1)
        if value is _BROKEN:
            break
        found[name] = value
        members.append(value)
        at = end
        if not closed:
            break
    return (found if is_object else members), at, whole


_BROKEN = object()


def _member(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return _BROKEN, at
