"""Writing turns as payloads of LangChain's messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lossless.messages.formats import Turn
from lossless.messages.notes import opaque_note
from lossless.messages.openai_writing import LEGACY_CALL
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.wire import verbatim

__all__ = ["NAME", "write"]

NAME = "langchain/1"
_TYPES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system", "tool": "human"}
_PASSED_ON = (NAME, "openai/1", "anthropic/1")  # formats whose content blocks LangChain hands on as they are
_BLOCK_TYPES = {"image": "image", "audio": "audio", "video": "video", "document": "file"}


def write(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Write turns as payloads; see :meth:`LangChainFormat.render`."""
    written: list[dict[str, Any]] = []
    for turn in turns:
        if turn.payload is not None:
            written.append(verbatim(turn.payload))
            continue
        written.extend(_result(part, turn) for part in turn.parts if isinstance(part, Result))
        rest = [part for part in turn.parts if not isinstance(part, Result)]
        if rest:
            written.append(_message(rest, turn))
    return written


def _message(parts: Sequence[Part], turn: Turn) -> dict[str, Any]:
    data: dict[str, Any] = {"content": _content(parts, turn)}
    aside: dict[str, Any] = {}
    if turn.role == "developer":
        aside["__openai_role__"] = "developer"
    if turn.origin.startswith("sum_") and len(parts) == 1:
        aside["lc_source"] = "summarization"
    thoughts = [part.text for part in parts if isinstance(part, Reasoning) and part.block == ("openai/1", None)]
    if thoughts:
        aside["reasoning_content"] = "\n\n".join(thoughts)
    calls = [part for part in parts if isinstance(part, Call)]
    if calls:
        _add_calls(data, calls)
    if aside:
        data["additional_kwargs"] = aside
    if turn.name is not None:
        data["name"] = turn.name
    return {"type": _TYPES[turn.role], "data": data, "origin": turn.origin}


def _add_calls(data: dict[str, Any], calls: Sequence[Call]) -> None:
    """Put calls where LangChain keeps them: those whose arguments are no object apart."""
    for call in calls:
        name = call.name
        given = _arguments(call)
        own = call.block[1] if call.block is not None and call.block[0] == NAME else None
        kept = verbatim(own) if isinstance(own, Mapping) else {}
        if given is not None:
            data.setdefault("tool_calls", []).append({**kept, "name": name, "args": given, "id": call.id, "type": "tool_call"})
            continue
        invalid = {"error": None, **kept, "name": name, "args": call.arguments, "id": call.id, "type": "invalid_tool_call"}
        data.setdefault("invalid_tool_calls", []).append(invalid)


def _arguments(call: Call) -> dict[Any, Any] | None:
    own = call.block[1] if call.block is not None and call.block[0] == NAME else None
    if isinstance(own, Mapping) and isinstance(own.get("args"), dict):
        found: dict[Any, Any] = verbatim(own["args"])
        return found
    try:
        read = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _result(result: Result, turn: Turn) -> dict[str, Any]:
    """Write a result; where only its call's id has changed, the rest of its message is as it was given."""
    own = result.block[1] if result.block is not None and result.block[0] == NAME else None
    if isinstance(own, Mapping) and isinstance(own.get("data"), Mapping) and "tool_call_id" in own["data"]:
        kept: dict[str, Any] = verbatim(own)
        kept["data"]["tool_call_id"] = result.call_id
        return kept
    data: dict[str, Any] = {"content": _content(result.parts, turn)}
    if result.name:
        data["name"] = result.name
    if result.call_id.startswith(LEGACY_CALL):
        data["name"] = result.name or result.call_id[len(LEGACY_CALL) :]
        return {"type": "function", "data": data, "origin": turn.origin}
    data["tool_call_id"] = result.call_id
    if result.is_error:
        data["status"] = "error"
    return {"type": "tool", "data": data, "origin": turn.origin}


def _content(parts: Iterable[Part], turn: Turn) -> str | list[Any]:
    blocks = [block for part in parts if (block := _block(part, turn)) is not None]
    if not blocks:
        return ""
    if len(blocks) == 1 and isinstance(blocks[0], str):
        return blocks[0]
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]


def _block(part: Part, turn: Turn) -> Any:
    """Write one part of content; a plain string where a block would say no more, None where it stands elsewhere."""
    if isinstance(part, (Call, Result)):
        return None
    if part.block is not None and part.block[0] in _PASSED_ON and part.block[1] is not None:
        return verbatim(part.block[1])
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Media):
        return _media(part)
    return opaque_note(part, turn.origin) if isinstance(part, Opaque) else None


def _media(media: Media) -> dict[str, Any]:
    block: dict[str, Any] = {"type": _BLOCK_TYPES.get(media.kind, "file")}
    if media.data is not None:
        block["base64"] = media.data
    elif media.reference and "://" in media.reference:
        block["url"] = media.reference
    else:
        block["file_id"] = media.reference or ""
    return block | ({"mime_type": media.mime} if media.mime else {})
