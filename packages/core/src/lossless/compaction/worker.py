"""The background worker: one thread, alive only while there is something to do, and at most one job waiting for each key."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from lossless.errors import ClosedError

__all__ = ["Worker"]

_log = logging.getLogger("lossless")


class Worker:
    """Runs jobs one after the other. A job for a key that waits already replaces it; one for a key that runs is run once more."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._waiting: OrderedDict[Hashable, Callable[[], object]] = OrderedDict()
        self._running: Hashable = None
        self._thread: threading.Thread | None = None
        self._alive = False
        self._closed = False

    def schedule(self, key: Hashable, job: Callable[[], object]) -> None:
        """Run a job soon; never waits."""
        self._after_fork()
        with self._changed:
            if self._closed:
                return
            self._waiting[key] = job
            if not self._alive:
                self._alive = True
                self._thread = threading.Thread(target=self._work, name="lossless-worker", daemon=True)
                self._thread.start()

    def wait(self, key: Hashable, timeout: float | None = None) -> bool:
        """Wait until nothing runs or waits for a key; give whether that came about within ``timeout`` seconds."""
        self._after_fork()
        if threading.current_thread() is self._thread:
            return False  # a job, or a hook that it called, would wait for itself
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while key in self._waiting or key == self._running:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def close(self, *, wait: bool) -> None:
        """Take no more jobs. With ``wait``, finish what runs and waits; without, drop what waits and don't wait for what runs."""
        if self._pid != os.getpid():
            return
        with self._changed:
            self._closed = True
            if not wait:
                self._waiting.clear()
            while wait and self._alive and threading.current_thread() is not self._thread:
                self._changed.wait()

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._alive = False
                    self._changed.notify_all()
                    return
                key, job = self._waiting.popitem(last=False)
                self._running = key
            try:
                job()
            except ClosedError:
                _log.debug("background compaction dropped key=%s", self._running)
            except BaseException:  # a plugin may even exit; the thread must go on, or whoever waits for it waits for ever
                _log.exception("background compaction failed key=%s", self._running)
            with self._changed:
                self._running = None
                self._changed.notify_all()

    def _after_fork(self) -> None:
        """A forked child has no worker thread; what waited there is the parent's to do."""
        if self._pid != os.getpid():
            self.__init__()  # type: ignore[misc]
