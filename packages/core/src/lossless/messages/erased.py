"""Erased messages: what a message decodes to whose payload was erased: its role, and the ids of its calls and results.

So its calls are answered still, and its results still answer, in whatever format they are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lossless.messages.parts import Call, Opaque, Part, Reasoning, Result, Text
from lossless.messages.payload import encode

__all__ = ["ERASED_FORMAT", "erased_payload", "left_of", "read_erased"]

ERASED_FORMAT = "erased/1"
"""The format of placeholders. Nothing can be given or shown in it."""

_MESSAGE = "[this message was erased]"
_RESULT = "[this result was erased]"
_TOOL = "erased"


def erased_payload(role: str, parts: Iterable[Part]) -> dict[str, Any]:
    """Give the placeholder of a message: nothing of what it said."""
    kept: list[list[str]] = []
    for part in parts:
        match part:
            case Call(id=id):
                kept.append(["call", id])
            case Result(call_id=id):
                kept.append(["result", id])
            case Reasoning():
                pass
            case _ if ["text"] not in kept:  # how many there were is nobody's business
                kept.append(["text"])
    return {"role": role, "erased": kept or [["text"]]}


def left_of(id: str, placeholder: Mapping[str, Any]) -> bytes:
    """Give what is left of a message, for who has no row of it: its placeholder with its id."""
    return encode({"id": id, **placeholder})


def read_erased(payload: Any) -> tuple[Part, ...]:
    """Read a placeholder into parts."""
    kept = payload.get("erased") if isinstance(payload, Mapping) else None
    if not isinstance(kept, list):
        return (Opaque(payload),)
    found: list[Part] = []
    for part in kept:
        match part:
            case ["call", str(id)]:
                found.append(Call(id, _TOOL, "{}"))
            case ["result", str(id)]:
                found.append(Result(id, (Text(_RESULT),)))
            case _:
                found.append(Text(_MESSAGE))
    return tuple(found)
