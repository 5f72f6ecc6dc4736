"""Format ``llamaindex/1``: messages of LlamaIndex, as ``lossless-llamaindex`` writes them; read here without LlamaIndex.

A payload is ``{"role": …, "blocks": […], "additional_kwargs": {…}}``, as ``ChatMessage.model_dump()`` gives it, which can be
appended, too. Bytes are bytes in it, and a block that names a path may have the file's content as ``file``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lossless.messages.formats import Rendered, Turn
from lossless.messages.llamaindex_writing import NAME, write
from lossless.messages.openai_writing import LEGACY_CALL
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.payload import json_text
from lossless.messages.profiles import Profile
from lossless.messages.wire import check_role, list_content, string

__all__ = ["LlamaIndexFormat"]

_ROLES = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_SIGNATURES = ("signature", "encrypted_content", "thought_signature", "redacted_data")


class LlamaIndexFormat:
    """Reads and writes LlamaIndex's chat messages as plain values.

    Calls are read from ``tool_call`` blocks; from ``additional_kwargs`` only where there is none, as messages of older versions
    and of some integrations keep them. A cache point says nothing and is no part.
    """

    name = NAME

    def role(self, payload: Mapping[str, Any]) -> str:
        """Give the neutral role: ``chatbot`` and ``model`` are ``assistant``, ``function`` is ``tool``.

        Raises:
            MessageError: the payload is no LlamaIndex message.
        """
        return check_role(payload, _ROLES, NAME)

    def read(self, payload: Mapping[str, Any]) -> tuple[Part, ...]:
        """Read a message into parts: reasoning, texts, media and calls in the order of its blocks; or one result.

        Raises:
            MessageError: the payload is no LlamaIndex message.
        """
        role = self.role(payload)
        parts = _content(payload)
        if role == "tool":
            return (_result(payload, parts),)
        if role == "assistant" and not any(isinstance(part, Call) for part in parts):
            parts.extend(_calls_aside(_aside(payload).get("tool_calls")))
        return tuple(parts)

    def render(self, turns: Sequence[Turn], profile: Profile | None = None) -> Rendered:
        """Write turns as payloads of this format, system ones among them.

        A turn whose payload stands is that payload, whole. Of others, each result becomes a tool message of its own, before
        what else its turn says.
        """
        del profile  # its rules leave this format no choice
        return Rendered(write(turns))


def _aside(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    found = payload.get("additional_kwargs")
    return found if isinstance(found, Mapping) else {}


def _content(payload: Mapping[str, Any]) -> list[Part]:
    blocks = payload.get("blocks")
    if blocks is None:
        blocks = payload.get("content") or []
    if isinstance(blocks, str):
        return [Text(blocks)]
    return [part for block in list_content(blocks, NAME) if (part := _block(block)) is not None]


def _result(payload: Mapping[str, Any], parts: Sequence[Part]) -> Result:
    aside = _aside(payload)
    name = string(aside.get("name")) or None
    call_id = string(aside.get("tool_call_id"))
    if not call_id and payload.get("role") == "function":
        call_id = LEGACY_CALL + (name or "")
    answer = tuple(part if isinstance(part, (Text, Media, Opaque)) else _as_opaque(part) for part in parts)
    return Result(call_id, answer, aside.get("is_error") is True, name, (NAME, payload))


def _as_opaque(part: Part) -> Opaque:
    value = part.block[1] if part.block is not None else None
    return Opaque(value, (NAME, value))


def _calls_aside(calls: Any) -> list[Part]:
    """Read calls that an integration keeps beside the blocks, as its SDK's objects or as dicts."""
    found: list[Part] = []
    for each in calls if isinstance(calls, (list, tuple)) else ():
        call = _plain(each)
        if not isinstance(call, Mapping):
            continue
        function = _plain(call.get("function"))
        said: Mapping[str, Any] = function if isinstance(function, Mapping) else call
        given: Any = next((said[key] for key in ("arguments", "input", "args") if said.get(key) is not None), "")
        id = string(call.get("id")) or string(call.get("call_id"))
        found.append(Call(id, string(said.get("name")), _arguments(given)))
    return found


def _plain(value: Any) -> Any:
    """Give the fields of an object that was written as such (see ``objects.py``), and any other value as it is."""
    return value.get("data") if isinstance(value, Mapping) and "$object" in value else value


def _arguments(given: Any) -> str:
    return given if isinstance(given, str) else json_text(given)


def _block(block: Any) -> Part | None:
    if isinstance(block, str):
        return Text(block, (NAME, {"block_type": "text", "text": block}))
    kind = block.get("block_type")
    if kind == "cache":
        return None
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return (reader(block) if reader is not None else None) or Opaque(block, (NAME, block))


def _text(block: Mapping[str, Any]) -> Part | None:
    text = block.get("text")
    return Text(text, (NAME, block)) if isinstance(text, str) else None


def _thinking(block: Mapping[str, Any]) -> Part:
    beside = block.get("additional_information")
    signed = isinstance(beside, Mapping) and any(beside.get(key) for key in _SIGNATURES)
    return Reasoning(string(block.get("content")), signed, (NAME, block))


def _call(block: Mapping[str, Any]) -> Part:
    given = block.get("tool_kwargs")
    id = string(block.get("tool_call_id"))
    return Call(id, string(block.get("tool_name")), _arguments({} if given is None else given), (NAME, block))


def _cited(block: Mapping[str, Any]) -> Part | None:
    """Read a cited source as text; one with pictures in it stays a block."""
    content = block.get("cited_content", block.get("content"))
    inner = [_block(each) for each in (content if isinstance(content, (list, tuple)) else [content]) if isinstance(each, Mapping)]
    texts = [part.text for part in inner if isinstance(part, Text)]
    if not texts or len(texts) != len(inner):
        return None
    title = " ".join(word for word in (string(block.get("title")), string(block.get("source"))) if word)
    return Text("\n".join([title, *texts] if title else texts), (NAME, block))


def _media(kind: str, field: str) -> Callable[[Mapping[str, Any]], Part | None]:
    def read(block: Mapping[str, Any]) -> Part | None:
        mime = string(block.get(f"{kind}_mimetype")) or (f"audio/{block['format']}" if string(block.get("format")) else None)
        data = _base64(block.get(field)) or _file(block.get("file"))
        address = next((_address(block[key]) for key in ("url", "path", "title") if block.get(key)), None)
        return Media(kind, mime, data, address, (NAME, block), string(block.get("detail")) or None) if data or address else None

    return read


def _base64(value: Any) -> str | None:
    """Give media as LlamaIndex holds it: base64 already, as bytes or as text."""
    value = _plain(value)
    if isinstance(value, bytes):
        return value.decode("ascii", "replace")
    return value if isinstance(value, str) and value else None


def _file(value: Any) -> str | None:
    data = value.get("data") if isinstance(value, Mapping) else None
    return base64.b64encode(data).decode("ascii") if isinstance(data, bytes) else None


def _address(value: Any) -> str:
    return str(_plain(value))


_READERS: dict[str, Callable[[Mapping[str, Any]], Part | None]] = {
    "text": _text,
    "thinking": _thinking,
    "tool_call": _call,
    "citable": _cited,
    "citation": _cited,
    "image": _media("image", "image"),
    "audio": _media("audio", "audio"),
    "video": _media("video", "video"),
    "document": _media("document", "data"),
}
