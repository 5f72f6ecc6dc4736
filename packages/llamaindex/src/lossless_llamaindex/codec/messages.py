"""Messages as payloads of format ``llamaindex/1``, and back."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from io import IOBase
from typing import Any

from llama_index.core.base.llms import types as stock
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from pydantic import BaseModel

from lossless.errors import MessageError
from lossless.messages.classes import find_class, name_of
from lossless.messages.llamaindex_writing import NAME as FORMAT
from lossless.messages.objects import Packer, bare_model, unpack
from lossless_llamaindex.codec.files import is_stream, keep_file, read_stream, restore_file, stream_of
from lossless_llamaindex.codec.placeholders import UnknownBlock, UnknownMessage, unknown_block, unknown_message

__all__ = ["FORMAT", "decode_message", "encode_message"]

_STORED = ("id", "status")
"""What a payload says of how it is stored, not of its message."""
_NESTED = {"citable": "content", "citation": "cited_content"}
"""The field of a block that holds blocks."""


def _stock_blocks() -> Iterator[tuple[str, type[BaseModel]]]:
    for cls in vars(stock).values():
        if isinstance(cls, type) and issubclass(cls, BaseModel) and cls.__module__ == stock.__name__:
            kind = cls.model_fields.get("block_type")
            if kind is not None and isinstance(kind.default, str):
                yield kind.default, cls


_BLOCKS = dict(_stock_blocks())


def encode_message(message: ChatMessage, *, strict: bool = False) -> dict[str, Any]:
    """Write a message as a payload that :func:`decode_message` turns into an equal message of the same class.

    A block that names a path keeps the path, and the file's content and hash beside it.

    Args:
        message: of any class. It is not changed.
        strict: whether a value in it that can't be kept is refused, rather than described in words.

    Raises:
        MessageError: its blocks are no list; or, with ``strict``, naming the path of the value that can't be kept.
    """
    if type(message) is UnknownMessage and message.payload:
        # What its store said of it does not go with it: with its id, a message that is added again would be the stored one.
        return copy.deepcopy({name: value for name, value in message.payload.items() if name not in _STORED})
    packer = Packer(strict, lambda inner: encode_message(inner, strict=strict) if isinstance(inner, ChatMessage) else None)
    held = _held(message)
    role = held.pop("role", MessageRole.USER)
    payload: dict[str, Any] = {"role": role.value if isinstance(role, Enum) else str(role)}
    blocks = held.pop("blocks", [])
    if not isinstance(blocks, (list, tuple)):
        raise MessageError(f"the blocks of a message are a list, not {type(blocks).__name__}", hint="such as [TextBlock(text=…)]")
    payload["blocks"] = [_encode_block(block, packer) for block in blocks]
    payload["additional_kwargs"] = packer.pack(held.pop("additional_kwargs", {}))
    unset = sorted({"role", "blocks", "additional_kwargs"} - message.model_fields_set)
    if unset:
        payload["unset"] = unset
    if type(message) is not ChatMessage:
        payload |= {"class": name_of(type(message), ChatMessage), "fields": packer.pack(held)}
        private = packer.private(message) if type(message).__private_attributes__ else {}
        if private:
            payload["private"] = private
    return payload


def decode_message(payload: Any, *, restore: bool = False) -> ChatMessage:
    """Read a payload that :func:`encode_message` or ``ChatMessage.model_dump`` wrote. Never raises.

    No code of the message's class runs. A class that is not loaded, and a payload that is damaged, become a readable message
    with the payload in its attribute ``payload``; a block of a class that is not loaded becomes such a text block.

    Args:
        payload: it is used up: what is in it becomes part of the message.
        restore: whether a block whose file is no longer at its path holds the content that was kept, in place of the path.
    """
    raw = copy.deepcopy(payload)
    try:
        return _decode(payload, restore) or unknown_message(raw)
    except Exception:  # whatever a damaged payload holds
        return unknown_message(raw)


def _encode_block(block: Any, packer: Packer) -> Any:
    if type(block) is UnknownBlock and block.payload:
        return copy.deepcopy(block.payload)
    if not isinstance(block, BaseModel):
        return packer.pack(block)
    cls = type(block)
    held = _held(block)
    kind = getattr(block, "block_type", None)
    held.pop("block_type", None)
    written: dict[str, Any] = {"block_type": kind if isinstance(kind, str) else "unknown"}
    nested = _NESTED.get(written["block_type"])
    inner = held.pop(nested, None) if nested is not None else None
    streams = {name: held.pop(name) for name in [name for name, value in held.items() if isinstance(value, IOBase)]}
    written |= packer.pack(held)
    written |= {name: stream_of(value) for name, value in streams.items()}
    if nested is not None and inner is not None:
        written[nested] = _each(inner, lambda each: _encode_block(each, packer))
    if _BLOCKS.get(written["block_type"]) is not cls:
        written["class"] = name_of(cls, BaseModel)
    return keep_file(block, written)


def _held(value: BaseModel) -> dict[str, Any]:
    """Give the fields that were set, or that differ from what a new object has; those that are not in the model included."""
    defaults = dict(_defaults(type(value)))
    given = value.model_fields_set
    known = {
        name: inner
        for name, inner in value.__dict__.items()
        if name in type(value).model_fields and (name in given or name not in defaults or not _is_default(inner, defaults[name]))
    }
    return known | (value.__pydantic_extra__ or {})


def _decode(payload: Any, restore: bool) -> ChatMessage | None:
    named = payload.get("class")
    cls = ChatMessage if named is None else find_class(named, ChatMessage)
    if cls is None:
        return None
    blocks = payload.get("blocks")
    if blocks is None:
        blocks = [{"block_type": "text", "text": payload["content"]}] if payload.get("content") else []
    data: dict[str, Any] = {
        "role": MessageRole(payload["role"]),
        "additional_kwargs": unpack(payload.get("additional_kwargs") or {}, decode_message),
        "blocks": [_decode_block(block, restore) for block in blocks],
        **unpack(payload.get("fields", {}), decode_message),
    }
    given = set(data) - set(payload.get("unset", ()))
    made = bare_model(cls, _with_defaults(cls, data), given, unpack(payload.get("private", {}), decode_message))
    return made if isinstance(made, ChatMessage) else None


def _decode_block(block: Any, restore: bool) -> Any:
    raw = copy.deepcopy(block)
    try:
        return _made_block(block, restore) or unknown_block(raw)
    except Exception:  # whatever a damaged block holds: the other blocks of its message are read
        return unknown_block(raw)


def _made_block(block: dict[str, Any], restore: bool) -> BaseModel | None:
    kind = block.pop("block_type")
    named = block.pop("class", None)
    cls = _BLOCKS.get(kind) if named is None else find_class(named, BaseModel)
    file = block.pop("file", None)
    if cls is None or cls.model_fields["block_type"].default != kind:
        return None
    streams = {name: read_stream(block.pop(name)) for name in [name for name, value in block.items() if is_stream(value)]}
    nested = _NESTED.get(kind)
    inner = block.pop(nested, None) if nested is not None else None
    data = unpack(block, decode_message) | streams
    if nested is not None and inner is not None:
        data[nested] = _each(inner, lambda each: _decode_block(each, restore))
    if restore:
        data = restore_file(cls, data, file)
    given = set(data)
    return bare_model(cls, _with_defaults(cls, data), given, {})


def _each(inner: Any, change: Callable[[Any], Any]) -> Any:
    return [change(each) for each in inner] if isinstance(inner, list) else change(inner)


def _with_defaults(cls: type[BaseModel], data: dict[str, Any]) -> dict[str, Any]:
    for name, default in _defaults(cls):
        if name not in data:
            data[name] = default() if isinstance(default, type) else default
    return {name: data.pop(name) for name in cls.model_fields if name in data} | data


@cache
def _defaults(cls: type[BaseModel]) -> tuple[tuple[str, Any], ...]:
    """Give what an object has where nothing was said: a value, or the type of the empty container."""
    return tuple(_each_default(cls))


def _each_default(cls: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    for name, field in cls.model_fields.items():
        default = field.default_factory if field.default_factory in (dict, list) else field.default
        if default is None or default in (dict, list) or isinstance(default, (str, bool, int, float, Enum)):
            yield name, default


def _is_default(value: Any, default: Any) -> bool:
    expected = default() if isinstance(default, type) else default
    return type(value) is type(expected) and bool(value == expected)
