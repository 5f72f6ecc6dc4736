"""Writing turns as messages of Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lossless.messages.formats import Turn
from lossless.messages.notes import media_note, opaque_note, system_note
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.payload import json_text
from lossless.messages.wire import fresh, own_block

__all__ = ["NAME", "write"]

NAME = "anthropic/1"
_NO_PLACE = "this format has no place for it"
_SYSTEM = ("system", "developer")


def write(turns: Sequence[Turn], results_alone: bool) -> tuple[list[dict[str, Any]], Any]:
    """Write turns as (messages, system); see :meth:`AnthropicFormat.render`."""
    messages: list[dict[str, Any]] = []
    leading = 0
    while leading < len(turns) and turns[leading].role in _SYSTEM:
        leading += 1
    last = None
    last_turn = None
    for turn in turns[leading:]:
        payload = turn.payload
        if payload is not None and turn.role not in _SYSTEM:
            message = _keep(payload)
        else:
            message = _write_turn(turn)
            if not message["content"]:
                continue
        role = message["role"]
        if role == last and not (results_alone and last_turn == "tool" and turn.role != "tool"):
            messages[-1]["content"] = [*_blocks(messages[-1]["content"]), *_blocks(message["content"])]
        else:
            messages.append(message)
        last = role
        last_turn = turn.role
    return messages, _system(turns[:leading])


def _keep(payload: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {}
    for key, value in payload.items():
        if key == "content":
            message[key] = value if type(value) is str else _copy_content(value)
        elif key == "role":
            message[key] = value
    return message


def _copy_content(content: Any) -> Any:
    if isinstance(content, (list, tuple)):
        return [_own(block) for block in content]
    return content


def _own(block: Any) -> Any:
    """Copy a block of this format, set right where the API would not take it: texts without a type, input that is no object."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    copied = fresh(block)
    if isinstance(copied, dict):
        kind = copied.get("type")
        if kind == "tool_use" and not isinstance(copied.get("input"), dict):
            given = copied.get("input")
            copied["input"] = {} if given is None else {"_raw": given if isinstance(given, str) else json_text(given)}
        elif kind == "tool_result" and isinstance(copied.get("content"), list):
            copied["content"] = [_own(inner) for inner in copied["content"]]
    return copied


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def _write_turn(turn: Turn) -> dict[str, Any]:
    if turn.role in _SYSTEM:
        return {"role": "user", "content": system_note(turn.parts, turn.origin)}
    role = "assistant" if turn.role == "assistant" else "user"
    return {"role": role, "content": _content(turn.parts, turn)}


def _system(turns: Sequence[Turn]) -> Any:
    """Write the leading system turns: a string, or blocks where one of them was given in blocks."""
    contents = [_content(turn.parts, turn) for turn in turns]
    contents = [content for content in contents if content]
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(contents) or None
    return [block for content in contents for block in _blocks(content)]


def _content(parts: Iterable[Part], turn: Turn) -> Any:
    blocks = [block for part in parts if (block := _block(part, turn)) is not None]
    if len(blocks) == 1 and isinstance(blocks[0], str):
        return blocks[0]
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]


def _block(part: Part, turn: Turn) -> str | dict[str, Any] | None:
    """Write one part; a plain string where the block would say no more than its text."""
    if isinstance(part, Call):
        return _call(part)
    if isinstance(part, Result):
        return _result(part, turn)
    block = own_block(part, NAME)
    if block is not None:
        copied: dict[str, Any] = _own(block)
        return copied
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Reasoning):
        return None
    if isinstance(part, Opaque):
        return opaque_note(part, turn.origin)
    media = _media(part) if turn.role in ("user", "tool") else None
    return media if media is not None else media_note(part, turn.origin, _NO_PLACE)


def _call(call: Call) -> dict[str, Any]:
    block = own_block(call, NAME)
    if block is None:
        return {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)}
    copied: dict[str, Any] = _own(block)
    copied["id"] = call.id
    copied["name"] = call.name
    return copied


def _input(arguments: str) -> dict[str, Any]:
    if not arguments.strip():
        return {}
    try:
        found = json.loads(arguments, parse_constant=_refuse)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"_raw": arguments}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _result(result: Result, turn: Turn) -> dict[str, Any]:
    block = own_block(result, NAME)
    if block is not None:
        copied: dict[str, Any] = _own(block)
        copied["tool_use_id"] = result.call_id
        return copied
    written: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    content = _content(result.parts, turn)
    if content:
        written["content"] = content
    if result.is_error:
        written["is_error"] = True
    return written


def _media(media: Media) -> dict[str, Any] | None:
    """Write media as a block, or None if the API has none for it."""
    source: dict[str, Any]
    if media.data is not None:
        source = {"type": "base64", "media_type": media.mime, "data": media.data}
    elif media.reference and "://" in media.reference:
        source = {"type": "url", "url": media.reference}
    else:
        return None
    if media.kind == "image" and (media.data is None or (media.mime or "").startswith("image/")):
        return {"type": "image", "source": source}
    if media.kind == "document" and (media.data is None or media.mime == "application/pdf"):
        return {"type": "document", "source": source} | ({"title": media.reference} if media.data and media.reference else {})
    return None
