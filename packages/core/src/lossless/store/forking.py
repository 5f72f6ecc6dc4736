"""Forking: no thread is inside the database while its process forks.

A fork copies only the thread that forks. What another thread held at that moment, locks inside SQLite among it, would be held in
the child for ever. So a fork waits until nobody uses the database, and nobody begins to until it has happened.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType

__all__ = ["ForkGate"]

_LONGEST_WAIT = 5.0
"""Seconds that a fork waits for those inside; one that takes longer keeps what it holds from the child, but not the parent from
forking."""


class _Depth(threading.local):
    """How often a thread is inside."""

    depth = 0


class ForkGate:
    """Lets any number of threads in (``with gate:``), and none while the process forks.

    Args:
        after_fork: called in the child, before anything else.
    """

    def __init__(self, after_fork: Callable[[], None]) -> None:
        self._after_fork = after_fork
        self._reset()
        _gates.add(self)

    def __enter__(self) -> None:
        """Be inside; a thread may be so several times at once."""
        own = self._own
        if own.depth == 0:
            with self._changed:
                while self._forking:
                    self._changed.wait()
                self._inside += 1
        own.depth += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        own = self._own
        if own.depth == 0:  # this is a child that was forked inside, where everything began anew
            return
        own.depth -= 1
        if own.depth == 0:
            with self._changed:
                self._inside -= 1
                if self._forking:
                    self._changed.notify_all()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._own = _Depth()
        self._inside = 0
        self._forking = False

    def _shut(self) -> None:
        deadline = time.monotonic() + _LONGEST_WAIT
        own = 1 if self._own.depth else 0
        with self._changed:
            self._forking = True
            while self._inside > own and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)

    def _open(self) -> None:
        with self._changed:
            self._forking = False
            self._changed.notify_all()

    def _open_in_child(self) -> None:
        self._reset()
        self._after_fork()


_gates: weakref.WeakSet[ForkGate] = weakref.WeakSet()
_shut: list[ForkGate] = []


def _before_fork() -> None:
    _shut.extend(_gates)
    for gate in _shut:
        gate._shut()


def _after_fork_in_parent() -> None:
    while _shut:
        _shut.pop()._open()


def _after_fork_in_child() -> None:
    while _shut:
        _shut.pop()._open_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
