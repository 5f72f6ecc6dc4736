"""Editing a view: a message gives way to its revision, or to nothing, wherever it stands.

Where it stood under a summary, the path is opened and the leaf is made again over what is left, so that no rendered summary still
says what was removed. The replaced message stays in the view as a hidden range: every message of the thread is always in exactly
one segment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy import Connection, bindparam, select

from lossless.dag.opening import open_paths, ref_to, runs
from lossless.dag.placing import is_hidden, show_instead
from lossless.dag.segments import Hidden, Raw, Segment, Tail
from lossless.dag.summaries import Summary, store_summary
from lossless.dag.view import View
from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.read import facts_of
from lossless.store.tables import MessageRow

__all__ = ["Remake", "edit", "is_revised", "merged", "revisions_since", "shown_revision"]

Remake = Callable[[Connection, Sequence[int]], "Summary | None"]
"""Makes a leaf over messages without a model, or says that it would not be shorter than they are."""

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]


def edit(
    connection: Connection, key: ThreadKey, view: View, changes: Mapping[int, Sequence[int]], remake: Remake, now: int
) -> View:
    """Replace messages in a view.

    Args:
        connection: a connection in a write transaction; leaves that are made again are stored.
        key: the thread.
        view: the view to change.
        changes: for each seq that gives way, the seqs that take its place: its revision, or none.
        remake: makes the leaf again over what is left.
        now: the time, in microseconds.
    """

    def message_segments(seqs: tuple[int, ...]) -> Iterable[Segment]:
        left = [after for seq in seqs for after in changes.get(seq, (seq,))]
        hidden = [Hidden(seq, seq) for seq in seqs if seq in changes]
        summary = remake(connection, left) if left else None
        if summary is None:
            return [*hidden, *runs(connection, key, left)]
        store_summary(connection, key, summary, now)
        return [*hidden, ref_to(summary)]

    opened = open_paths(connection, key, view, changes, message_segments)
    arrivals = {seq for after in changes.values() for seq in after}
    segments: list[Segment] = []
    for segment in opened.segments:
        if isinstance(segment, (Raw, Tail)):
            segments.extend(_split(connection, key, segment, changes, arrivals))
        else:
            segments.append(segment)
    edited = View(tuple(segments))
    for seq, after in changes.items():
        if after and is_hidden(view, seq):
            edited = show_instead(connection, key, edited, seq, after)
    return View(merged(edited.segments))


def revisions_since(connection: Connection, key: ThreadKey, seq: int) -> list[tuple[int, int]]:
    """Give the revisions stored at ``seq`` or later as (replaced seq, its revision's seq), oldest first."""
    found: list[tuple[int, int]] = []
    for thread_id, first, last in key.ranges(seq, 2**62):
        within = {"namespace": key.namespace, "thread_id": thread_id, "first": first, "last": last}
        found += [(row.revises, row.seq) for row in _REVISIONS.all(connection, within)]
    return found


def is_revised(connection: Connection, key: ThreadKey) -> bool:
    """Tell whether any message of a thread was ever revised."""
    within = (
        {"namespace": key.namespace, "thread_id": id, "first": first, "last": last} for id, first, last in key.ranges(1, 2**62)
    )
    return any(_REVISED.first(connection, where) is not None for where in within)


_REVISIONS_OF = select(_MESSAGE.c.revises, _MESSAGE.c.seq).where(
    _MESSAGE.c.namespace == bindparam("namespace"),
    _MESSAGE.c.thread_id == bindparam("thread_id"),
    _MESSAGE.c.revises.is_not(None),
    # As a sum, lest SQLite walks through all messages of the range instead of the few revisions.
    (_MESSAGE.c.seq + 0).between(bindparam("first"), bindparam("last")),
)
_REVISIONS = Prepared(_REVISIONS_OF.order_by(_MESSAGE.c.seq))
_REVISED = Prepared(_REVISIONS_OF.limit(1))


def shown_revision(connection: Connection, key: ThreadKey, view: View, seq: int) -> int:
    """Give the revision that a view shows in the place of a message: where somebody went back, an earlier one; else itself."""
    found: int | None = seq
    while found is not None and is_hidden(view, found):
        one = (_MESSAGE.c.namespace == key.namespace, _MESSAGE.c.thread_id == key.owner(found), _MESSAGE.c.seq == found)
        found = connection.execute(select(_MESSAGE.c.revises).where(*one)).scalar_one_or_none()
    return seq if found is None else found


def _split(
    connection: Connection, key: ThreadKey, segment: Raw | Tail, changes: Mapping[int, Sequence[int]], arrivals: set[int]
) -> list[Segment]:
    """Take the changed messages out of a range, and those that now stand elsewhere."""
    last = segment.last if isinstance(segment, Raw) else 2**62
    # A revision was appended, so it is in the tail until it gets its place.
    leaving = set(changes) | arrivals if isinstance(segment, Tail) else set(changes)
    parts: list[Segment] = []
    rest: Raw | Tail | None = segment
    for seq in sorted(seq for seq in leaving if segment.first <= seq <= last):
        if rest is None:
            break
        before, rest = _cut(connection, key, rest, seq)
        parts.extend(before)
        if seq in changes:
            parts.append(Hidden(seq, seq))
            parts.extend(runs(connection, key, changes[seq]))
    if rest is not None:
        parts.append(rest)
    return parts


def _cut(connection: Connection, key: ThreadKey, segment: Raw | Tail, seq: int) -> tuple[list[Segment], Raw | Tail | None]:
    """Split a range around one of its messages: what is before it, and what is after it, if anything."""
    (fact,) = facts_of(connection, key, [seq])
    before: list[Segment] = []
    if segment.first < seq:
        before.append(Raw(segment.first, seq - 1, segment.base, fact.total_tokens - fact.tokens))
    if isinstance(segment, Tail):
        return before, Tail(seq + 1, fact.total_tokens)
    if seq < segment.last:
        return before, Raw(seq + 1, segment.last, fact.total_tokens, segment.end)
    return before, None


def merged(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Join ranges of one kind that follow each other."""
    merged: list[Segment] = []
    for segment in segments:
        last = merged[-1] if merged else None
        if isinstance(segment, Raw) and isinstance(last, Raw) and last.last + 1 == segment.first:
            merged[-1] = Raw(last.first, segment.last, last.base, segment.end)
        elif isinstance(segment, Hidden) and isinstance(last, Hidden) and last.last + 1 == segment.first:
            merged[-1] = Hidden(last.first, segment.last)
        else:
            merged.append(segment)
    return tuple(merged)
