"""Mending: when a degraded summary is written again.

A model that is down is looked after by its breaker. What is kept here is which single summaries a model that is up could not
write, so that a block that no model gets right is not tried at every turn: again after twice as long each time, or once the model
has written twice as many others. A person who asks is answered at once, but not again and again for an unchanged thread.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from lossless.store.keys import ThreadKey

__all__ = ["Unmended"]

_FIRST_WAIT, _LONGEST_WAIT = 60.0, 3_600.0
_BY_HAND_WAIT = 30.0
"""Seconds after which a person who asks again for an unchanged thread gets another try."""
_KEEP = 4096


@dataclass(frozen=True, slots=True)
class _Failure:
    attempts: int
    at: float
    written: int


class Unmended:
    """Degraded summaries that could not be mended. ``clock`` gives seconds that only go forward."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[tuple[ThreadKey, str], _Failure] = OrderedDict()
        self._asked: OrderedDict[ThreadKey, tuple[object, float]] = OrderedDict()
        self._written = 0

    def may_try(self, key: ThreadKey, id: str) -> bool:
        """Tell whether a degraded summary may be tried again without being asked."""
        failure = self._failures.get((key, id))
        if failure is None:
            return True
        times: int = 2 ** min(failure.attempts - 1, 16)
        passed = self._clock() - failure.at
        return self._written - failure.written >= times or passed >= min(_LONGEST_WAIT, times * _FIRST_WAIT)

    def may_ask(self, key: ThreadKey, state: object) -> bool:
        """Tell whether a person's asking is answered by another try; ``state``: where the thread stands."""
        asked = self._asked.get(key)
        return asked is None or asked[0] != state or self._clock() - asked[1] >= _BY_HAND_WAIT

    def failed(self, key: ThreadKey, id: str) -> None:
        """Note that a summary could not be mended although its model is up."""
        before = self._failures.pop((key, id), None)
        attempts = before.attempts + 1 if before is not None else 1
        self._failures[key, id] = _Failure(attempts, self._clock(), self._written)
        while len(self._failures) > _KEEP:
            self._failures.popitem(last=False)

    def asked_in_vain(self, key: ThreadKey, state: object) -> None:
        """Note that a person asked, and that something could not be mended."""
        self._asked[key] = (state, self._clock())
        while len(self._asked) > _KEEP:
            self._asked.popitem(last=False)

    def written(self) -> None:
        """Note that a model wrote a summary that was accepted."""
        self._written += 1
