"""Gathering: whoever leads a shared commit waits a moment for those who are about to come."""

from __future__ import annotations

import threading
from collections.abc import Sized

__all__ = ["Gathering"]

_LONGEST = 0.02
"""Seconds; a commit that took longer had more to do than to wait for the disk."""


class Gathering:
    """How a leader waits for those who shared the commit before: as a rule they come again, each with its next write.

    Without it, who comes first commits alone, all others wait for that, and every second commit is of one. It waits no longer
    than that commit took, and not at all after a lone write.
    """

    __slots__ = ("_enough", "_seconds", "_wanted")

    def __init__(self) -> None:
        self._wanted, self._seconds = 1, 0.0
        self._enough: threading.Event | None = None

    def committed(self, count: int, seconds: float) -> None:
        """Note how many shared a commit, and how long it took."""
        self._wanted, self._seconds = count, min(seconds, _LONGEST)

    def noticed(self, waiting: int) -> None:
        """Let the leader go when there are as many as before; the caller holds the guard of the queue."""
        if self._enough is not None and waiting >= self._wanted:
            self._enough.set()

    def wait(self, guard: threading.Lock, queue: Sized) -> None:
        """Wait until as many have come as before, or for as long as their commit took."""
        if self._wanted <= 1:
            return
        with guard:
            if len(queue) >= self._wanted:
                return
            self._enough = enough = threading.Event()
        enough.wait(self._seconds)
        self._enough = None
