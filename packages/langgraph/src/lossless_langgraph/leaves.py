"""The ends of a checkpoint's values: what is neither list, tuple nor dict.

With LangGraph's own serializer, plain values and messages are written exactly as they are, and all else by the serializer, each
by itself, so that its allowlist holds. With any other serializer every leaf is what that makes of it.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Callable, Sequence
from typing import Any

import ormsgpack
import xxhash
from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Overwrite, Send

from lossless.capture import Removal
from lossless.checkpoints import Leaves, Twig, pieces
from lossless.checkpoints.items import COMPOSITE, LEAF
from lossless.errors import CorruptError, MessageError
from lossless.messages.payload import decode, encode
from lossless_langchain.codec import decode_erased, decode_message, encode_message
from lossless_langgraph.composites import AsOne, joined_exactly, split_exactly
from lossless_langgraph.copying import is_stock_message, maker_of, stock_name

__all__ = ["SerializedLeaves", "StockLeaves", "leaves_for", "removal_in"]

_SERIALIZED, _MESSAGE = b"s", b"m"
_EXACT = (
    ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
"""What is packed only as what it is: of all else there is no fingerprint."""

_EVERYTHING = "__remove_all__"
"""``langgraph.graph.message.REMOVE_ALL_MESSAGES``: importing that takes seconds."""
_SEED = secrets.randbits(64)
"""Of this process's fingerprints: nobody outside can make two contents that have the same one."""


def leaves_for(serde: SerializerProtocol) -> SerializedLeaves:
    """Give how leaves are written with a serializer."""
    return StockLeaves(serde) if type(serde) is JsonPlusSerializer else SerializedLeaves(serde)


class SerializedLeaves(Leaves):
    """Leaves as a serializer writes them.

    Args:
        serde: the serializer. If it encrypts, content is known by what it is before, and plain content is refused.
    """

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde
        self._plain = serde.serde if isinstance(serde, EncryptedSerializer) else None
        self.encrypts = self._plain is not None or "+" in serde.dumps_typed(None)[0]
        self.secret_keys = self.encrypts

    def write(self, value: Any) -> Twig:
        """Write a leaf."""
        return self._serialized(value)

    def read(self, content: bytes) -> Any:
        """Read a leaf.

        Raises:
            CorruptError: it is none, or is not encrypted although the serializer encrypts.
        """
        if content[:1] == _SERIALIZED:
            size = content[1]
            kind, data = content[2 : 2 + size].decode("utf-8"), content[2 + size :]
            if self.encrypts and "+" not in kind:
                raise CorruptError("it is not encrypted, but the serializer encrypts", hint=_UNENCRYPTED)
            return self._serde.loads_typed((kind, data))
        if self.encrypts:
            raise CorruptError("it is not encrypted, but the serializer encrypts", hint=_UNENCRYPTED)
        return _native(content)

    def read_message(self, payload: bytes) -> Any:
        """Read a message from its payload.

        Raises:
            CorruptError: the serializer encrypts, and this is not encrypted by it.
        """
        if self.encrypts:
            raise CorruptError("it is not encrypted, but the serializer encrypts", hint=_UNENCRYPTED)
        return decode_message(decode(payload))

    def read_erased(self, left: bytes) -> Any:
        """Give the placeholder of an erased message, with its id and those of its calls."""
        return decode_erased(decode(left))

    def maker(self, value: Any) -> Callable[[], Any] | None:
        """Give what makes equal values, each by itself: of plain values and messages."""
        return maker_of(value)

    def split(self, value: Any) -> tuple[str, Sequence[Any]] | None:
        """Take apart what holds whole states: what is sent to a node or overwrites a channel, a snapshot of a delta channel."""
        kind = type(value)
        if kind is Send:
            return "send", (value.node, value.arg, value.timeout)
        if kind is _DeltaSnapshot:
            return "delta", tuple(value)
        if kind is Overwrite:
            return "overwrite", (value.value,)
        return None

    def join(self, name: str, pieces: Sequence[Any]) -> Any:
        """Put it together again."""
        if name == "send":
            node, arg, timeout = pieces
            return Send(node, arg, timeout=timeout)
        if name == "delta":
            return _DeltaSnapshot(*pieces)
        if name == "overwrite":
            return Overwrite(*pieces)
        return super().join(name, pieces)

    def message(self, value: Any) -> tuple[dict[str, Any], bool] | None:  # noqa: ARG002
        """Give a value as the payload of a message, and whether that is all there is to it; None if it is no message."""
        return None

    def _serialized(self, value: Any) -> Twig:
        content = _framed(*self._serde.dumps_typed(value))
        identity = content if self._plain is None else _framed(*self._plain.dumps_typed(value))
        return Twig(content=content, identity=identity)


class StockLeaves(SerializedLeaves):
    """Leaves with LangGraph's own serializer: plain values and messages exactly as they are."""

    def split(self, value: Any) -> tuple[str, Sequence[Any]] | None:
        """Take apart what holds whole states, and what the serializer would alter."""
        return None if type(value) in _WRITERS else super().split(value) or split_exactly(value)

    def join(self, name: str, pieces: Sequence[Any]) -> Any:
        """Put it together again."""
        found = joined_exactly(name, pieces)
        return super().join(name, pieces) if found is None else found[0]

    def write(self, value: Any) -> Twig:
        """Write a leaf."""
        if type(value) is AsOne:
            return self._serialized(value.value)
        writer = _WRITERS.get(type(value))
        if writer is not None:
            content = writer(value)
            return Twig(content=content, identity=content)
        if is_stock_message(value):
            try:
                content = _MESSAGE + encode(encode_message(value, strict=True))
            except MessageError:  # something in it that only the serializer may know
                return self._serialized(value)
            return Twig(content=content, identity=content)
        return self._serialized(value)

    def message(self, value: Any) -> tuple[dict[str, Any], bool] | None:
        """Give a message as a payload. One that only the serializer can keep as it is is described where the payload can't."""
        if not isinstance(value, BaseMessage) or isinstance(value, RemoveMessage):
            return None
        if is_stock_message(value):
            try:
                return encode_message(value, strict=True), True
            except MessageError:  # something in it that only the serializer may know
                pass
        try:
            return encode_message(value), False
        except MessageError:
            return None

    def fingerprint(self, value: Any) -> bytes | None:
        """Give the fingerprint of a message, made of all its fields: somebody may have changed it in place."""
        return None if type(value) in _WRITERS else self.fingerprint_all((value,))

    def fingerprint_all(self, values: Sequence[Any]) -> bytes | None:
        """Give the fingerprint of several messages, made of all their fields."""
        held: list[Any] = []
        names: dict[type, str | None] = {}
        for value in values:
            kind = type(value)
            name = names.get(kind) or names.setdefault(kind, stock_name(kind))
            if name is None or value.__pydantic_private__ is not None:
                return None
            held += (name, value.__dict__, value.__pydantic_extra__)
        try:
            packed = ormsgpack.packb(held, option=_EXACT)
        except TypeError:
            return None
        return xxhash.xxh3_128_digest(packed, seed=_SEED)


def removal_in(item: bytes) -> Removal | None:
    """Tell what something that was written to a captured channel, and is no message, takes out of the state."""
    if item[:1] == COMPOSITE:
        return Removal(None) if next(pieces(item[1:])) == b"overwrite" else None
    if item[:2] != LEAF + _MESSAGE:
        return None
    value = _native(item[1:])
    if not isinstance(value, RemoveMessage):
        return None
    return Removal(None if value.id == _EVERYTHING else value.id)


def _framed(kind: str, data: bytes) -> bytes:
    name = kind.encode("utf-8")
    return _SERIALIZED + bytes((len(name),)) + name + bytes(data)


def _native(content: bytes) -> Any:
    kind, body = content[:1], content[1:]
    if kind == _MESSAGE:
        return decode_message(decode(body))
    reader = _READERS.get(kind)
    if reader is None:
        raise CorruptError("a value has a form that is not known", hint="upgrade Lossless, or restore a backup")
    return reader(body)


_WRITERS: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _value: b"n",
    bool: lambda value: b"y" if value else b"x",
    int: lambda value: b"i" + format(value, "x").encode("ascii"),
    float: lambda value: b"f" + struct.pack(">d", value),
    str: lambda value: b"u" + value.encode("utf-8", "surrogatepass"),
    bytes: lambda value: b"b" + value,
    bytearray: lambda value: b"a" + bytes(value),
}
_READERS: dict[bytes, Callable[[bytes], Any]] = {
    b"n": lambda _body: None,
    b"y": lambda _body: True,
    b"x": lambda _body: False,
    b"i": lambda body: int(body, 16),
    b"f": lambda body: struct.unpack(">d", body)[0],
    b"u": lambda body: body.decode("utf-8", "surrogatepass"),
    b"b": bytes,
    b"a": bytearray,
}
_UNENCRYPTED = "open it with the serializer that it was written with"
