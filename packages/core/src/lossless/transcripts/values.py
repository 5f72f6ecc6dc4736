"""JSON values as transcripts have them: long integers, NaN, lone surrogates; of a key that comes twice, the last counts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from lossless.errors import CorruptError
from lossless.messages.payload import TAG, decode

__all__ = ["Unreadable", "decode_at", "decode_line"]

_DEEPEST = 200
_DIGITS = 100_000
_BLOCK = 4_000  # Python converts up to 4 300 digits at once


class Unreadable(ValueError):
    """A value can't be read.

    Attributes:
        place: where reading failed, in characters.
    """

    def __init__(self, reason: str, place: int = 0) -> None:
        super().__init__(reason)
        self.place = place


def decode_line(line: bytes) -> object:
    """Read the value that a line holds; give Unreadable where it is not UTF-8, not JSON, or more than one value."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        return Unreadable(f"not UTF-8 (byte {error.start + 1} of the line)", error.start)
    start = len(text) - len(text.lstrip(_BLANKS))
    try:
        value, end = decode_at(text, start)
    except Unreadable as error:
        return Unreadable(f"{error} (column {error.place + 1})", error.place)
    if text[end:].strip(_BLANKS):
        return Unreadable(f"not JSON: something follows the value (column {end + 1})", end)
    return _exported(text[start:end], value) if TAG in text else value


def _exported(text: str, value: object) -> object:
    """Read what an export wrote of values that JSON has no word for; a line that only looks like one is left as it is."""
    try:
        return decode(text.encode("utf-8", "surrogatepass"))
    except CorruptError:
        return value


def decode_at(text: str, start: int) -> tuple[object, int]:
    """Read the value at a place; give it, or Unreadable where it is nested too deeply, and where it ends.

    Raises:
        Unreadable: there is no value.
    """
    try:
        value, end = _decoded(text, start)
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error.msg}", error.pos) from None
    except RecursionError:
        raise Unreadable("nested too deeply", start) from None
    if text.count("[", start, end) + text.count("{", start, end) > _DEEPEST and _is_deep(value):
        value = Unreadable("nested too deeply", start)
    return value, end


_BLANKS = " \t\r\n\ufeff"  # the last may stand where files were put one behind the other


def _decoded(text: str, start: int) -> tuple[object, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError):
        raise
    except ValueError:  # an integer too long for Python's own conversion
        return _PATIENT.raw_decode(text, start)


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return False
    return True


def _containers(value: object) -> Iterator[object]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (one for one in inner if isinstance(one, dict | list))


def _long_integer(text: str) -> int:
    digits = text.lstrip("-")
    if len(digits) > _DIGITS:
        raise Unreadable(f"an integer of {len(digits)} digits")
    number = 0
    for piece in re.findall(f"[0-9]{{1,{_BLOCK}}}", digits):
        number = number * 10 ** len(piece) + int(piece)
    return -number if text.startswith("-") else number


_DECODER = json.JSONDecoder(strict=False)
_PATIENT = json.JSONDecoder(strict=False, parse_int=_long_integer)
