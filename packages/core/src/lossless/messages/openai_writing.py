"""Writing turns as chat-completion messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lossless.messages.formats import Turn
from lossless.messages.notes import media_note, opaque_note
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.payload import json_text
from lossless.messages.wire import data_uri, fresh, own_block

__all__ = ["LEGACY", "LEGACY_CALL", "NAME", "write"]

NAME = "openai/1"
LEGACY = (NAME, None)  # the block of a call that was given in the older form, ``function_call``
LEGACY_CALL = "function_call:"  # such calls have no ids: this and the function's name stand for one

_KEYS = frozenset({"role", "content", "name"})
_ASSISTANT_KEYS = _KEYS | {"tool_calls", "refusal", "audio", "function_call", "reasoning_content"}
_TOOL_KEYS = _KEYS | {"tool_call_id"}
_KEYS_OF = {"assistant": _ASSISTANT_KEYS, "tool": _TOOL_KEYS}
_NULLABLE = frozenset({"content", "refusal", "audio", "function_call"})
_PARTICIPANT = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NO_PLACE = "this format has no place for it"


def write(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Write turns as messages; see :meth:`OpenAIFormat.render`."""
    writer = _Writer()
    for turn in turns:
        if turn.payload is not None:
            writer.keep(turn, turn.payload)
        else:
            writer.write(turn)
    writer.close()
    return writer.messages


class _Writer:
    """Messages as they come to be.

    Attributes:
        messages: what was written.
        shown: media that tools returned, to be shown once all results of the call stand.
        legacy: names of the calls that were written in the older form, by id; their results must be, too.
    """

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.shown: list[dict[str, Any]] = []
        self.legacy: dict[str, str] = {}

    def keep(self, turn: Turn, payload: Mapping[str, Any]) -> None:
        if turn.role == "tool" and (self.legacy or payload.get("role") == "function"):
            self.write(turn)  # its form depends on that of the call
            return
        message = _keep(payload)
        if turn.role == "tool":
            if message.get("content") is None:
                message["content"] = ""
            self.messages.append(message)
            return
        if message.get("function_call"):
            self._note_legacy(turn.parts)
        self._say(message)

    def write(self, turn: Turn) -> None:
        rest: list[Part] = []
        for part in turn.parts:
            if isinstance(part, Result):
                self.messages.append(_result(part, turn, self.shown, self.legacy.get(part.call_id)))
            else:
                rest.append(part)
        if rest:
            self._say(self._message(rest, turn))

    def close(self) -> None:
        if self.shown:
            self.messages.append({"role": "user", "content": self.shown})

    def _message(self, parts: list[Part], turn: Turn) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "user" if turn.role == "tool" else turn.role}
        if turn.role != "assistant":
            message["content"] = _content(parts, turn)
        else:
            _add_assistant(message, parts, turn)
            if "function_call" in message:
                self._note_legacy(parts)
        if turn.name is not None and _PARTICIPANT.fullmatch(turn.name):
            message["name"] = turn.name
        return message

    def _note_legacy(self, parts: Iterable[Part]) -> None:
        self.legacy.update({part.id: part.name for part in parts if isinstance(part, Call)})

    def _say(self, message: dict[str, Any]) -> None:
        if self.shown:
            if message["role"] == "user":
                content = message["content"]
                said = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
                message["content"] = [*self.shown, *said]
            else:
                self.close()
            self.shown = []
        self.messages.append(message)


def _keep(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Copy what the API knows of a payload, in its order; it refuses empty lists of calls, and the sound of a spoken answer."""
    message: dict[str, Any] = {}
    known = _KEYS_OF.get(payload["role"], _KEYS)
    for key, value in payload.items():
        if key not in known:
            continue
        if type(value) is str:
            message[key] = value
        elif value is None:
            if key in _NULLABLE:
                message[key] = None
        elif key == "tool_calls":
            if value:
                message[key] = [_own_call(call) for call in value]
        elif key == "content":
            message[key] = [{"type": "text", "text": part} if isinstance(part, str) else fresh(part) for part in value]
        elif key == "audio" and isinstance(value, Mapping):
            message[key] = {"id": value.get("id")}
        else:
            message[key] = fresh(value)
    return message


def _add_assistant(message: dict[str, Any], parts: list[Part], turn: Turn) -> None:
    calls = [part for part in parts if isinstance(part, Call)]
    said = [part for part in parts if not isinstance(part, (Call, Reasoning))]
    message["content"] = _content(said, turn) if said else None
    thoughts = [part.text for part in parts if isinstance(part, Reasoning) and part.block == (NAME, None)]
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if len(calls) == 1 and calls[0].block == LEGACY:
        message["function_call"] = {"name": calls[0].name, "arguments": calls[0].arguments}
    elif calls:
        message["tool_calls"] = [_call(call) for call in calls]


def _call(call: Call) -> dict[str, Any]:
    block = own_block(call, NAME)
    if block is None:
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    item = _own_call(block)
    item["id"] = call.id
    for kind in ("function", "custom"):
        if isinstance(item.get(kind), dict):
            item[kind]["name"] = call.name
    return item


def _own_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a call of this format, set right where the API would not take it: arguments that are not text, no type."""
    item: dict[str, Any] = fresh(call)
    for kind, key in (("function", "arguments"), ("custom", "input")):
        body = item.get(kind)
        if isinstance(body, dict):
            item.setdefault("type", kind)
            given = body.get(key)
            if not isinstance(given, str):
                body[key] = "" if given is None else json_text(given)
    return item


def _result(result: Result, turn: Turn, shown: list[dict[str, Any]], legacy: str | None) -> dict[str, Any]:
    payload = own_block(result, NAME)
    if payload is not None and (payload.get("role") == "function") is (legacy is not None):
        message = _keep(payload)
        if message.get("content") is None:
            message["content"] = ""
        if legacy is None:
            message["tool_call_id"] = result.call_id
        return message
    texts: list[str] = []
    for part in result.parts:
        if isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, Opaque):
            texts.append(opaque_note(part, turn.origin))
        elif (block := _media(part)) is None:
            texts.append(media_note(part, turn.origin, _NO_PLACE))
        else:
            texts.append(f"[{part.kind} shown below]")
            shown.append({"type": "text", "text": f"[{part.kind} returned by the tool call {result.call_id}]"})
            shown.append(block)
    content = "\n".join(texts)
    if legacy is not None:
        return {"role": "function", "name": legacy, "content": content}
    return {"role": "tool", "tool_call_id": result.call_id, "content": content}


def _content(parts: Iterable[Part], turn: Turn) -> str | list[dict[str, Any]]:
    blocks = [block for part in parts if (block := _block(part, turn)) is not None]
    if not blocks:
        return ""
    if len(blocks) == 1 and isinstance(blocks[0], str):
        return blocks[0]
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]


def _block(part: Part, turn: Turn) -> str | dict[str, Any] | None:
    """Write one part of content; a plain string where the block would say no more than its text."""
    block = own_block(part, NAME)
    if block is not None:
        copied: dict[str, Any] = fresh(block)
        return copied
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Opaque):
        return opaque_note(part, turn.origin)
    if isinstance(part, Media):
        media = _media(part) if turn.role == "user" else None
        return media if media is not None else media_note(part, turn.origin, _NO_PLACE)
    return None


def _media(media: Media) -> dict[str, Any] | None:
    """Write media as a block of a user's message, or None if there is none for it."""
    if media.kind == "image":
        detail = {"detail": media.detail} if media.detail else {}
        if media.data is not None:
            return {"type": "image_url", "image_url": {"url": data_uri(media.mime, media.data), **detail}}
        if media.reference and "://" in media.reference:
            return {"type": "image_url", "image_url": {"url": media.reference, **detail}}
    if media.kind == "document" and media.data is not None and media.mime == "application/pdf":
        named = media.reference or "document.pdf"
        return {"type": "file", "file": {"filename": named, "file_data": data_uri(media.mime, media.data)}}
    if media.kind == "audio" and media.data is not None and media.mime in ("audio/wav", "audio/mp3"):
        return {"type": "input_audio", "input_audio": {"data": media.data, "format": media.mime[6:]}}
    return None
