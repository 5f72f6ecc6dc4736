"""Branching: a thread that begins with another one's messages, up to any of them. No message is copied."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import groupby

from sqlalchemy import Connection, bindparam, select

from lossless.dag.editing import is_revised, revisions_since
from lossless.dag.extents import Extent, extents_under, load_extent
from lossless.dag.heads import Head, begin_thread, key_at, lock_existing_head
from lossless.dag.lineage import branch_key, find_key
from lossless.dag.opening import runs
from lossless.dag.placing import show_instead
from lossless.dag.segments import Hidden, Raw, Segment, SummaryRef, Tail
from lossless.dag.summaries import sources_of
from lossless.dag.view import View, ViewStore
from lossless.errors import ExistsError, NotFoundError
from lossless.messages import Message, UnitTracker, shape_of
from lossless.store.digests import EMPTY_CHAIN
from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.read import Fact, MessageReader, facts_between, facts_of, seqs_of
from lossless.store.tables import MessageRow
from lossless.versions.snapshots import find_snapshot

__all__ = ["branch", "closed_at", "cut_view", "open_calls_at", "unhidden"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_LOOK_BACK = 48
"""Messages in which a tool call that is still open is looked for, beside the unit that the last of them belongs to."""


def branch(
    connection: Connection,
    parent: ThreadKey,
    thread_id: str,
    at: int | str | None,
    views: ViewStore,
    reader: MessageReader,
    now: int,
) -> None:
    """Begin a thread with the messages of ``parent`` up to a snapshot, a message's id, a seq (inclusive), or all of them.

    Raises:
        NotFoundError: there is no such thread, snapshot or message.
        ExistsError: there is a thread of that id.
    """
    head = lock_existing_head(connection, parent)
    parent = key_at(connection, parent, head)
    snapshot = find_snapshot(connection, parent, at) if isinstance(at, str) else None
    if snapshot is not None:
        cut = snapshot.seq
        view = closed_at(connection, parent, views.load(connection, parent.namespace, bytes.fromhex(snapshot.view)), cut)
    else:
        cut = _seq_at(connection, parent, head, at)
        view = cut_view(connection, parent, views.load(connection, parent.namespace, head.view), cut)
    key = branch_key(parent, thread_id, cut)
    if find_key(connection, key.namespace, thread_id) is not None:
        raise ExistsError(f"there is a thread {thread_id} already", hint="choose another name for the branch")
    end = _END.first(connection, {"namespace": key.namespace, "thread_id": parent.owner(cut), "seq": cut})
    start = Head(
        view=b"",
        generation=0,
        next_seq=cut + 1,
        total_tokens=end.total_tokens if end is not None else 0,
        chain=end.chain if end is not None else EMPTY_CHAIN,
        open_calls=open_calls_at(connection, parent, reader, cut),
        lookalike_ids=head.lookalike_ids,
        updated_at=now,
        format=head.format,
    )
    if begin_thread(connection, key, views, view, start, why=f"branched from {parent.thread_id} at {cut}") is None:
        raise ExistsError(f"there is a thread {thread_id} already", hint="choose another name for the branch")


def cut_view(connection: Connection, key: ThreadKey, view: View, cut: int) -> View:
    """Give a view of the messages up to ``cut`` only: summaries that straddle it are opened, revisions made later taken back."""
    place = _places(connection, key)
    kept: list[Segment] = []
    for segment in view.segments:
        kept.extend(_up_to(connection, key, segment, cut, place))
    found = View((*kept, _tail_after(connection, key, cut)))
    for old, _new in reversed(revisions_since(connection, key, cut + 1)):
        if old <= cut and any(old in gone for gone in found.hidden()):
            found = unhidden(show_instead(connection, key, found, old, [old]), old)
    return found


def closed_at(connection: Connection, key: ThreadKey, view: View, cut: int) -> View:
    """Give a view that ended at ``cut`` with its tail closed there."""
    *before, tail = view.segments
    return View((*before, *_up_to(connection, key, tail, cut, _places(connection, key)), _tail_after(connection, key, cut)))


def _places(connection: Connection, key: ThreadKey) -> Callable[[int], int]:
    """Give what tells the place of a message in a view: its seq, except for revisions, which stand where the first one did."""
    if not is_revised(connection, key):
        return lambda seq: seq
    return lambda seq: int(facts_of(connection, key, [seq])[0].place)


def _up_to(connection: Connection, key: ThreadKey, segment: Segment, cut: int, place: Callable[[int], int]) -> Iterable[Segment]:
    if isinstance(segment, SummaryRef):
        return _summary_up_to(connection, key, load_extent(connection, key, segment.id), cut, place)
    if segment.first > cut:
        return []
    if isinstance(segment, Hidden):
        return [Hidden(segment.first, min(segment.last, cut))]
    if isinstance(segment, Raw) and segment.last <= cut:
        return [segment]
    return [Raw(segment.first, cut, segment.base, _sum_at(connection, key, cut))]


def _summary_up_to(
    connection: Connection, key: ThreadKey, extent: Extent, cut: int, place: Callable[[int], int]
) -> Iterable[Segment]:
    if extent.newest_seq <= cut:
        return [extent.ref]
    if place(extent.first_seq) > cut:
        return []  # in the order of places, all that is under it comes later
    sources = sources_of(connection, key, extent.ref.id)
    extents = extents_under(connection, key, extent.ref.id)
    kept: list[Segment] = []
    first = [source if isinstance(source, int) else extents[source].first_seq for source in sources]
    reached = sources[: bisect_right(first, cut, key=place)]
    for are_summaries, together in groupby(reached, lambda source: isinstance(source, str)):
        if are_summaries:
            for id in together:
                kept.extend(_summary_up_to(connection, key, extents[str(id)], cut, place))
        else:
            kept.extend(runs(connection, key, [seq for seq in together if isinstance(seq, int) and seq <= cut]))
    return _joined(kept)


def _joined(segments: Iterable[Segment]) -> list[Segment]:
    joined: list[Segment] = []
    for segment in segments:
        last = joined[-1] if joined else None
        if isinstance(segment, Raw) and isinstance(last, Raw) and last.last + 1 == segment.first:
            joined[-1] = Raw(last.first, segment.last, last.base, segment.end)
        else:
            joined.append(segment)
    return joined


def unhidden(view: View, seq: int) -> View:
    """Take a message out of the hidden range that it is in."""
    segments: list[Segment] = []
    for segment in view.segments:
        if isinstance(segment, Hidden) and segment.first <= seq <= segment.last:
            segments.extend(Hidden(a, b) for a, b in ((segment.first, seq - 1), (seq + 1, segment.last)) if a <= b)
        else:
            segments.append(segment)
    return View(tuple(segments))


def _tail_after(connection: Connection, key: ThreadKey, cut: int) -> Tail:
    return Tail(cut + 1, _sum_at(connection, key, cut))


def _sum_at(connection: Connection, key: ThreadKey, seq: int) -> int:
    facts = facts_of(connection, key._replace(since=1), [seq]) if seq >= 1 else []
    return facts[0].total_tokens if facts else 0


def open_calls_at(connection: Connection, key: ThreadKey, reader: MessageReader, cut: int) -> tuple[tuple[str, int], ...]:
    """Give the tool calls that are open after a message: (call id, seq of its unit's first message)."""
    last = facts_of(connection, key, [cut])
    first = min(cut - _LOOK_BACK, *(fact.unit for fact in last)) if last else cut
    facts = [fact for fact in facts_between(connection, key, max(1, first), cut) if fact.place == fact.seq]  # no revisions
    callers = [fact for fact in facts if fact.role == "assistant"]
    answers = [fact for fact in facts if fact.role != "assistant" and fact.unit != fact.seq]
    shapes = {message.seq: shape_of(message.parts) for message in _read(connection, key, reader, callers)}
    unanswered = Counter(fact.unit for fact in callers for _call in shapes[fact.seq].calls)
    # Each message that belongs to the unit of an earlier one answers a call of it at least.
    unanswered.subtract(fact.unit for fact in answers)
    if all(calls <= 0 for calls in unanswered.values()):
        return ()
    shapes |= {message.seq: shape_of(message.parts) for message in _read(connection, key, reader, answers)}
    tracker = UnitTracker()
    for seq in sorted(shapes):
        tracker.place(seq, shapes[seq])
    return tuple(tracker.open_calls)


def _read(connection: Connection, key: ThreadKey, reader: MessageReader, facts: Iterable[Fact]) -> list[Message]:
    return reader.by_seq(connection, key, [fact.seq for fact in facts], keep=False)


_END = Prepared(
    select(_MESSAGE.c.chain, _MESSAGE.c.total_tokens).where(
        _MESSAGE.c.namespace == bindparam("namespace"),
        _MESSAGE.c.thread_id == bindparam("thread_id"),
        _MESSAGE.c.seq == bindparam("seq"),
    )
)


def _seq_at(connection: Connection, key: ThreadKey, head: Head, at: int | str | None) -> int:
    if at is None:
        return head.next_seq - 1
    if isinstance(at, str):
        return seqs_of(connection, key, [at])[at]
    if not 1 <= at < head.next_seq:
        raise NotFoundError(f"there is no message with seq {at} in thread {key.thread_id}", hint="see messages()")
    return at
