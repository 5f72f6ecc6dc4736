"""Pieces: messages, summaries, stubs and the omission line, each as an item of the context with the turn it is shown as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from lossless.context.entries import Place, Shown, SummaryCache, raw_ranges
from lossless.context.model import ContextItem
from lossless.context.rendering import omission_text
from lossless.context.squeezing import Stub
from lossless.dag.segments import SummaryRef
from lossless.dag.view import View
from lossless.messages import Message, Text, Turn
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader, facts_of
from lossless.tokens.counter import TokenCounter
from lossless.tokens.parts import count_parts

__all__ = ["Piece", "Scene", "message_piece", "omission_piece", "stub_piece", "summary_piece"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One item, the turn it is shown as, and what stands for its content in the view's hash."""

    item: ContextItem
    turn: Turn
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is rendered: one view of one thread, for one format; and what reads it."""

    connection: Connection
    key: ThreadKey
    view: View
    next_seq: int
    format: str
    reader: MessageReader
    summaries: SummaryCache
    counter: TokenCounter

    def ranges(self) -> dict[int, tuple[int, int]]:
        """Give the ranges that are shown as themselves, by number of the segment: first and last seq."""
        return {number: (first, last) for number, first, last in raw_ranges(self.view, self.next_seq)}

    def refs(self) -> dict[Place, SummaryRef]:
        """Give the summaries of the view by place."""
        return {(n, 0): segment for n, segment in enumerate(self.view.segments) if isinstance(segment, SummaryRef)}

    def messages(self, first: int, last: int) -> list[Message]:
        """Read a range of messages."""
        return self.reader.between(self.connection, self.key, first, last)

    def messages_at(self, places: Sequence[Place]) -> list[Message]:
        """Read single messages."""
        return self.reader.by_seq(self.connection, self.key, [seq for _number, seq in places])

    def shown(self, ids: Sequence[str]) -> Mapping[str, Shown]:
        """Read summaries, ready to be shown."""
        return self.summaries.get(self.connection, self.key, ids)


def message_piece(message: Message, format: str) -> Piece:
    """Show a message as itself."""
    item = ContextItem(
        kind="message",
        id=message.id,
        tokens=message.tokens,
        first_seq=message.seq,
        last_seq=message.seq,
        text=message.text,
    )
    payload = message.payload if message.format == format else None
    return Piece(item, Turn(message.role, message.parts, message.id, payload), message.data)


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
    return Piece(item, turn, stub.text.encode("utf-8", "surrogatepass"))


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
    )
    # Its text holds times, and a view's hash does not; the id covers sources and note.
    return Piece(item, Turn("user", (Text(shown.text),), summary.id), b"")


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
    )
    return place, Piece(item, Turn("user", (Text(text),), "omission"), text.encode("utf-8", "surrogatepass"))
