"""Entries: the messages and summaries of a view made ready to be shown, in view order, as many as a budget could hold."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from lossless.context.rendering import render_summary
from lossless.dag.segments import Raw, SummaryRef, Tail
from lossless.dag.summaries import Summary, load_summaries
from lossless.dag.view import View
from lossless.locks import ForkLock
from lossless.store.erasures import epoch_of
from lossless.store.keys import ThreadKey
from lossless.store.read import Fact, facts_between, newest_facts, requests_before, unit_members

__all__ = ["PINNED_ROLES", "Place", "Shown", "SummaryCache", "newest_messages", "newest_request", "pinned", "raw_ranges"]

Place = tuple[int, int]
"""Where something stands in a view: number of the segment, then seq."""

PINNED_ROLES = ("system", "developer")
_BATCH = 256
_OVERHEAD = 1_500
"""Bytes that a summary takes in memory beside its texts."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A summary ready to be shown; its source items, the most of it, are left out: nobody who shows it asks for them."""

    summary: Summary
    text: str


class SummaryCache:
    """Loads summaries and renders them, the recently used ones from memory, in the epoch that they were read in.

    ``keep_bytes``: how much memory their texts may take, two bytes for a character.
    """

    def __init__(self, keep_bytes: int = 32 * 1024 * 1024) -> None:
        self._keep_bytes = keep_bytes
        self._bytes = 0
        self._lock = ForkLock()
        self._recent: OrderedDict[tuple[int, ThreadKey, str], Shown] = OrderedDict()

    def get(self, connection: Connection, key: ThreadKey, ids: Sequence[str]) -> dict[str, Shown]:
        """Give summaries by id, ready to be shown."""
        found: dict[str, Shown] = {}
        epoch = epoch_of(connection)
        with self._lock:
            for id in ids:
                shown = self._recent.get((epoch, key, id))
                if shown is not None:
                    found[id] = shown
                    self._recent.move_to_end((epoch, key, id))
        missing = [id for id in ids if id not in found]
        if missing:
            loaded = load_summaries(connection, key, missing)
            found |= {id: Shown(_bare(summary), render_summary(summary)) for id, summary in loaded.items()}
            with self._lock:
                self._keep({(epoch, key, id): found[id] for id in missing})
        return found

    def _keep(self, made: Mapping[tuple[int, ThreadKey, str], Shown]) -> None:
        for place, shown in made.items():
            before = self._recent.pop(place, None)
            self._recent[place] = shown
            self._bytes += _size(shown) - (_size(before) if before is not None else 0)
        while self._bytes > self._keep_bytes and len(self._recent) > 1:
            self._bytes -= _size(self._recent.popitem(last=False)[1])

    def forget(self) -> None:
        """Drop what is kept in memory."""
        with self._lock:
            self._recent.clear()
            self._bytes = 0


def _bare(summary: Summary) -> Summary:
    return replace(summary, items=(), decisions=(), usage={})


def _size(shown: Shown) -> int:
    return _OVERHEAD + 2 * (len(shown.text) + len(shown.summary.text))


def raw_ranges(view: View, next_seq: int) -> Iterator[tuple[int, int, int]]:
    """Give (number of the segment, first seq, last seq) of every range that is shown as itself."""
    for number, segment in enumerate(view.segments):
        if isinstance(segment, Raw):
            yield number, segment.first, segment.last
        elif isinstance(segment, Tail) and segment.first < next_seq:
            yield number, segment.first, next_seq - 1


def pinned(connection: Connection, key: ThreadKey, view: View, next_seq: int) -> list[tuple[Place, Fact]]:
    """Give the leading system and developer messages of a view."""
    found: list[tuple[Place, Fact]] = []
    for number, first, last in raw_ranges(view, next_seq):
        if any(isinstance(segment, SummaryRef) for segment in view.segments[:number]):
            return found
        batch = 4  # as a rule there are one or two
        while first <= last:
            facts = facts_between(connection, key, first, min(last, first + batch - 1))
            for fact in facts:
                if fact.role not in PINNED_ROLES:
                    return found
                found.append(((number, fact.seq), fact))
            first, batch = first + batch, _BATCH
    return found


def newest_request(connection: Connection, key: ThreadKey, view: View, next_seq: int) -> tuple[Place, Fact] | None:
    """Give the newest message that a person sent and that stands in the view as itself."""
    ranges = list(raw_ranges(view, next_seq))
    for number, first, last in reversed(ranges):
        for fact in requests_before(connection, key, last + 1, limit=1):
            if fact.seq >= first:
                return (number, fact.seq), fact
    return None


def newest_messages(
    connection: Connection, key: ThreadKey, view: View, next_seq: int, *, tokens: int, count: int | None = None
) -> list[tuple[Place, Fact]]:
    """Give the newest messages that stand in the view as themselves, in view order, until they have ``tokens`` or are ``count``.

    The unit of the newest one is whole, however long it is.
    """
    ranges = list(raw_ranges(view, next_seq))
    found: dict[Place, Fact] = {}
    spent = 0
    for place, fact in _newest_first(connection, key, ranges):
        if not found:
            members = {member.seq: member for member in unit_members(connection, key, fact.unit)}
            found = {(n, seq): members[seq] for n, first, last in ranges for seq in members if first <= seq <= last}
            spent = sum(member.tokens for member in found.values())
        elif place not in found:
            found[place] = fact
            spent += fact.tokens
        if spent > tokens or (count is not None and len(found) >= count):
            break
    return sorted(found.items())


def _newest_first(connection: Connection, key: ThreadKey, ranges: Sequence[tuple[int, int, int]]) -> Iterator[tuple[Place, Fact]]:
    for number, first, last in reversed(ranges):
        while last >= first:
            for fact in newest_facts(connection, key, first, last, limit=_BATCH):
                yield (number, fact.seq), fact
            last -= _BATCH
