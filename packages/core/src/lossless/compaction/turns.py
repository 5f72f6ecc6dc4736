"""Turns: one compaction, or other work, on a thread at a time: by a lock in a process, by a lease in the database across them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from lossless.errors import ClosedError, StoreError
from lossless.store import times
from lossless.store.connection import Database
from lossless.store.keys import ThreadKey
from lossless.store.leases import forget_holder, holder_name, release_lease, take_lease

__all__ = ["Turn", "Turns"]

_PAUSE = 0.02
"""Seconds after which a lease that somebody else holds is looked at again; ever longer, up to ``_LONGEST_PAUSE``."""
_LONGEST_PAUSE = 0.5


@dataclass(slots=True)
class _Place:
    """The lock of a thread, and how many hold it or wait for it."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    users: int = 0
    depth: int = 0


class Turn:
    """A turn that was taken. ``renew`` holds its lease longer when half of it has passed."""

    def __init__(self, turns: Turns, key: ThreadKey, seconds: float) -> None:
        self._turns = turns
        self._key = key
        self._seconds = seconds
        self._taken = time.monotonic()

    def renew(self) -> None:
        """Hold the lease longer, if it is about to end; losing it is not noticed before promotion, which is safe without it."""
        if time.monotonic() - self._taken > self._seconds / 2:
            self._taken = time.monotonic()
            self._turns.take(self._key, self._seconds)


class Turns:
    """Gives out turns. One for each engine.

    Args:
        database: where the leases are.
        seconds: how long a lease lasts: longer than any single step of the work.
        work: which work it is.
    """

    def __init__(self, database: Database, seconds: float, work: str = "compaction") -> None:
        self._database = database
        self._seconds = seconds
        self._work = work
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._places: dict[ThreadKey, _Place] = {}
        self._holder = holder_name()

    def close(self) -> None:
        """Leave what is still taken to others: nothing that goes on here can be promoted any more."""
        forget_holder(self._holder)

    @contextmanager
    def taken(self, key: ThreadKey, patience: float) -> Iterator[Turn | None]:
        """Take a thread's turn: wait ``patience`` seconds for whoever has it, in this process or another.

        Gives None when it was not given back in time. Whoever has a turn may take it again.
        """
        if self._pid != os.getpid():
            self._begin()  # a lock that was held when a child was forked would never be given back there
        until = time.monotonic() + patience
        with self._lock:
            place = self._places.setdefault(key, _Place())
            place.users += 1
        mine = leased = False
        try:
            mine = place.lock.acquire(timeout=patience)
            place.depth += mine
            leased = mine and (place.depth > 1 or self._leased(key, until))
            yield Turn(self, key, self._seconds) if leased else None
        finally:
            try:
                if leased and place.depth == 1:
                    with suppress(StoreError, ClosedError):  # what was done is done; one that is not given back ends by itself
                        self._database.write(lambda connection: release_lease(connection, key, self._work, self._holder))
            finally:
                place.depth -= mine
                if mine:
                    place.lock.release()
                with self._lock:
                    place.users -= 1
                    if not place.users:
                        self._places.pop(key, None)

    def take(self, key: ThreadKey, seconds: float) -> bool:
        """Take or keep the lease of a thread; give whether this engine has it."""
        return self._database.write(
            lambda connection: take_lease(connection, key, self._work, self._holder, times.now(), seconds)
        )

    def _leased(self, key: ThreadKey, until: float) -> bool:
        pause = _PAUSE
        while not self.take(key, self._seconds):
            if time.monotonic() >= until:
                return False
            time.sleep(min(pause, max(0.0, until - time.monotonic())))
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True
