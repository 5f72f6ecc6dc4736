"""What the formats share: fresh copies, blocks given back, content checked, data URIs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lossless.errors import MessageError
from lossless.messages.parts import Part

__all__ = ["check_role", "data_uri", "fresh", "list_content", "own_block", "read_data_uri", "string", "verbatim"]


def check_role(payload: Any, roles: Mapping[str, str], format_name: str) -> str:
    """Give the neutral role of a payload.

    Raises:
        MessageError: it is no message of that format.
    """
    if type(payload) is not dict and not isinstance(payload, Mapping):
        kind = type(payload).__qualname__
        raise MessageError(
            f"a message must be a mapping, not {kind}", hint='give a dict such as {"role": "user", "content": "…"}'
        )
    role = payload.get("role")
    known = roles.get(role) if isinstance(role, str) else None
    if known is None:
        named = repr(role[:60]) if isinstance(role, str) else f"a {type(role).__qualname__}"
        said = f"has as role {named}, which {format_name} does not know" if "role" in payload else "has no role"
        raise MessageError(f"the message {said}", hint=f"one of {', '.join(roles)}; or name another format=")
    return known


def list_content(content: Any, format_name: str) -> list[Any] | tuple[Any, ...]:
    """Give content that is a list of blocks.

    Raises:
        MessageError: it is something else, or holds something that is neither a block nor a text.
    """
    if not isinstance(content, (list, tuple)):
        kind = type(content).__qualname__
        raise MessageError(f"{format_name} has no content of the type {kind}", hint="give a string or a list of content blocks")
    for block in content:
        if not isinstance(block, (Mapping, str)):
            kind = type(block).__qualname__
            raise MessageError(f"content holds a value of the type {kind}", hint="each block of a list is a dict with a type")
    return content


def fresh(value: Any) -> Any:
    """Copy dicts and lists all the way down, tuples as lists; other values are immutable and stay."""
    if isinstance(value, dict):
        return {key: inner if type(inner) is str else fresh(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [fresh(inner) for inner in value]
    return value


def verbatim(value: Any) -> Any:
    """Copy containers all the way down, each as what it is; other values are immutable and stay."""
    kind = type(value)
    if kind is dict:
        return {key: inner if type(inner) is str else verbatim(inner) for key, inner in value.items()}
    if kind is list or kind is tuple:
        return kind([verbatim(inner) for inner in value])
    return set(value) if kind is set else value


def own_block(part: Part, format_name: str) -> Any:
    """Give the block that a part was read from, if it is one of this format; not to be changed."""
    block = part.block
    return block[1] if block is not None and block[0] == format_name else None


def string(value: Any) -> str:
    """Give a value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def data_uri(mime: str | None, data: str) -> str:
    """Write base64 data as a data URI."""
    return f"data:{mime or 'application/octet-stream'};base64,{data}"


def read_data_uri(uri: str) -> tuple[str | None, str] | None:
    """Read (media type, base64 data) from a data URI; None for any other address."""
    if uri[:5].lower() != "data:":
        return None
    head, comma, data = uri[5:].partition(",")
    mime, _, rest = head.partition(";")
    if not comma or rest.rpartition(";")[2].strip().lower() != "base64":
        return None
    return mime.strip().lower() or None, data
