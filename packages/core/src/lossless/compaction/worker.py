"""The background worker: a few threads, alive only while there is something to do, and at most one job waiting for each key."""

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
_AT_ONCE = 4


class Worker:
    """Runs jobs, those of one key one after the other. A job for a key that waits already replaces it.

    Args:
        waits: whether jobs wait for something, such as a model: then four run at once, so that a slow answer for one thread keeps
            no other above soft; else one, for they would only take the processor from callers.
    """

    def __init__(self, waits: Callable[[], bool] = lambda: False) -> None:
        self._waits = waits
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._waiting: OrderedDict[Hashable, Callable[[], object]] = OrderedDict()
        self._running: set[Hashable] = set()
        self._threads: set[threading.Thread] = set()
        self._closed = False

    def schedule(self, key: Hashable, job: Callable[[], object]) -> None:
        """Run a job soon; never waits."""
        self._after_fork()
        with self._changed:
            if self._closed:
                return
            self._waiting[key] = job
            if key not in self._running and len(self._threads) < (_AT_ONCE if self._waits() else 1):
                thread = threading.Thread(target=self._work, name="lossless-worker", daemon=True)
                self._threads.add(thread)
                thread.start()

    def wait(self, key: Hashable, timeout: float | None = None) -> bool:
        """Wait until nothing runs or waits for a key; give whether that came about within ``timeout`` seconds."""
        self._after_fork()
        if threading.current_thread() in self._threads:
            return False  # a job, or a hook that it called, would wait for itself
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while key in self._waiting or key in self._running:
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
            while wait and self._threads and threading.current_thread() not in self._threads:
                self._changed.wait()

    def _work(self) -> None:
        while True:
            with self._changed:
                # What waits for a key whose job runs is taken by the thread that runs it.
                key = next((key for key in self._waiting if key not in self._running), None)
                if key is None:
                    self._threads.discard(threading.current_thread())
                    self._changed.notify_all()
                    return
                job = self._waiting.pop(key)
                self._running.add(key)
            try:
                job()
            except ClosedError:
                _log.debug("background compaction dropped key=%s", key)
            except BaseException:  # a plugin may even exit; the thread must go on, or whoever waits for it waits for ever
                _log.exception("background compaction failed key=%s", key)
            with self._changed:
                self._running.discard(key)
                self._changed.notify_all()

    def _after_fork(self) -> None:
        """A forked child has no worker thread; what waited there is the parent's to do."""
        if self._pid != os.getpid():
            self.__init__(self._waits)  # type: ignore[misc]
