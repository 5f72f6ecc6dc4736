"""Selection: which entries of a view are shown when a budget can't hold all of them. Pure; it reads and renders nothing.

The order of preference: what is pinned and the newest request always; the newest units up to the fresh tail's share; the
summaries, newest first; more units, newest first, without a gap. Everything else is named by one omission line (invariant 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Entry", "Selection", "select"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that could be shown: a message (``unit`` names its unit) or a summary (``unit`` is None).

    ``place`` is its position in view order, ``tokens`` what it costs rendered, ``must`` whether it is pinned or the newest
    request.
    """

    place: int
    tokens: int
    unit: int | None = None
    must: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """Places that are shown, in view order, and the place of the newest unit's first message if that unit did not fit."""

    shown: tuple[int, ...]
    unfit: tuple[int, ...]


def select(entries: Sequence[Entry], room: int, tail: int) -> Selection:
    """Choose what is shown within ``room`` tokens; ``tail`` is the fresh tail's share. The omission line is not counted here."""
    shown = {entry.place for entry in entries if entry.must}
    left = room - sum(entry.tokens for entry in entries if entry.must)
    units = _newest_units([entry for entry in entries if entry.unit is not None])
    unfit: tuple[int, ...] = ()
    taken, spent = 0, 0
    for unit in units:
        cost = sum(entry.tokens for entry in unit if not entry.must)
        if cost > left or (spent + cost > tail and taken > 0):
            unfit = tuple(entry.place for entry in unit) if taken == 0 else ()
            break
        shown.update(entry.place for entry in unit)
        left, spent, taken = left - cost, spent + cost, taken + 1
    for entry in reversed(entries):
        if entry.unit is None and entry.place not in shown and entry.tokens <= left:
            shown.add(entry.place)
            left -= entry.tokens
    for unit in units[taken:] if not unfit else ():
        cost = sum(entry.tokens for entry in unit if not entry.must)
        if cost > left:
            break
        shown.update(entry.place for entry in unit)
        left -= cost
    return Selection(tuple(sorted(shown)), tuple(sorted(set(unfit) - shown)))


def _newest_units(messages: Sequence[Entry]) -> list[list[Entry]]:
    """Group messages into stretches that can be cut apart, newest first: a stretch holds whole units only."""
    last_of: dict[int, int] = {}
    for index, entry in enumerate(messages):
        assert entry.unit is not None
        last_of[entry.unit] = index
    groups: list[list[Entry]] = []
    current: list[Entry] = []
    until = -1
    for index, entry in enumerate(messages):
        assert entry.unit is not None
        current.append(entry)
        until = max(until, last_of[entry.unit])
        if index >= until:
            groups.append(current)
            current = []
    groups.reverse()
    return groups
