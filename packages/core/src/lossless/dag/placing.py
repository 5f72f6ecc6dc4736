"""Placing: bringing a message to where it must stand in a view, opening the summary that it would be lost in.

A hidden range may stand before the summary that was made around it, so its own position does not say where its messages stood.
Their places do: what has a lower place comes first.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from lossless.dag.opening import open_paths, runs
from lossless.dag.segments import Hidden, Raw, Segment, SummaryRef, Tail
from lossless.dag.summaries import messages_under
from lossless.dag.view import View
from lossless.store.keys import ThreadKey
from lossless.store.read import Fact, facts_between, facts_of, requests_before

__all__ = ["is_hidden", "show_instead", "show_newest_request"]


def is_hidden(view: View, seq: int) -> bool:
    """Tell whether a message was taken out of a view."""
    return any(seq in gone for gone in view.hidden())


def show_instead(connection: Connection, key: ThreadKey, view: View, seq: int, arrivals: Sequence[int]) -> View:
    """Show messages where a hidden one stood; they must not stand in the view yet."""
    (fact,) = facts_of(connection, key, [seq])
    position = 1 + next(n for n, segment in enumerate(view.segments) if _hides(segment, seq))
    while True:
        segment = view.segments[position]
        if isinstance(segment, Tail):
            break
        before, after = _around(connection, key, segment, fact.place)
        if after and not before:
            break
        if not after:
            position += 1
        elif isinstance(segment, Raw):
            last = before[-1]
            halves = (
                Raw(segment.first, last.seq, segment.base, last.total_tokens),
                Raw(last.seq + 1, segment.last, last.total_tokens, segment.end),
            )
            view = view.replaced(position, position + 1, halves)
        else:
            view = open_paths(connection, key, view, [before[-1].seq], lambda seqs: runs(connection, key, seqs))
    return view.replaced(position, position, runs(connection, key, arrivals))


def show_newest_request(connection: Connection, key: ThreadKey, view: View, next_seq: int) -> View:
    """Take the newest message that a person sent out of the summary it is under, if it is under one.

    Compaction leaves that message alone; it can only get there when the ones after it were deleted or revised.
    """
    for segment in reversed(view.segments):
        if isinstance(segment, SummaryRef):
            under = facts_of(connection, key, messages_under(connection, key, segment.id))
            requests = [fact for fact in under if fact.request]
            if requests:
                newest = max(requests, key=lambda fact: fact.place)
                return open_paths(connection, key, view, [newest.seq], lambda seqs: runs(connection, key, seqs))
        elif not isinstance(segment, Hidden):
            last = segment.last if isinstance(segment, Raw) else next_seq - 1
            if any(fact.seq >= segment.first for fact in requests_before(connection, key, last + 1, limit=1)):
                return view
    return view


def _hides(segment: Segment, seq: int) -> bool:
    return isinstance(segment, Hidden) and segment.first <= seq <= segment.last


def _around(connection: Connection, key: ThreadKey, segment: Segment, place: int) -> tuple[list[Fact], list[Fact]]:
    """Give what a segment shows before and after a place, each in the order of places; nothing for a hidden range."""
    found: list[Fact] = []
    if isinstance(segment, Raw):
        found = facts_between(connection, key, segment.first, segment.last)
    elif isinstance(segment, SummaryRef):
        found = facts_of(connection, key, messages_under(connection, key, segment.id))
    found.sort(key=lambda fact: fact.place)
    return [fact for fact in found if fact.place < place], [fact for fact in found if fact.place > place]
