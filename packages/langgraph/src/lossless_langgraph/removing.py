"""Which checkpoints may go: those that others are made from stay, hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lossless.checkpoints import Outline, Place

__all__ = ["Facts", "newest_of_each", "thinned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What deciding needs of a checkpoint: its delta channels, and which channels have a value in it."""

    delta: frozenset[str]
    valued: frozenset[str]


def newest_of_each(outlines: Sequence[Outline]) -> set[Place]:
    """Give the newest checkpoint of each namespace."""
    newest: dict[str, Place] = {}
    for one in outlines:
        place = one.place
        best = newest.get(place.checkpoint_ns)
        if not one.hidden and (best is None or best.checkpoint_id < place.checkpoint_id):
            newest[place.checkpoint_ns] = place
    return set(newest.values())


def thinned(outlines: Sequence[Outline], kept: set[Place], facts: Callable[[Outline], Facts]) -> tuple[set[Place], set[Place]]:
    """Give what of a thread's checkpoints is removed, and what is hidden, when only some are kept.

    The value of a delta channel is made of the writes since its last snapshot. So the checkpoints back to that are hidden.
    """
    by_place = {one.place: one for one in outlines}
    needed: set[Place] = set()
    for place in kept:
        found = facts(by_place[place])
        missing, cursor = found.delta - found.valued, _before(by_place[place], by_place)
        passed = {place}
        while missing and cursor is not None and cursor.place not in passed:
            passed.add(cursor.place)  # one that was put again after itself is its own parent
            missing = missing - facts(cursor).valued
            cursor = _before(cursor, by_place)
        needed |= passed
    hidden = needed - kept
    return set(by_place) - kept - needed, hidden


def _before(outline: Outline, by_place: dict[Place, Outline]) -> Outline | None:
    if outline.parent is None:
        return None
    place = outline.place
    return by_place.get(Place(thread_id=place.thread_id, checkpoint_ns=place.checkpoint_ns, checkpoint_id=outline.parent))
