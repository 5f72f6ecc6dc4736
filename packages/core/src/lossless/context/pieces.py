"""Pieces: messages, summaries, stubs and the omission line, each as an item of the context with the turn it is shown as."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection

from lossless.context.entries import Place, Shown, SummaryCache, raw_ranges
from lossless.context.model import ContextItem
from lossless.context.rendering import omission_text
from lossless.context.squeezing import Stub
from lossless.dag.segments import SummaryRef
from lossless.dag.view import View
from lossless.locks import ForkLock
from lossless.messages import Message, Text, Turn, readable, shape_of
from lossless.store.erasures import epoch_of
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader, facts_of
from lossless.tokens.counter import TokenCounter
from lossless.tokens.parts import count_parts

__all__ = ["Piece", "PieceCache", "Scene", "mark_of", "omission_piece", "stub_piece", "summary_piece"]

_OVERHEAD = 1_000
"""Bytes of memory that a piece takes beside the text and the payload of its message, measured."""


class Piece(NamedTuple):
    """One item, the turn it is shown as, and the mark that stands for it in the view's hash; ``erased``: a placeholder."""

    item: ContextItem
    turn: Turn
    mark: bytes
    erased: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is rendered: one view of one thread, for one format; and what reads it."""

    connection: Connection
    key: ThreadKey
    view: View
    next_seq: int
    generation: int
    format: str
    reader: MessageReader
    pieces: PieceCache
    summaries: SummaryCache
    counter: TokenCounter

    def ranges(self) -> dict[int, tuple[int, int]]:
        """Give the ranges that are shown as themselves, by number of the segment: first and last seq."""
        return {number: (first, last) for number, first, last in raw_ranges(self.view, self.next_seq)}

    def refs(self) -> dict[Place, SummaryRef]:
        """Give the summaries of the view by place."""
        return {(n, 0): segment for n, segment in enumerate(self.view.segments) if isinstance(segment, SummaryRef)}

    def messages(self, first: int, last: int) -> list[Piece]:
        """Show a range of messages as themselves."""
        known = self.pieces.get(self._epoch, self.key, self.format, range(first, last + 1))
        missing = [seq for seq in range(first, last + 1) if seq not in known]
        if missing:
            messages = self.reader.between(self.connection, self.key, missing[0], missing[-1])
            known.update(zip([message.seq for message in messages], self.shown_as_said(messages), strict=True))
        return [known[seq] for seq in range(first, last + 1) if seq in known]

    def shown_as_said(self, messages: Sequence[Message]) -> list[Piece]:
        """Show messages as themselves."""
        return self.pieces.add(self._epoch, self.key, self.format, messages)

    def pieces_at(self, places: Sequence[Place]) -> list[Piece]:
        """Show single messages as themselves."""
        known = self.pieces.get(self._epoch, self.key, self.format, [seq for _number, seq in places])
        missing = [place for place in places if place[1] not in known]
        messages = self.messages_at(missing)
        known.update(zip([message.seq for message in messages], self.shown_as_said(messages), strict=True))
        return [known[seq] for _number, seq in places]

    def messages_at(self, places: Sequence[Place]) -> list[Message]:
        """Read single messages."""
        return self.reader.by_seq(self.connection, self.key, [seq for _number, seq in places])

    @property
    def _epoch(self) -> int:
        return epoch_of(self.connection)

    def shown(self, ids: Sequence[str]) -> Mapping[str, Shown]:
        """Read summaries, ready to be shown."""
        return self.summaries.get(self.connection, self.key, ids)


class PieceCache:
    """Keeps the pieces of messages that were shown before, in the epoch that they were read in.

    The payload in a piece is shared: formats copy what they render.
    """

    def __init__(self, keep_bytes: int = 64 * 1024 * 1024) -> None:
        self._keep_bytes = keep_bytes
        self._bytes = 0
        self._lock = ForkLock()
        self._recent: OrderedDict[tuple[int, ThreadKey, str, int], tuple[Piece, int]] = OrderedDict()

    def get(self, epoch: int, key: ThreadKey, format: str, seqs: Iterable[int]) -> dict[int, Piece]:
        """Give the pieces that are kept, by seq."""
        recent = self._recent
        with self._lock:
            return {seq: kept[0] for seq in seqs if (kept := recent.get((epoch, key, format, seq))) is not None}

    def add(self, epoch: int, key: ThreadKey, format: str, messages: Sequence[Message]) -> list[Piece]:
        """Make the pieces of messages and keep them."""
        pieces = [_message_piece(message, format) for message in messages]
        with self._lock:
            for message, piece in zip(messages, pieces, strict=True):
                place, size = (epoch, key, format, message.seq), _OVERHEAD + 2 * len(message.data)
                if place not in self._recent:
                    self._bytes += size
                self._recent[place] = (piece, size)
            while self._bytes > self._keep_bytes and len(self._recent) > 1:
                _, (_dropped, size) = self._recent.popitem(last=False)
                self._bytes -= size
        return pieces

    def forget(self) -> None:
        """Drop what is kept in memory."""
        with self._lock:
            self._recent.clear()
            self._bytes = 0


def _message_piece(message: Message, format: str) -> Piece:
    # Before the parts are asked for: it reads them on the way.
    payload = message.shared_payload() if message.format == format else None
    parts = message.parts
    item = ContextItem(
        kind="message",
        id=message.id,
        tokens=message.tokens,
        first_seq=message.seq,
        last_seq=message.seq,
        text=readable(parts),
    )
    turn = Turn(message.role, parts, message.id, payload, shape=shape_of(parts))
    return Piece(item, turn, mark_of("message", message.id, message.data), message.erased)


def mark_of(kind: str, id: str, content: bytes) -> bytes:
    """Make the mark that stands for a piece in a view's hash."""
    return hashlib.sha256(f"{kind}\0{id}\0".encode("utf-8", "surrogatepass") + content).digest()


def stub_piece(message: Message, stub: Stub) -> Piece:
    """Show a message shortened."""
    turn = Turn(message.role, stub.parts, message.id)
    item = ContextItem(
        kind="stub",
        id=message.id,
        tokens=stub.tokens,
        first_seq=message.seq,
        last_seq=message.seq,
        text=stub.text,
    )
    return Piece(item, turn, mark_of("stub", message.id, stub.text.encode("utf-8", "surrogatepass")))


def summary_piece(shown: Shown, ref: SummaryRef) -> Piece:
    """Show a summary."""
    summary = shown.summary
    item = ContextItem(
        kind="summary",
        id=summary.id,
        tokens=ref.tokens,
        first_seq=summary.first_seq,
        last_seq=summary.last_seq,
        text=shown.text,
        messages=ref.messages,
    )
    # Its text holds times, and a view's hash does not; the id covers sources and note.
    return Piece(item, Turn("user", (Text(shown.text),), summary.id), mark_of("summary", summary.id, b""))


def omission_piece(scene: Scene, shown: set[Place]) -> tuple[Place, Piece] | None:
    """Make the one line that names what of a view is not shown, and say where it stands; None if all of it is."""
    gaps: list[tuple[Place, int, int]] = []
    unseen: list[str] = []
    missing = 0
    refs, ranges = scene.refs(), scene.ranges()
    for number in range(len(scene.view.segments)):
        ref = refs.get((number, 0))
        if ref is not None and (number, 0) not in shown:
            summary = scene.shown([ref.id])[ref.id].summary
            gaps.append(((number, 0), summary.first_seq, summary.last_seq))
            unseen.append(ref.id)
            missing += ref.messages
        elif number in ranges:
            first, last = ranges[number]
            seen = {seq for place, seq in shown if place == number}
            lowest = next((seq for seq in range(first, last + 1) if seq not in seen), None)
            if lowest is not None:
                highest = next(seq for seq in range(last, first - 1, -1) if seq not in seen)
                gaps.append(((number, lowest), lowest, highest))
                missing += last - first + 1 - len(seen)
    if not gaps:
        return None
    place, first_seq, last_seq = gaps[0][0], gaps[0][1], gaps[-1][2]
    names = {fact.seq: fact.id for fact in facts_of(scene.connection, scene.key, [first_seq, last_seq])}
    text = omission_text(missing, names[first_seq], names[last_seq])
    item = ContextItem(
        kind="omission",
        id="omission",
        tokens=count_parts((Text(text),), scene.counter),
        first_seq=first_seq,
        last_seq=last_seq,
        text=text,
        ids=(names[first_seq], names[last_seq], *unseen),
        messages=missing,
    )
    mark = mark_of("omission", "omission", text.encode("utf-8", "surrogatepass"))
    return place, Piece(item, Turn("user", (Text(text),), "omission"), mark)
