"""A lock that a forked child finds free.

A fork copies only the thread that forks. A lock that another thread held at that moment would be held in the child for ever.
"""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

__all__ = ["ForkLock"]


class ForkLock:
    """Lets one thread in at a time (``with lock:``), which may be so several times at once.

    What it protects must be whole at any moment, since a child may find it as it was in the middle.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._lock.release()


_locks: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def _renew() -> None:
    for lock in list(_locks):
        if lock._lock.acquire(blocking=False):  # free, or held by the thread that forked
            lock._lock.release()
        else:
            lock._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
