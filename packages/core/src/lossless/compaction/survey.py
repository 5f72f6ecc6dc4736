"""Surveying: reading what a plan is made from: what is protected, and the runs and summaries before the fresh tail."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from lossless.compaction.plan import Element, Run, whole_units
from lossless.context.budget import Limits
from lossless.context.entries import newest_messages, newest_request, pinned, raw_ranges
from lossless.dag.segments import Hidden, Raw, SummaryRef
from lossless.dag.view import View
from lossless.store.keys import ThreadKey
from lossless.store.read import Fact, facts_between, later_members

__all__ = ["Protected", "protect", "survey"]

_BATCH = 256
_LONGEST_UNIT = 8
"""How many times ``enough`` a run is read on for the sake of a unit that has not ended."""


@dataclass(frozen=True, slots=True)
class Protected:
    """What is not compacted: messages by seq, and units by name (their other members stay too)."""

    seqs: frozenset[int]
    units: frozenset[int]

    def holds(self, fact: Fact) -> bool:
        """Tell whether a message is protected."""
        return fact.seq in self.seqs or fact.unit in self.units


def protect(
    connection: Connection, key: ThreadKey, view: View, next_seq: int, open_units: Sequence[int], *, limits: Limits, tail: int
) -> Protected:
    """Find what a compaction leaves alone: pins, the newest request, and a fresh tail of at most ``tail`` messages, whole units.

    The tail has at most its share of tokens, but the newest unit is in it however long it is.
    """
    pins = [fact for _place, fact in pinned(connection, key, view, next_seq)]
    request = newest_request(connection, key, view, next_seq)
    newest = [fact for _place, fact in newest_messages(connection, key, view, next_seq, tokens=limits.tail, count=max(tail, 1))]
    kept = _newest_units(newest, limits.tail, max(tail, 1))
    units = {fact.unit for fact in kept}
    if kept:
        units.update(unit for unit in open_units if unit >= kept[0].unit)
    seqs = {fact.seq for fact in [*pins, *kept]} | ({request[1].seq} if request is not None else set())
    return Protected(frozenset(seqs), frozenset(units))


def survey(
    connection: Connection, key: ThreadKey, view: View, next_seq: int, protected: Protected, *, enough: int
) -> list[Element]:
    """Give what a view holds and may be compacted, oldest first; reading stops within a run of more than ``enough`` tokens."""
    elements: list[Element] = []
    run: list[Fact] = []
    tokens = 0
    stop_at: int | None = None
    members = _Members(connection, key, view, next_seq)
    for found in _walk(connection, key, view, next_seq):
        if isinstance(found, SummaryRef) or protected.holds(found):
            elements.extend(_elements(run, members, complete=True))
            elements.append(found if isinstance(found, SummaryRef) else None)
            run, tokens = [], 0
            if stop_at is not None:
                return elements
            continue
        run.append(found)
        tokens += found.tokens
        if tokens > enough and stop_at is None:
            stop_at = max((last for last in members.standing({fact.unit for fact in run})), default=0)
        if stop_at is not None and (found.seq >= stop_at or tokens > _LONGEST_UNIT * enough):
            return [*elements, *_elements(run, members, complete=False)]
    return [*elements, *_elements(run, members, complete=True)]


def _walk(connection: Connection, key: ThreadKey, view: View, next_seq: int) -> Iterator[SummaryRef | Fact]:
    for segment in view.segments:
        if isinstance(segment, SummaryRef):
            yield segment
        elif not isinstance(segment, Hidden):
            first = segment.first
            last = segment.last if isinstance(segment, Raw) else next_seq - 1
            while first <= last:
                yield from facts_between(connection, key, first, min(last, first + _BATCH - 1))
                first += _BATCH


class _Members:
    """Finds the members of units that stand in the view as themselves."""

    def __init__(self, connection: Connection, key: ThreadKey, view: View, next_seq: int) -> None:
        self._connection = connection
        self._key = key
        ranges = sorted((first, last) for _number, first, last in raw_ranges(view, next_seq))
        self._firsts = [first for first, _last in ranges]
        self._lasts = [last for _first, last in ranges]

    def standing(self, units: set[int]) -> dict[int, int]:
        """Give the seqs of the units' members that stand as themselves, with the unit of each."""
        members = {unit: unit for unit in units}
        members.update((fact.seq, fact.unit) for fact in later_members(self._connection, self._key, units))
        return {seq: unit for seq, unit in members.items() if self._stands(seq)}

    def _stands(self, seq: int) -> bool:
        index = bisect_right(self._firsts, seq) - 1
        return index >= 0 and seq <= self._lasts[index]


def _elements(run: Sequence[Fact], members: _Members, *, complete: bool) -> list[Element]:
    """Give a run as elements: units that have members elsewhere in the view are left alone."""
    if not run:
        return []
    here = {fact.seq for fact in run}
    torn = {unit for seq, unit in members.standing({fact.unit for fact in run}).items() if seq not in here}
    elements: list[Element] = []
    whole: list[Fact] = []
    for stretch in whole_units(run):
        if torn.isdisjoint(fact.unit for fact in stretch):
            whole.extend(stretch)
            continue
        if whole:
            elements.append(Run(tuple(whole)))
            whole = []
        elements.append(None)
    if whole:
        elements.append(Run(tuple(whole), complete))
    return elements


def _newest_units(newest: Sequence[Fact], tokens: int, count: int) -> list[Fact]:
    """Choose the fresh tail: whole units from the newest on, within its share of tokens and messages, at least one."""
    kept: list[Fact] = []
    spent = 0
    for stretch in reversed(whole_units(newest)):
        cost = sum(fact.tokens for fact in stretch)
        if kept and (spent + cost > tokens or len(kept) + len(stretch) > count):
            break
        kept = [*stretch, *kept]
        spent += cost
    return kept
