"""Messages as payloads of format ``langchain/1``, and back."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from langchain_core import messages as stock
from langchain_core.messages import BaseMessage
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from lossless.errors import LosslessError
from lossless.messages.classes import find_class, name_of
from lossless.messages.langchain_writing import NAME as FORMAT
from lossless.messages.objects import Packer, bare_model, unpack
from lossless.store.keys import checked_name
from lossless_langchain.codec.placeholders import RawPayload, placeholder

__all__ = ["FORMAT", "decode_message", "encode_message"]

_STOCK: dict[str, type[BaseMessage]] = {
    "human": stock.HumanMessage,
    "ai": stock.AIMessage,
    "system": stock.SystemMessage,
    "tool": stock.ToolMessage,
    "function": stock.FunctionMessage,
    "chat": stock.ChatMessage,
    "remove": stock.RemoveMessage,
    "HumanMessageChunk": stock.HumanMessageChunk,
    "AIMessageChunk": stock.AIMessageChunk,
    "SystemMessageChunk": stock.SystemMessageChunk,
    "ToolMessageChunk": stock.ToolMessageChunk,
    "FunctionMessageChunk": stock.FunctionMessageChunk,
    "ChatMessageChunk": stock.ChatMessageChunk,
}
_TYPES = {cls: kind for kind, cls in _STOCK.items()}


def encode_message(message: BaseMessage, *, strict: bool = False) -> dict[str, Any]:
    """Write a message as a payload that :func:`decode_message` turns into an equal message of the same class.

    Args:
        message: of any class, a chunk too. It is not changed.
        strict: whether a value in it that can't be kept is refused, rather than described in words.

    Returns:
        Plain values that the core keeps verbatim. ``id`` is there if the message has one that the core can know it by; that of a
        ``RemoveMessage`` is another message's.

    Raises:
        MessageError: with ``strict``, naming the path of the value that can't be kept.
    """
    raw = (message.__pydantic_extra__ or {}).get("payload")
    if type(raw) is RawPayload:
        return copy.deepcopy(dict(raw))
    return _encode(message, Packer(strict, lambda inner: _within(inner, strict)))


def decode_message(payload: Any) -> BaseMessage:
    """Read a payload that :func:`encode_message` or LangChain's ``messages_to_dict`` wrote. Never raises.

    No code of the message's class runs. A class that is not loaded, and a payload that is damaged, become a readable message
    with the payload in its attribute ``payload``.

    Args:
        payload: it is used up: what is in it becomes part of the message.
    """
    try:
        return _decode(payload) or placeholder(payload)
    except Exception:  # whatever a damaged payload holds
        return placeholder(payload)


def _encode(message: BaseMessage, packer: Packer) -> dict[str, Any]:
    cls = type(message)
    kind = _TYPES.get(cls)
    data = packer.fields(message)
    for name, default in _defaults(cls):
        if name in data and _is_default(data[name], default):
            del data[name]
    written = data.get("type", _type_of(cls, message))
    payload: dict[str, Any] = {"type": written if isinstance(written, str) else "unknown", "data": data}
    if kind is None or payload["type"] != kind:
        payload |= {"class": name_of(cls, BaseMessage), "base": _base_of(cls)}
    private = packer.private(message) if cls.__private_attributes__ else {}
    if private:
        payload["private"] = private
    if not isinstance(message, stock.RemoveMessage) and _is_name(message.id):
        payload["id"] = message.id
    if isinstance(message.name, str) and message.name:
        payload["name"] = message.name
    return payload


def _within(value: BaseModel, strict: bool) -> dict[str, Any] | None:
    return encode_message(value, strict=strict) if isinstance(value, BaseMessage) else None


def _decode(payload: Any) -> BaseMessage | None:
    named = payload.get("class")
    cls = _STOCK.get(payload["type"]) if named is None else find_class(named, BaseMessage)
    if cls is None:
        return None
    data = unpack(payload["data"], decode_message)
    given = set(data)
    for name, default in _defaults(cls):
        if name not in data:
            data[name] = default() if callable(default) else default
    private = unpack(payload.get("private", {}), decode_message)
    made = bare_model(cls, data, given, private)
    if not isinstance(made, BaseMessage) or not isinstance(made.content, (str, list)):
        return None
    return made


@cache
def _defaults(cls: type[BaseMessage]) -> tuple[tuple[str, Callable[[], Any] | Any], ...]:
    """Give what a message has where nothing was said: a value, or what makes a fresh container."""
    return tuple(_each_default(cls))


def _each_default(cls: type[BaseMessage]) -> Iterator[tuple[str, Any]]:
    for name, field in cls.model_fields.items():
        factory = field.default_factory
        default = factory() if factory in (dict, list) else field.default
        if default is PydanticUndefined:
            continue
        if type(default) in (dict, list) and not default:
            yield name, type(default)
        elif default is None or isinstance(default, (str, bool, int, float)):
            yield name, default


def _is_default(value: Any, default: Any) -> bool:
    """Tell whether a value is the default itself: as plain, and of the same type."""
    expected = default() if isinstance(default, type) else default
    return type(value) is type(expected) and bool(value == expected)


def _type_of(cls: type[BaseMessage], message: BaseMessage) -> Any:
    return message.__dict__.get("type", _TYPES.get(cls, "unknown"))


def _base_of(cls: type[BaseMessage]) -> str | None:
    return next((_TYPES[base] for base in cls.__mro__ if base in _TYPES), None)


def _is_name(id: Any) -> bool:
    try:
        return bool(checked_name(id, "a message id"))
    except LosslessError:
        return False
