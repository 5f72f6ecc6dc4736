"""Format ``langchain/1``: messages of LangChain, as ``lossless-langchain`` writes them; read here without LangChain.

A payload is ``{"type": …, "data": {…}}``, with the message's fields in ``data``, as LangChain's own ``messages_to_dict`` gives
them, which can be appended, too. Beside these it may have ``id`` and ``name``, where the message has them, ``class`` for a class
that is not LangChain's own, and ``base`` for the type of the class of LangChain's that it derives from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lossless.errors import MessageError
from lossless.messages.anthropic import AnthropicFormat
from lossless.messages.formats import Rendered, Turn
from lossless.messages.langchain_writing import NAME, write
from lossless.messages.openai import OpenAIFormat
from lossless.messages.openai_writing import LEGACY_CALL
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.payload import json_text
from lossless.messages.profiles import Profile
from lossless.messages.wire import string

__all__ = ["LangChainFormat"]

_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "function": "tool",
    "remove": "system",
}
_CHUNK = "MessageChunk"
_KINDS = {"image": "image", "audio": "audio", "video": "video", "file": "document", "text-plain": "document"}
_OPENAI, _ANTHROPIC = OpenAIFormat(), AnthropicFormat()
_OPENAI_BLOCKS = frozenset({"image_url", "input_image", "input_audio", "input_text", "output_text"})
_ANTHROPIC_BLOCKS = frozenset({"thinking", "redacted_thinking", "document", "tool_result"})
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call", "invalid_tool_call"})
_UNSAID = frozenset({"tool_call_chunk", "input_json_delta"})  # pieces of calls, which tool_calls has whole
_ASIDE = ("refusal", "audio", "reasoning_content")


class LangChainFormat:
    """Reads and writes LangChain's messages as plain values.

    Calls are read from ``tool_calls`` and ``invalid_tool_calls``, at the place of their content block where there is one; from
    ``additional_kwargs`` only where both are empty, as LangChain's chat models do. Blocks of a provider's own kind are read as
    that provider's.
    """

    name = NAME

    def role(self, payload: Mapping[str, Any]) -> str:
        """Give the neutral role: ``human`` is ``user``, ``ai`` is ``assistant``, ``function`` is ``tool``; of chunks, too.

        A type that nobody knows, and the role of a ``ChatMessage`` that is none of these, is ``user``.

        Raises:
            MessageError: the payload is no LangChain message.
        """
        return _role(payload, _data(payload))

    def read(self, payload: Mapping[str, Any]) -> tuple[Part, ...]:
        """Read a message into parts: reasoning, texts, media and calls in the order of the content; or one result.

        Raises:
            MessageError: the payload is no LangChain message.
        """
        data = _data(payload)
        content = data.get("content")
        role = _role(payload, data)
        if role == "user" and type(content) is str:
            return (Text(content),) if content else ()
        if role == "tool":
            return (_result(payload, data, content),)
        if role == "assistant":
            return tuple(_assistant(data, content))
        return tuple(_content(content))

    def render(self, turns: Sequence[Turn], profile: Profile | None = None) -> Rendered:
        """Write turns as payloads of this format, system ones among them.

        A turn whose payload stands is that payload, whole. The others name what they stand for as their ``origin``; of them,
        each result becomes a tool message of its own, before what else its turn says. A rendered summary is marked as LangChain
        marks its own: ``lc_source`` is ``summarization``.
        """
        del profile  # its rules leave this format no choice
        return Rendered(write(turns))


def _data(payload: Any) -> Mapping[str, Any]:
    wanted = "give a message's dict, such as messages_to_dict makes it"
    if not isinstance(payload, Mapping):
        raise MessageError(f"a message must be a mapping, not {type(payload).__qualname__}", hint=wanted)
    data = payload.get("data")
    if not isinstance(payload.get("type"), str) or not isinstance(data, Mapping):
        raise MessageError(f"the message is none of {NAME}: it needs a type and data", hint=wanted)
    return data


def _role(payload: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    kind = string(payload.get("base")) or string(payload["type"])
    if kind.endswith(_CHUNK):
        kind = kind[: -len(_CHUNK)].lower()
    if kind == "chat":
        kind = string(data.get("role"))
    return _ROLES.get(kind, "user")


def _assistant(data: Mapping[str, Any], content: Any) -> list[Part]:
    calls = [_call(call) for key in ("tool_calls", "invalid_tool_calls") for call in _mappings(data.get(key))]
    aside = data.get("additional_kwargs")
    said = _aside(aside, with_calls=not calls) if isinstance(aside, Mapping) else []
    waiting = {call.id: call for call in calls if call.id}
    parts: list[Part] = [part for part in said if isinstance(part, Reasoning)]
    for part in _content(content, waiting):
        known = part if not isinstance(part, Call) else waiting.pop(part.id, None)
        if known is not None:
            parts.append(known)
        elif not any(call.id == part.id for call in calls if isinstance(part, Call)):
            parts.append(part)
    parts.extend(part for part in said if not isinstance(part, (Reasoning, Call)))
    placed = {id(part) for part in parts}
    parts.extend(call for call in calls if id(call) not in placed)
    if not any(isinstance(part, Call) for part in parts):
        parts.extend(part for part in said if isinstance(part, Call))
    return parts


def _aside(aside: Mapping[str, Any], *, with_calls: bool) -> list[Part]:
    """Read what a provider's adapter keeps beside the content, in OpenAI's words."""
    keys = (*_ASIDE, "tool_calls", "function_call") if with_calls else _ASIDE
    found = {key: aside[key] for key in keys if aside.get(key)}
    if not found:
        return []
    try:
        return list(_OPENAI.read({"role": "assistant", "content": None, **found}))
    except MessageError:
        return [Opaque(found)]


def _call(call: Mapping[str, Any]) -> Call:
    given = call.get("args")
    arguments = given if isinstance(given, str) else "" if given is None else json_text(given)
    return Call(string(call.get("id")), string(call.get("name")), arguments, (NAME, call))


def _result(payload: Mapping[str, Any], data: Mapping[str, Any], content: Any) -> Result:
    name = string(data.get("name")) or None
    legacy = string(payload.get("base") or payload["type"]).lower().startswith("function")
    call_id = LEGACY_CALL + (name or "") if legacy else string(data.get("tool_call_id"))
    answer = tuple(part if isinstance(part, (Text, Media, Opaque)) else _as_opaque(part) for part in _content(content))
    return Result(call_id, answer, data.get("status") == "error", name, (NAME, payload))


def _as_opaque(part: Part) -> Opaque:
    value = part.block[1] if part.block is not None else None
    return Opaque(value, (NAME, value))


def _content(content: Any, calls: Iterable[str] = ()) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    if content is None:
        return []
    if not isinstance(content, (list, tuple)):
        return [Opaque(content, (NAME, content))]
    return [part for block in content if (part := _block(block, calls)) is not None]


def _block(block: Any, calls: Iterable[str]) -> Part | None:
    if isinstance(block, str):
        return Text(block, (NAME, block))
    if not isinstance(block, Mapping):
        return Opaque(block, (NAME, block))
    kind = block.get("type")
    if not isinstance(kind, str):
        return Opaque(block, (NAME, block))
    if kind in _CALL_BLOCKS:
        return _call_block(block, calls)
    if kind in _UNSAID:
        return None
    if kind in _OPENAI_BLOCKS or (kind == "file" and isinstance(block.get("file"), Mapping)):
        return _foreign(_OPENAI, block)
    if kind in _ANTHROPIC_BLOCKS or isinstance(block.get("source"), Mapping):
        return _foreign(_ANTHROPIC, block)
    reader = _READERS.get(kind)
    return (reader(block) if reader is not None else None) or Opaque(block, (NAME, block))


def _call_block(block: Mapping[str, Any], calls: Iterable[str]) -> Part:
    """Read a call that stands among the content; one that ``tool_calls`` does not have is the provider's own."""
    for id in (string(block.get("call_id")), string(block.get("id"))):
        if id and id in calls:
            return Call(id, "", "")
    given: Any = next((block[key] for key in ("input", "args", "arguments") if block.get(key) is not None), {})
    arguments = given if isinstance(given, str) else json_text(given)
    id = string(block.get("call_id")) or string(block.get("id"))
    name = string(block.get("name"))
    return Call(id, name, arguments, (NAME, {"name": name, "args": given, "id": id or None, "type": "tool_call"}))


def _foreign(format: OpenAIFormat | AnthropicFormat, block: Mapping[str, Any]) -> Part:
    """Read a block of a provider's own kind, which LangChain hands on as it is."""
    (part,) = format.read({"role": "user", "content": [block]})
    return part


def _text(block: Mapping[str, Any]) -> Part | None:
    text = block.get("text")
    return Text(text, (NAME, block)) if isinstance(text, str) else None


def _refusal(block: Mapping[str, Any]) -> Part | None:
    text = block.get("refusal")
    return Text(text, (NAME, block)) if isinstance(text, str) else None


def _reasoning(block: Mapping[str, Any]) -> Part:
    text = string(block.get("reasoning"))
    if not text:
        text = "\n\n".join(string(each.get("text")) for each in _mappings(block.get("summary")))
    extras = block.get("extras")
    marks = [block, extras] if isinstance(extras, Mapping) else [block]
    signed = any(string(held.get(key)) for held in marks for key in ("signature", "encrypted_content"))
    return Reasoning(text, signed, (NAME, block))


def _media(block: Mapping[str, Any]) -> Part | None:
    """Read a block of media, of LangChain's version 1 or 0, or Google's."""
    mime = string(block.get("mime_type")) or None
    kind = _KINDS.get(block["type"]) or _kind_of(mime)
    text = block.get("text")
    if isinstance(text, str):
        return Text(text, (NAME, block))
    data = next((block[key] for key in ("base64", "data") if isinstance(block.get(key), str)), None)
    named = next((block[key] for key in ("url", "file_id", "file_uri", "id") if string(block.get(key))), None)
    if data is None and named is None:
        return None
    return Media(kind, mime, data, named if data is None else None, (NAME, block))


def _kind_of(mime: str | None) -> str:
    return (mime or "").partition("/")[0] if (mime or "").startswith(("image/", "audio/", "video/")) else "document"


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, (list, tuple)) else []


_READERS: dict[str, Callable[[Mapping[str, Any]], Part | None]] = {
    "text": _text,
    "refusal": _refusal,
    "reasoning": _reasoning,
    "image": _media,
    "audio": _media,
    "video": _media,
    "file": _media,
    "text-plain": _media,
    "media": _media,
}
