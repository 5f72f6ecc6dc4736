"""Following: how a thread comes to show what a state holds. Pure functions.

A state holds lists of messages, one for each captured channel. What stands in the thread already, in the same order, stays or is
shown again where it stands. From the first message on that the thread does not have there, everything is stored at its end. What
the state held before and holds no longer is hidden. What came into the thread another way is left alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

__all__ = ["Followed", "Row", "followed", "standing"]


@dataclass(frozen=True, slots=True)
class Row:
    """A message of a thread: what tells it from others is ``key``.

    Attributes:
        shown: whether the view shows or represents it.
        result: whether it is a tool's result. Those of one run have no order of their own: each is stored when its tool is done.
    """

    seq: int
    id: str
    key: bytes
    shown: bool
    result: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What has to be done.

    Attributes:
        stored: (list, index) of the messages that have to be stored, in order; a revision where a row of its id is shown.
        stands: the seqs of the rows that stand for a message of the state.
        hide: the seqs of rows that leave the view.
        show: the seqs of rows that are shown again.
    """

    stored: tuple[tuple[int, int], ...]
    stands: frozenset[int]
    hide: frozenset[int]
    show: tuple[int, ...]


def followed(
    rows: Sequence[Row],
    before: Sequence[Sequence[bytes]],
    now: Sequence[Sequence[bytes]],
    id_of: Callable[[int, int], str | None],
    held: Sequence[int] = (),
    left: Collection[int] = (),
) -> Followed:
    """Say how a thread comes to show a state.

    Args:
        rows: the thread's, by place.
        before: what the state held before, list by list: keys in order.
        now: what it holds now.
        id_of: gives the id of a message of the state, by list and index.
        held: for a list that only says what comes to the state, the seq up to which the thread has the state already; else 0.
        left: seqs of rows that the state says to hold no longer.
    """
    mine = set(left)
    for keys in before:
        mine.update(seq for seq in standing(rows, keys) if seq is not None)
    stored: list[tuple[int, int]] = []
    stands: set[int] = set()
    revised: set[int] = set()
    finder, ended = _Finder(rows), len(rows) + 1
    for track, keys in enumerate(now):
        upto = held[track] if held else 0
        at, used = finder.after(upto), set[int]()
        for index, key in enumerate(keys):
            beside = finder.shown(key) if upto else finder.beside(key, at, used) if at < ended else None
            if beside is not None:
                used.add(beside)
                stands.add(rows[beside].seq)
                continue
            found = finder.equal(key, at)
            if found is None:
                stored.append((track, index))
                id = id_of(track, index)
                found = finder.revised(id, 0 if upto else at)
                if found is None:
                    early = finder.revised(id, 0)
                    if early is not None and not upto:
                        mine.add(rows[early].seq)  # it came another way before what it follows in the state
                    at = ended  # whatever comes after it in the state comes after it in the thread
                    continue
                revised.add(rows[found].seq)
            else:
                stands.add(rows[found].seq)
            used.add(found)
            at = max(at, found + 1) if upto else found + 1
    shown = {row.seq for row in rows if row.shown}
    return Followed(
        stored=tuple(stored),
        stands=frozenset(stands | revised),
        hide=frozenset((mine & shown) - stands - revised),
        show=tuple(row.seq for row in rows if row.seq in stands and not row.shown),
    )


def standing(rows: Sequence[Row], keys: Sequence[bytes]) -> list[int | None]:
    """Say which shown rows stand for a list of messages, in order; None for those that none stands for."""
    finder = _Finder([row for row in rows if row.shown])
    found: list[int | None] = []
    at, used = 0, set[int]()
    for key in keys:
        beside = finder.beside(key, at, used)
        place = finder.equal(key, at) if beside is None else beside
        found.append(None if place is None else finder.rows[place].seq)
        if place is not None:
            used.add(place)
        at = at if place is None or beside is not None else place + 1
    return found


class _Finder:
    """Finds rows from a place on."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self._by_key: dict[bytes, list[int]] = {}
        self._by_id: dict[str, int] = {}
        for place, row in enumerate(rows):
            self._by_key.setdefault(row.key, []).append(place)
            if row.shown:
                self._by_id[row.id] = place

    def equal(self, key: bytes, at: int) -> int | None:
        """Give the first row of a key, rather one that is shown."""
        places = self._by_key.get(key, ())
        later = places[bisect_left(places, at) :] if places else ()
        return next((place for place in later if self.rows[place].shown), later[0] if later else None)

    def after(self, upto: int) -> int:
        """Give the place after the last row that is shown and has no higher seq."""
        return 1 + max((place for place, row in enumerate(self.rows) if row.shown and row.seq <= upto), default=-1)

    def shown(self, key: bytes) -> int | None:
        """Give a row of a key that is shown."""
        return next((place for place in self._by_key.get(key, ()) if self.rows[place].shown), None)

    def beside(self, key: bytes, at: int, used: Collection[int]) -> int | None:
        """Give the row of a key, not used yet, among the results that stand right before a place."""
        if at > len(self.rows):
            return None
        for place in range(at - 1, -1, -1):
            if not self.rows[place].result:
                return None
            if self.rows[place].key == key and self.rows[place].shown and place not in used:
                return place
        return None

    def revised(self, id: str | None, at: int) -> int | None:
        """Give the shown row of an id."""
        place = self._by_id.get(id) if id is not None else None
        return place if place is not None and place >= at else None
