"""What removals give back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import overload

from lossless.store.erasures import Tombstone

__all__ = ["Collected", "Erasure", "Removal", "Retention", "Tombstone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure(Sequence[Tombstone]):
    """What an erasure left: a sequence of tombstones.

    Attributes:
        tombstones: one for each erased message, and for each of its revisions.
        threads: every thread that showed one of them: the thread itself, those it comes from, and branches.
        pending: what is left to do until nothing of it stands in the files any more, in words; empty when that is done.
    """

    tombstones: tuple[Tombstone, ...]
    threads: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()

    @property
    def purge(self) -> str:
        """``done`` or ``pending``: whether the bytes are gone from the files of the database."""
        return "pending" if self.pending else "done"

    def __len__(self) -> int:
        return len(self.tombstones)

    def __iter__(self) -> Iterator[Tombstone]:
        return iter(self.tombstones)

    @overload
    def __getitem__(self, index: int) -> Tombstone: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Tombstone, ...]: ...
    def __getitem__(self, index: int | slice) -> Tombstone | tuple[Tombstone, ...]:
        """Give a tombstone, or several."""
        return self.tombstones[index]


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """The record of a removal: its number in the namespace, what was done, in which thread, by whom, why, when, how many rows.

    ``purged_at``: when nothing of it was left in the files; None: that is pending.
    """

    number: int
    kind: str
    thread_id: str | None
    who: str
    reason: str
    rows: int
    at: datetime
    purged_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """How many rows were collected, or would be: rows that no head, log, snapshot or branch leads to.

    Attributes:
        threads: deleted threads that no other thread comes from.
        rows: rows of each kind, those of the threads among them.
        dry_run: whether it was only counted.
        pending: what is left to do in the files, in words.
    """

    threads: tuple[str, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)
    dry_run: bool = False
    pending: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Rows of all kinds."""
        return sum(self.rows.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What a retention policy removed, or would.

    Attributes:
        threads: the threads that went out of lists, views and search.
        kept: those among them whose rows stay in the store, since a thread that stays comes from them, with one that does.
        collected: what was removed from the store with them.
        dry_run: whether it was only looked at.
    """

    threads: tuple[str, ...]
    kept: dict[str, str]
    collected: Collected
    dry_run: bool = False
