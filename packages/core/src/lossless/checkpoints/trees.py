"""Values as trees of parts: an element of a list, a value of a dict, is a part of its own, addressed by its content.

A value is written as an *item*: small content stands in it, larger content is a part, and the item its address. Lists and tuples
are persistent vectors of chunks, so a list that grew by one shares all its chunks but the last. What is neither list, tuple, dict
nor a composite that the adapter takes apart is a leaf, whose bytes are the adapter's.

An element of a captured value that is a message, too, has no part: its item names the blob in which the message store keeps it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lossless.checkpoints.items import (
    ADDRESS,
    BESIDE,
    CHUNK,
    COMPOSITE,
    DICT,
    ERASED,
    LEAF,
    LIST,
    MESSAGES,
    NAME_END,
    PAIRS,
    TUPLE,
    length,
    pieces,
)
from lossless.errors import CorruptError

__all__ = ["INLINE", "Leaves", "Run", "TreeReader", "TreeWriter", "Twig"]

INLINE = 64
"""Bytes of content that stand in an item itself: about what an address takes, with its row."""
_FANOUT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Twig:
    """Some content: its bytes, and what it is known by (the same bytes, unless they are encrypted afresh each time)."""

    content: bytes
    identity: bytes


class Leaves(ABC):
    """What an adapter does with the values at the ends of a tree."""

    secret_keys: bool = False
    """Whether keys of dicts must not be stored in clear."""

    @abstractmethod
    def write(self, value: Any) -> Twig:
        """Write a leaf."""

    @abstractmethod
    def read(self, content: bytes) -> Any:
        """Read a leaf that :meth:`write` wrote."""

    def read_message(self, payload: bytes) -> Any:  # noqa: ARG002
        """Read an element whose bytes are a message's payload."""
        raise CorruptError("a message within a checkpoint is not known", hint="upgrade Lossless")

    def read_erased(self, left: bytes) -> Any:
        """Read what an erasure left of an element."""
        return self.read_message(left)

    def fingerprint(self, value: Any) -> bytes | None:  # noqa: ARG002
        """Give what two values have in common only if they are written the same, or None; it is cheaper than writing."""
        return None

    def fingerprint_all(self, values: Sequence[Any]) -> bytes | None:  # noqa: ARG002
        """Give what runs of values have in common only if each has the same fingerprint; None unless every one has one."""
        return None

    def maker(self, value: Any) -> Callable[[], Any] | None:  # noqa: ARG002
        """Give what makes equal values that share nothing with this one, or with each other, that could be changed; or None."""
        return None

    def split(self, value: Any) -> tuple[str, Sequence[Any]] | None:  # noqa: ARG002
        """Take a composite apart: its name and its pieces; None for other values."""
        return None

    def join(self, name: str, pieces: Sequence[Any]) -> Any:  # noqa: ARG002
        """Put a composite together again."""
        raise CorruptError(f"a composite {name!r} is not known", hint="upgrade Lossless")


class Run(NamedTuple):
    """A chunk of a vector as it was written: its item, and those of the messages of the store in it."""

    item: bytes
    kept: tuple[bytes, ...]


@dataclass(slots=True, kw_only=True)
class TreeWriter:
    """Writes values, and gathers the parts that have to be stored.

    Attributes:
        leaves: the adapter's.
        address: gives the address of content by what it is known by.
        inline: bytes of content up to which it stands in its item.
        known: whether a part is stored, as far as one remembers; such a part is not gathered again.
        recall: gives the item that was written for a fingerprint before.
        learn: remembers the item of a fingerprint.
        recall_run: gives the chunk that was written for a fingerprint of all its values before.
        learn_run: remembers a chunk.
        keep: gives the item of a captured value that is a message, and whether that is all there is to it; None for other values.
        instead: gives the item that stands for a value whatever it holds: of an erased message; None for other values.
        parts: gathered, by address: their content.
        kept: the messages of the value that was captured last, in order: their items.
        elements: what they are.
    """

    leaves: Leaves
    address: Callable[[bytes], bytes]
    inline: int = INLINE
    known: Callable[[bytes], bool] = lambda _digest: False
    recall: Callable[[bytes], bytes | None] = lambda _fingerprint: None
    learn: Callable[[bytes, bytes], None] = lambda _fingerprint, _item: None
    recall_run: Callable[[bytes], Run | None] = lambda _fingerprint: None
    learn_run: Callable[[bytes, Run], None] = lambda _fingerprint, _run: None
    keep: Callable[[Any], tuple[bytes, bool] | None] = lambda _value: None
    instead: Callable[[Any], bytes | None] | None = None
    parts: dict[bytes, bytes] = field(default_factory=dict)
    kept: list[bytes] = field(default_factory=list)
    elements: list[Any] = field(default_factory=list)
    _path: list[object] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Where in the value the writer is: after a failure, where it failed."""
        return "".join(f"[{step!r:.60}]" for step in self._path)

    def item(self, value: Any) -> bytes:
        """Write a value and give its item."""
        self._path.clear()
        return self._item(value).content

    def captured(self, value: Any) -> bytes:
        """Write a value whose messages are messages of the store, too, and give its item; ``kept`` and ``elements`` name them."""
        self._path.clear()
        self.kept, self.elements = [], []
        return self._captured(value).content

    def _captured(self, value: Any) -> Twig:
        kind = type(value)
        if kind is list or kind is tuple:
            return self._sealed(self._vector(LIST if kind is list else TUPLE, value, self._captured))
        fingerprint = self.leaves.fingerprint(value)
        item = None if self.instead is None else self.instead(value)
        if item is None and fingerprint is not None:
            item = self.recall(fingerprint)
        if item is None or item[:1] not in MESSAGES:
            found = self.keep(value)
            if found is None:
                return self._sealed(self._composite(value, self._captured) or self._item(value))
            item = found[0] if found[1] else BESIDE + found[0][1:] + self._item(value).content
            if fingerprint is not None:
                self.learn(fingerprint, item)
        self.kept.append(item)
        self.elements.append(value)
        return Twig(content=item, identity=item)

    def _item(self, value: Any) -> Twig:
        kind = type(value)
        if kind is list or kind is tuple:
            return self._sealed(self._vector(LIST if kind is list else TUPLE, value, self._item))
        if kind is dict:
            return self._sealed(self._dict(value))
        erased = None if self.instead is None else self.instead(value)
        if erased is not None:
            return Twig(content=erased, identity=erased)
        fingerprint = self.leaves.fingerprint(value)
        if fingerprint is not None:
            item = self.recall(fingerprint)
            if item is not None:
                return Twig(content=item, identity=item)
        twig = self._composite(value, self._item) or _marked(LEAF, self.leaves.write(value))
        sealed = self._sealed(twig)
        if fingerprint is not None and sealed.content[:1] == ADDRESS:
            self.learn(fingerprint, sealed.content)
        return sealed

    def _sealed(self, twig: Twig) -> Twig:
        """Give the item of some content: the content itself, or the address of a part."""
        if len(twig.content) <= self.inline or twig.content[:1] in MESSAGES:
            return twig
        digest = self.address(twig.identity)
        item = ADDRESS + digest
        if digest not in self.parts and not self.known(digest):
            self.parts[digest] = twig.content
        return Twig(content=item, identity=item)

    def _vector(self, kind: bytes, values: Sequence[Any], write: Callable[[Any], Twig]) -> Twig:
        if len(values) <= _FANOUT:
            level, depth = self._each(enumerate(values), write), 0
        else:
            starts = range(0, len(values), _FANOUT)
            level, depth = [self._chunk(values[start : start + _FANOUT], start, write) for start in starts], 1
        while len(level) > _FANOUT:
            chunks = (level[start : start + _FANOUT] for start in range(0, len(level), _FANOUT))
            level, depth = [self._sealed(_joined(CHUNK, chunk)) for chunk in chunks], depth + 1
        return _joined(kind + bytes((depth,)), level)

    def _chunk(self, values: Sequence[Any], start: int, write: Callable[[Any], Twig]) -> Twig:
        """Write some values of a vector as one chunk; what was written before is known by all of them at once."""
        captured, before = write == self._captured, len(self.kept)
        whole = len(values) == _FANOUT and self.instead is None
        fingerprint = self.leaves.fingerprint_all(values) if whole else None
        mark = None if fingerprint is None else (b"c" if captured else b"p") + fingerprint
        run = None if mark is None else self.recall_run(mark)
        if run is not None:
            if captured:
                self.kept += run.kept
                self.elements += values
            return Twig(content=run.item, identity=run.item)
        written = self._each(enumerate(values, start), write)
        chunk = self._sealed(_joined(CHUNK, written))
        kept = tuple(self.kept[before:]) if captured else ()
        if mark is not None and chunk.content[:1] == ADDRESS and (len(kept) == len(values) or not captured):
            self.learn_run(mark, Run(chunk.content, kept))
        return chunk

    def _dict(self, value: dict[Any, Any]) -> Twig:
        items = self._each(value.items(), self._item)
        if self.leaves.secret_keys or not all(type(key) is str for key in value):
            keys = self._each(((key, key) for key in value), self._item)
            return _joined(PAIRS, [one for pair in zip(keys, items, strict=True) for one in pair])
        names = [key.encode("utf-8", "surrogatepass") for key in value]
        keys = [Twig(content=name, identity=name) for name in names]
        return _joined(DICT, [one for pair in zip(keys, items, strict=True) for one in pair])

    def _composite(self, value: Any, write: Callable[[Any], Twig]) -> Twig | None:
        found = self.leaves.split(value)
        if found is None:
            return None
        name = found[0].encode("ascii")
        written = self._each(enumerate(found[1]), write)
        return _joined(COMPOSITE, [Twig(content=name, identity=name), *written])

    def _each(self, places: Iterable[tuple[object, Any]], write: Callable[[Any], Twig]) -> list[Twig]:
        written = []
        for place, value in places:
            self._path.append(place)
            written.append(write(value))
            self._path.pop()
        return written


class TreeReader:
    """Reads values from their items and the parts these refer to.

    Args:
        leaves: the adapter's.
        parts: every part and every message's payload that is referred to, by address.
        makers: what makes values that were read before, by item; what is read is added. None: everything is read.
    """

    def __init__(
        self, leaves: Leaves, parts: Mapping[bytes, bytes], makers: dict[bytes, Callable[[], Any]] | None = None
    ) -> None:
        self._leaves = leaves
        self._parts = parts
        self._makers = makers
        self._path: list[object] = []

    @property
    def path(self) -> str:
        """Where in the value the reader is: after a failure, where it failed."""
        return "".join(f"[{step!r:.60}]" for step in self._path)

    def value(self, item: bytes) -> Any:
        """Read a value.

        Raises:
            CorruptError: a part is missing, or is none.
        """
        self._path.clear()
        make = None if self._makers is None else self._makers.get(item)
        return self._value(item) if make is None else make()

    def _content(self, item: bytes) -> bytes:
        if item[:1] != ADDRESS:
            return item
        content = self._parts.get(item[1:])
        if content is None:
            raise CorruptError("a part of a checkpoint is missing or changed", hint="restore a backup to get it back")
        return content

    def _value(self, item: bytes) -> Any:
        content = self._content(item)
        kind = content[:1]
        if kind == LEAF:
            return self._made(item, self._leaves.read(content[1:]))
        if kind in MESSAGES:
            return self._made(item, self._message(kind, content))
        if kind in (LIST, TUPLE):
            values = self._elements(content[2:], content[1])
            return values if kind == LIST else tuple(values)
        if kind in (DICT, PAIRS):
            return self._mapping(kind, list(pieces(content[1:])))
        if kind == COMPOSITE:
            name, *found = pieces(content[1:])
            return self._leaves.join(name.decode("ascii"), [self._at(index, piece) for index, piece in enumerate(found)])
        raise CorruptError("a part of a checkpoint has a form that is not known", hint="upgrade Lossless, or restore a backup")

    def _message(self, kind: bytes, item: bytes) -> Any:
        if kind == ERASED:
            return self._leaves.read_erased(item[1:])
        if kind == BESIDE:
            return self._value(item[NAME_END:])
        payload = self._parts.get(item[1:])
        if payload is None:
            raise CorruptError("a message of a checkpoint is missing or changed", hint="restore a backup to get it back")
        return self._leaves.read_message(payload)

    def _elements(self, body: bytes, depth: int) -> list[Any]:
        items = list(pieces(body))
        for _level in range(depth):
            items = [inner for item in items for inner in pieces(self._content(item)[1:])]
        makers = self._makers
        if not makers:
            return [self._at(index, item) for index, item in enumerate(items)]
        return [make() if (make := makers.get(item)) else self._at(index, item) for index, item in enumerate(items)]

    def _made(self, item: bytes, value: Any) -> Any:
        """Remember how to make a value of some content again."""
        if self._makers is not None and item[:1] != LEAF:
            make = self._leaves.maker(value)
            if make is not None:
                self._makers[item] = make
        return value

    def _mapping(self, kind: bytes, parts: list[bytes]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, item in zip(parts[::2], parts[1::2], strict=True):
            name = key.decode("utf-8", "surrogatepass") if kind == DICT else self._value(key)
            found[name] = self._at(name, item)
        return found

    def _at(self, place: object, item: bytes) -> Any:
        make = None if self._makers is None else self._makers.get(item)
        if make is not None:
            return make()
        self._path.append(place)
        value = self._value(item)
        self._path.pop()
        return value


def _marked(mark: bytes, twig: Twig) -> Twig:
    return Twig(content=mark + twig.content, identity=mark + twig.identity)


def _joined(mark: bytes, twigs: Sequence[Twig]) -> Twig:
    content = mark + b"".join([length(len(one.content)) + one.content for one in twigs])
    if all(one.content is one.identity for one in twigs):
        return Twig(content=content, identity=content)
    return Twig(content=content, identity=mark + b"".join([length(len(one.identity)) + one.identity for one in twigs]))
