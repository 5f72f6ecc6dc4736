"""Format ``openai/1``: messages of OpenAI's Chat Completions API, and of the many that speak its dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lossless.errors import MessageError
from lossless.messages.formats import Rendered, Turn
from lossless.messages.openai_writing import LEGACY, LEGACY_CALL, NAME, write
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.payload import json_text
from lossless.messages.profiles import Profile
from lossless.messages.wire import check_role, list_content, read_data_uri, string

__all__ = ["OpenAIFormat"]

_ROLES = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


class OpenAIFormat:
    """Reads and writes chat-completion messages.

    What an assistant says may be content, a refusal, a spoken answer (its transcript), ``reasoning_content``, and calls:
    ``tool_calls`` of any type, or the older ``function_call``. A call without a name or with arguments that are not text is
    read as well as it can be; the payload keeps what was given.
    """

    name = NAME

    def role(self, payload: Mapping[str, Any]) -> str:
        """Give the neutral role: ``function`` is ``tool``, the others are their own.

        Raises:
            MessageError: the payload is no mapping, or has no role that this format knows.
        """
        return check_role(payload, _ROLES, NAME)

    def read(self, payload: Mapping[str, Any]) -> tuple[Part, ...]:
        """Read a message into parts: reasoning, texts and media, calls; or one result.

        Raises:
            MessageError: the payload is no message: no role, no content where its role needs some, content of a wrong type.
        """
        role = check_role(payload, _ROLES, NAME)
        content = payload.get("content")
        if role == "user" and type(content) is str:
            return (Text(content),) if content else ()
        if role == "assistant":
            return tuple(_assistant(payload, content))
        if content is None and "content" not in payload:
            raise MessageError(f"the {role} message has no content", hint='give its text as "content"')
        if role == "tool":
            return (_result(payload, content),)
        return tuple(_content(content))

    def render(self, turns: Sequence[Turn], profile: Profile | None = None) -> Rendered:
        """Write turns as chat messages, system ones among them.

        A turn whose payload stands is that payload with the API's keys only. Of others, each result becomes a message of its
        own, before what else its turn says; media that a tool returned follow the results in a user message, since tool
        messages hold text only; what the API has no place for becomes a short text. Reasoning of other providers is left out.
        """
        del profile  # its rules leave this format no choice
        return Rendered(write(turns))


def _assistant(payload: Mapping[str, Any], content: Any) -> list[Part]:
    parts: list[Part] = []
    for key in ("reasoning_content", "reasoning"):
        if text := string(payload.get(key)):
            parts.append(Reasoning(text, block=(NAME, None) if key == "reasoning_content" else None))
            break
    parts.extend(_content(content))
    if refusal := string(payload.get("refusal")):
        parts.append(Text(refusal, block=(NAME, {"type": "refusal", "refusal": refusal})))
    if "audio" in payload:
        parts.extend(_audio(payload["audio"]))
    calls = payload.get("tool_calls")
    if calls:
        if not isinstance(calls, (list, tuple)) or not all(type(call) is dict or isinstance(call, Mapping) for call in calls):
            raise MessageError("tool_calls is no list of calls", hint="give a list of dicts with id, type and function")
        parts.extend(_call(call) for call in calls)
    elif "function_call" in payload and isinstance(call := payload["function_call"], Mapping):
        name = string(call.get("name"))
        parts.append(Call(LEGACY_CALL + name, name, _arguments(call.get("arguments")), LEGACY))
    if not parts and "content" not in payload:
        raise MessageError("the assistant message has neither content nor calls", hint='give its text as "content"')
    return parts


def _audio(audio: Any) -> list[Part]:
    if not isinstance(audio, Mapping):
        return []
    if transcript := string(audio.get("transcript")):
        return [Text(transcript)]
    return [Media("audio", reference=string(audio.get("id")) or None)]


def _call(call: Mapping[str, Any]) -> Call:
    for kind, key in (("function", "arguments"), ("custom", "input")):
        body = call.get(kind)
        if type(body) is dict or isinstance(body, Mapping):
            return Call(string(call.get("id")), string(body.get("name")), _arguments(body.get(key)), (NAME, call))
    return Call(string(call.get("id")), string(call.get("name") or call.get("type")), json_text(call), (NAME, call))


def _arguments(arguments: Any) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json_text(arguments)


def _result(payload: Mapping[str, Any], content: Any) -> Result:
    name = string(payload.get("name")) or None
    call_id = LEGACY_CALL + (name or "") if payload.get("role") == "function" else string(payload.get("tool_call_id"))
    answer = tuple(part for part in _content(content) if isinstance(part, (Text, Media, Opaque)))
    return Result(call_id, answer, False, name, (NAME, payload))


def _content(content: Any) -> list[Part]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [Text(content)]
    return [_block(block) for block in list_content(content, NAME)]


def _block(block: Any) -> Part:
    if isinstance(block, str):
        return Text(block, (NAME, {"type": "text", "text": block}))
    kind = block.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return (reader(block) if reader is not None else None) or Opaque(block, (NAME, block))


def _text(block: Mapping[str, Any]) -> Part | None:
    text = block.get("text")
    return Text(text, (NAME, block)) if isinstance(text, str) else None


def _refusal(block: Mapping[str, Any]) -> Part | None:
    text = block.get("refusal")
    return Text(text, (NAME, block)) if isinstance(text, str) else None


def _image(block: Mapping[str, Any]) -> Part | None:
    found = block.get("image_url")
    url = found.get("url") if isinstance(found, Mapping) else found
    if not isinstance(url, str):
        return None
    detail = string(found.get("detail") if isinstance(found, Mapping) else block.get("detail")) or None
    carried = read_data_uri(url)
    if carried:
        return Media("image", *carried, block=(NAME, block), detail=detail)
    return Media("image", reference=url, block=(NAME, block), detail=detail)


def _sound(block: Mapping[str, Any]) -> Part | None:
    sound = block.get("input_audio")
    if not isinstance(sound, Mapping) or not isinstance(sound.get("data"), str):
        return None
    kind = string(sound.get("format"))
    return Media("audio", f"audio/{kind}" if kind else None, sound["data"], block=(NAME, block))


def _file(block: Mapping[str, Any]) -> Part | None:
    file = block.get("file")
    if not isinstance(file, Mapping):
        return None
    reference = string(file.get("file_id")) or string(file.get("filename")) or None
    data = file.get("file_data")
    if not isinstance(data, str):
        return Media("document", reference=reference, block=(NAME, block)) if reference else None
    mime, content = read_data_uri(data) or (None, data)
    return Media("document", mime, content, reference, (NAME, block))


_READERS: dict[str, Callable[[Mapping[str, Any]], Part | None]] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "refusal": _refusal,
    "image_url": _image,
    "input_image": _image,
    "input_audio": _sound,
    "file": _file,
}
