"""Items: how a value is written, a byte for its kind before its content, and what an item says of others.

``@`` names a part, ``&`` a message of the store by the digest of its payload; ``%`` is a value that is such a message, too, but
is kept beside it, since the message store can't hold it as it is; ``!`` holds what is left of an erased message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lossless.errors import CorruptError
from lossless.store.digests import DIGEST_BYTES

__all__ = [
    "ADDRESS",
    "BESIDE",
    "CHUNK",
    "COMPOSITE",
    "DICT",
    "ERASED",
    "INNER",
    "LEAF",
    "LIST",
    "MESSAGES",
    "NAME_END",
    "PAIRS",
    "TUPLE",
    "erased_item",
    "joined",
    "kept_in",
    "length",
    "message_key",
    "pieces",
    "refers_to",
    "shared_item",
    "shares",
    "told_in",
]

ADDRESS, LEAF, LIST, TUPLE, DICT, PAIRS, COMPOSITE, CHUNK = b"@", b"=", b"l", b"t", b"d", b"p", b"o", b"c"
INNER = frozenset((LIST, TUPLE, DICT, PAIRS, COMPOSITE, CHUNK))
_SHARED, BESIDE, ERASED = b"&", b"%", b"!"
MESSAGES = frozenset((_SHARED, BESIDE, ERASED))
NAME_END = 1 + DIGEST_BYTES
"""Where the digest ends that names a message's blob, after the kind."""


def refers_to(item: bytes) -> Iterator[bytes]:
    """Give the addresses that an item, or the content of a part, has in it; not what those have in theirs."""
    for kind, one in _ends(item):
        if kind == ADDRESS:
            yield one[1:]
        elif kind == BESIDE:
            yield from refers_to(one[NAME_END:])


def shares(item: bytes) -> Iterator[bytes]:
    """Give the digests of the messages that an item, or the content of a part, names; not those that its parts name."""
    for kind, one in _ends(item):
        if kind in (_SHARED, BESIDE):
            yield one[1:NAME_END]


def kept_in(item: bytes, part: Callable[[bytes], bytes | None]) -> list[bytes]:
    """Give the items of the messages of a captured value, in order.

    Args:
        item: the value's.
        part: gives the content of a part, or None.
    """
    kind = item[:1]
    if kind in MESSAGES:
        return [item]
    if kind == ADDRESS:
        content = part(item[1:])
        return [] if content is None or content[:1] == LEAF else kept_in(content, part)
    if kind in (LIST, TUPLE, CHUNK, COMPOSITE):
        inner = list(pieces(item[2 if kind in (LIST, TUPLE) else 1 :]))
        return [one for each in inner[1 if kind == COMPOSITE else 0 :] for one in kept_in(each, part)]
    return []


def told_in(item: bytes, part: Callable[[bytes], bytes | None]) -> Iterator[bytes]:
    """Give what a captured value says, in order: its messages, its composites, each before what is in it, and its leaves.

    Args:
        item: the value's.
        part: gives the content of a part, or None.
    """
    content = (part(item[1:]) or b"") if item[:1] == ADDRESS else item
    kind = content[:1]
    if kind in (COMPOSITE, LEAF) or kind in MESSAGES:
        yield content
    if kind in (LIST, TUPLE, CHUNK, COMPOSITE):
        inner = list(pieces(content[2 if kind in (LIST, TUPLE) else 1 :]))
        for each in inner[1 if kind == COMPOSITE else 0 :]:
            yield from told_in(each, part)


def shared_item(digest: bytes) -> bytes:
    """Give the item of a message by the digest of its payload."""
    return _SHARED + digest


def erased_item(left: bytes) -> bytes:
    """Give the item of an erased message by what is left of it."""
    return ERASED + left


def message_key(item: bytes) -> bytes:
    """Give what tells a message's item from others: the digest of its payload, or the whole item of an erased one."""
    return item if item[:1] == ERASED else item[1:NAME_END]


def _ends(item: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Give the items that an item is made of at last, each with its kind."""
    kind = item[:1]
    if kind in INNER:
        found = list(pieces(item[2 if kind in (LIST, TUPLE) else 1 :]))
        for piece in found[1::2] if kind == DICT else found[1:] if kind == COMPOSITE else found:
            yield from _ends(piece)
    else:
        yield kind, item


def length(size: int) -> bytes:
    """Write a length, in front of what is that long."""
    return bytes((size,)) if size < 255 else b"\xff" + size.to_bytes(5, "big")


def joined(items: Sequence[bytes]) -> bytes:
    """Join items so that :func:`pieces` takes them apart."""
    return b"".join([length(len(item)) + item for item in items])


def pieces(body: bytes) -> Iterator[bytes]:
    """Take apart what was joined.

    Raises:
        CorruptError: it ends too early.
    """
    at, end = 0, len(body)
    while at < end:
        size, at = body[at], at + 1
        if size == 255:
            size, at = int.from_bytes(body[at : at + 5], "big"), at + 5
        if at + size > end:
            raise CorruptError("a part of a checkpoint is cut off", hint="restore a backup to get it back")
        yield body[at : at + size]
        at += size
