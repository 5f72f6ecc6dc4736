"""Format ``anthropic/1``: messages of Anthropic's Messages API, the system prompt as a message among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lossless.errors import MessageError
from lossless.messages.anthropic_writing import NAME, write
from lossless.messages.formats import Rendered, Turn
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.payload import json_text
from lossless.messages.profiles import Profile
from lossless.messages.wire import check_role, list_content, string

__all__ = ["AnthropicFormat", "looks_anthropic"]

_ROLES = {"system": "system", "user": "user", "assistant": "assistant"}
_ANTHROPIC_ONLY = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
_WITH_SOURCE = frozenset({"image", "document"})


class AnthropicFormat:
    """Reads and writes messages of content blocks.

    The API takes the system prompt apart from its messages; here it is given as a message with the role ``system``, and rendered
    apart. Calls that the server itself answers (``server_tool_use``, its results) are opaque: nobody else has to answer them.
    """

    name = NAME

    def role(self, payload: Mapping[str, Any]) -> str:
        """Give the neutral role: ``tool`` for a user message that holds tool results only, its own otherwise.

        Raises:
            MessageError: the payload is no mapping, or has no role that this format knows.
        """
        role = check_role(payload, _ROLES, NAME)
        content = payload.get("content")
        if role == "user" and content and isinstance(content, (list, tuple)) and all(_is_result(block) for block in content):
            return "tool"
        return role

    def read(self, payload: Mapping[str, Any]) -> tuple[Part, ...]:
        """Read a message into parts, one a block.

        Raises:
            MessageError: the payload is no message: no role, no content, content of a wrong type.
        """
        role = check_role(payload, _ROLES, NAME)
        content = payload.get("content")
        if type(content) is str:
            return (Text(content),) if content else ()
        if content is None:
            raise MessageError(f"the {role} message has no content", hint='give a string or a list of blocks as "content"')
        if isinstance(content, str):
            return (Text(content),)
        return tuple(_block(block) for block in list_content(content, NAME))

    def render(self, turns: Sequence[Turn], profile: Profile | None = None) -> Rendered:
        """Write turns as messages of alternating roles, and the leading system turns as ``system``.

        A turn whose payload stands is that payload with the API's keys only. ``system`` is a string, the turns a blank line
        apart, or a list of blocks if one of them was given in blocks. A later system turn is shown as a note in the user's role,
        framed as the application's: the API has no such role there. Turns of one role become one message, except that under a
        profile which wants results alone they stay apart from what the user says next. A call whose arguments are not a JSON
        object has the input ``{"_raw": text}``. Reasoning of other providers is left out; what else the API has no place for
        becomes a short text.
        """
        messages, system = write(turns, results_alone=profile is not None and profile.results_alone)
        return Rendered(messages, system)


def looks_anthropic(payload: Any) -> bool:
    """Tell whether a payload holds a block that only Anthropic's Messages API has. Never raises."""
    content = payload.get("content") if type(payload) is dict or isinstance(payload, Mapping) else None
    return isinstance(content, (list, tuple)) and any(_is_anthropic_block(block) for block in content)


def _is_anthropic_block(block: Any) -> bool:
    if not isinstance(block, Mapping):
        return False
    kind = block.get("type")
    if not isinstance(kind, str):
        return False
    return kind in _ANTHROPIC_ONLY or (kind in _WITH_SOURCE and isinstance(block.get("source"), Mapping))


def _is_result(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "tool_result"


def _block(block: Any) -> Part:
    if isinstance(block, str):
        return Text(block, (NAME, {"type": "text", "text": block}))
    kind = block.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return (reader(block) if reader is not None else None) or Opaque(block, (NAME, block))


def _text(block: Mapping[str, Any]) -> Part | None:
    text = block.get("text")
    return Text(text, (NAME, block)) if isinstance(text, str) else None


def _call(block: Mapping[str, Any]) -> Part | None:
    given = block.get("input")
    return Call(string(block.get("id")), string(block.get("name")), json_text({} if given is None else given), (NAME, block))


def _result(block: Mapping[str, Any]) -> Part | None:
    content = block.get("content")
    answer: tuple[Text | Media | Opaque, ...]
    if content is None or content == "":
        answer = ()
    elif isinstance(content, str):
        answer = (Text(content),)
    elif isinstance(content, (list, tuple)):
        answer = tuple(_answer(inner) for inner in content)
    else:
        answer = (Opaque(content, (NAME, content)),)
    return Result(string(block.get("tool_use_id")), answer, block.get("is_error") is True, None, (NAME, block))


def _answer(block: Any) -> Text | Media | Opaque:
    part = _block(block) if isinstance(block, (Mapping, str)) else None
    return part if isinstance(part, (Text, Media, Opaque)) else Opaque(block, (NAME, block))


def _thinking(block: Mapping[str, Any]) -> Part | None:
    return Reasoning(string(block.get("thinking")), bool(string(block.get("signature"))), (NAME, block))


def _redacted(block: Mapping[str, Any]) -> Part | None:
    return Reasoning("", bool(string(block.get("data"))), (NAME, block))


def _image(block: Mapping[str, Any]) -> Part | None:
    return _media("image", block)


def _document(block: Mapping[str, Any]) -> Part | None:
    source = block.get("source")
    if isinstance(source, Mapping) and source.get("type") == "text" and isinstance(source.get("data"), str):
        return Text(source["data"], (NAME, block))
    return _media("document", block)


def _media(kind: str, block: Mapping[str, Any]) -> Part | None:
    source = block.get("source")
    if not isinstance(source, Mapping):
        return None
    mime = string(source.get("media_type")) or None
    if source.get("type") == "base64" and isinstance(source.get("data"), str):
        return Media(kind, mime, source["data"], string(block.get("title")) or None, (NAME, block))
    reference = string(source.get("url")) or string(source.get("file_id"))
    return Media(kind, mime, None, reference, (NAME, block)) if reference else None


_READERS: dict[str, Callable[[Mapping[str, Any]], Part | None]] = {
    "text": _text,
    "image": _image,
    "document": _document,
    "tool_use": _call,
    "tool_result": _result,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
}
