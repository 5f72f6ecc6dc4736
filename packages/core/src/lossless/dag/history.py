"""History: the views that a thread had, and what each changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from lossless.dag.heads import Move, moves
from lossless.dag.segments import Hidden, Raw
from lossless.dag.view import View, ViewStore
from lossless.store.keys import ThreadKey
from lossless.store.pages import MOST
from lossless.store.times import from_stored

__all__ = ["ViewDiff", "ViewRecord", "diff_views", "view_records"]

Range = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDiff:
    """What a view changed, by the view before it. Ranges are of seqs, both ends included.

    Attributes:
        summarised: messages that went under a summary; ``opened``: those that are shown as themselves again.
        hidden: messages that left the view; ``shown``: those that came back into it.
        summaries: ids of summaries that came; ``gone``: of those that went.
    """

    summarised: tuple[Range, ...] = ()
    opened: tuple[Range, ...] = ()
    hidden: tuple[Range, ...] = ()
    shown: tuple[Range, ...] = ()
    summaries: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRecord:
    """A view that a thread had: since which generation, its address, how far the thread was, why it came, and which move it
    undid. ``diff``: what it changed, where that was asked for; None for the first view."""

    generation: int
    view: str
    next_seq: int
    why: str
    by_hand: bool
    undoes: int | None
    at: datetime
    diff: ViewDiff | None = None


def view_records(
    connection: Connection, key: ThreadKey, *, limit: int | None = None, views: ViewStore | None = None
) -> list[ViewRecord]:
    """Give the views that a thread had, newest first; with ``views``, which loads them, what each changed."""
    limit = None if limit is None else min(max(0, limit), MOST)
    found = moves(connection, key, limit=None if limit is None else limit + 1)
    records: list[ViewRecord] = []
    for place, move in enumerate(found[:limit]):
        before = found[place + 1] if place + 1 < len(found) else None
        diff = None
        if views is not None and before is not None:
            old, new = (views.load(connection, key.namespace, each.view) for each in (before, move))
            diff = diff_views(old, new, move.next_seq)
        records.append(_record(move, diff))
    return records


def diff_views(old: View, new: View, next_seq: int) -> ViewDiff:
    """Say what changed from one view to another, where a thread has messages below ``next_seq``. Pure."""
    before, after = _raw(old, next_seq), _raw(new, next_seq)
    gone, came = _minus(before, after), _minus(after, before)
    out, back = _minus(_hidden(new), _hidden(old)), _minus(_hidden(old), _hidden(new))
    were, are = (dict.fromkeys(ref.id for ref in view.summaries) for view in (old, new))
    return ViewDiff(
        summarised=_minus(gone, out),
        opened=_minus(came, back),
        hidden=out,
        shown=back,
        summaries=tuple(id for id in are if id not in were),
        gone=tuple(id for id in were if id not in are),
    )


def _record(move: Move, diff: ViewDiff | None) -> ViewRecord:
    return ViewRecord(
        generation=move.generation,
        view=move.view.hex(),
        next_seq=move.next_seq,
        why=move.why,
        by_hand=move.by_hand,
        undoes=move.undoes,
        at=from_stored(move.at),
        diff=diff,
    )


def _raw(view: View, next_seq: int) -> tuple[Range, ...]:
    closed = [(each.first, each.last) for each in view.segments if isinstance(each, Raw)]
    tail = [(view.tail.first, next_seq - 1)] if view.tail.first < next_seq else []
    return _joined([*closed, *tail])


def _hidden(view: View) -> tuple[Range, ...]:
    return _joined((each.first, each.last) for each in view.segments if isinstance(each, Hidden))


def _joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def _minus(ranges: Iterable[Range], others: Iterable[Range]) -> tuple[Range, ...]:
    """Give what of some ranges is in none of the others; both are sorted and don't overlap."""
    left: list[Range] = []
    taken = list(others)
    for start, last in ranges:
        first = start
        for low, high in taken:
            if high < first or low > last:
                continue
            if low > first:
                left.append((first, low - 1))
            first = high + 1
        if first <= last:
            left.append((first, last))
    return tuple(left)
