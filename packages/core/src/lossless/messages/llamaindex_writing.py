"""Writing turns as payloads of LlamaIndex's messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lossless.messages.formats import Turn
from lossless.messages.notes import opaque_note
from lossless.messages.openai_writing import LEGACY_CALL
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.wire import own_block, string, verbatim

__all__ = ["NAME", "write"]

NAME = "llamaindex/1"
_FIELDS = {"image": "image", "audio": "audio", "video": "video", "document": "data"}


def write(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Write turns as payloads; see :meth:`LlamaIndexFormat.render`."""
    written: list[dict[str, Any]] = []
    for turn in turns:
        if turn.payload is not None:
            written.append(verbatim(turn.payload))
            continue
        written.extend(_result(part, turn) for part in turn.parts if isinstance(part, Result))
        blocks = _blocks((part for part in turn.parts if not isinstance(part, Result)), turn)
        if blocks:
            role = "user" if turn.role == "tool" else turn.role
            aside = {"name": turn.name} if turn.name is not None else {}
            written.append({"role": role, "blocks": blocks, "additional_kwargs": aside})
    return written


def _result(result: Result, turn: Turn) -> dict[str, Any]:
    """Write a result; where only its call's id has changed, the rest of its message is as it was given."""
    own = own_block(result, NAME)
    if isinstance(own, Mapping) and isinstance(own.get("additional_kwargs"), dict) and "tool_call_id" in own["additional_kwargs"]:
        kept: dict[str, Any] = verbatim(own)
        kept["additional_kwargs"]["tool_call_id"] = result.call_id
        return kept
    legacy = result.call_id.startswith(LEGACY_CALL)
    aside: dict[str, Any] = {} if legacy else {"tool_call_id": result.call_id}
    name = result.name or (result.call_id[len(LEGACY_CALL) :] if legacy else None)
    if name:
        aside["name"] = name
    if result.is_error:
        aside["is_error"] = True
    return {"role": "function" if legacy else "tool", "blocks": _blocks(result.parts, turn), "additional_kwargs": aside}


def _blocks(parts: Iterable[Part], turn: Turn) -> list[dict[str, Any]]:
    return [block for part in parts if (block := _block(part, turn)) is not None]


def _block(part: Part, turn: Turn) -> dict[str, Any] | None:
    own = own_block(part, NAME)
    if isinstance(own, Mapping):
        kept: dict[str, Any] = verbatim(own)
        return kept if not isinstance(part, Call) else {**kept, "tool_call_id": part.id}
    match part:
        case Text(text=text):
            return {"block_type": "text", "text": text}
        case Call():
            return {"block_type": "tool_call", "tool_call_id": part.id, "tool_name": part.name, "tool_kwargs": _arguments(part)}
        case Reasoning():
            return _thinking(part)
        case Media():
            return _media(part)
        case Opaque():
            return {"block_type": "text", "text": opaque_note(part, turn.origin)}
        case _:
            return None


def _arguments(call: Call) -> Any:
    """Give arguments as a dict where they are one, else as the text that the model wrote."""
    try:
        read = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return call.arguments
    return read if isinstance(read, dict) else call.arguments


def _thinking(reasoning: Reasoning) -> dict[str, Any]:
    block: dict[str, Any] = {"block_type": "thinking", "content": reasoning.text}
    given = own_block(reasoning, "anthropic/1")
    signature = string(given.get("signature")) if isinstance(given, Mapping) else ""
    return block | ({"additional_information": {"signature": signature}} if signature else {})


def _media(media: Media) -> dict[str, Any]:
    kind = media.kind if media.kind in _FIELDS else "document"
    block: dict[str, Any] = {"block_type": kind}
    if media.data is not None:
        block[_FIELDS[kind]] = media.data.encode("ascii", "replace")
        if kind == "document" and media.reference:
            block["title"] = media.reference
    elif media.reference:
        block["url"] = media.reference
    if media.mime and kind == "audio":
        block["format"] = media.mime.rpartition("/")[2]
    elif media.mime:
        block[f"{kind}_mimetype"] = media.mime
    if media.detail and kind == "image":
        block["detail"] = media.detail
    return block
