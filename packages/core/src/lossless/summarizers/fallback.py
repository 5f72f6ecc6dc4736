"""A chain of summarizers: the next one is asked when the one before fails."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from lossless.errors import ConfigError
from lossless.locks import ForkLock
from lossless.policies.model import Answer, Summarizer, SummarizeRequest, Usage
from lossless.summarizers.breaker import CLOSED, BreakerRules, BreakerState, admitted, failed, wait_of
from lossless.summarizers.calling import SummarizerError, call_here, models_of, route_of

__all__ = ["FallbackSummarizer"]


class FallbackSummarizer:
    """Asks summarizers in order until one answers; one that failed is left alone for a while, as by the engine's own breaker.

    Each may take its share of the time that is left: of 60 seconds the first of three has 20.

    Args:
        summarizers: in the order in which they are asked; sync or async ones.
        rules: of the breaker that each of them has.
        clock: seconds that only go forward.
        chance: gives a random number from 0 to 1.

    Raises:
        ConfigError: there are none.
    """

    def __init__(
        self,
        summarizers: Sequence[Summarizer],
        *,
        rules: BreakerRules | None = None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        if not summarizers:
            raise ConfigError("a chain of summarizers has none", hint="give at least one")
        self.summarizers = tuple(summarizers)
        self._routes = [f"{number}. {route_of(each)}" for number, each in enumerate(self.summarizers, 1)]
        self.route = " | ".join(self._routes)
        self.models = tuple(name for each in self.summarizers for name in models_of(each))
        self._rules = rules or BreakerRules(failures=2)
        self._clock = clock
        self._chance = chance
        self._lock = ForkLock()
        self._states: dict[int, BreakerState] = {}

    async def __call__(self, request: SummarizeRequest, /) -> Answer:
        """Write a summary.

        Raises:
            SummarizerError: all of them failed; it says why each did.
        """
        deadline = self._clock() + request.seconds
        order = self._order()
        problems: list[str] = []
        usage = Usage()
        late = False
        for place, at in enumerate(order):
            seconds = max(0.0, deadline - self._clock()) / (len(order) - place)
            self._begin(at)
            try:
                answer = await call_here(self.summarizers[at], replace(request, seconds=seconds), seconds)
            except SummarizerError as error:
                self._end(at, has_failed=True)
                problems.append(f"{self._routes[at]}: {error}")
                usage += error.usage or Usage()
                late = late or error.late
                continue
            self._end(at, has_failed=False)
            return replace(answer, usage=usage + answer.usage if answer.usage is not None else None)
        raise SummarizerError("; ".join(problems), usage=usage if usage.calls else None, late=late)

    def _order(self) -> list[int]:
        """Give those that may be asked; if there are none, all of them: whether to call at all is not decided here."""
        with self._lock:
            now = self._clock()
            waits = [wait_of(self._states.get(at, CLOSED), now) for at in range(len(self.summarizers))]
        ready = [at for at, wait in enumerate(waits) if wait <= 0]
        return ready or list(range(len(waits)))

    def _begin(self, at: int) -> None:
        with self._lock:
            self._states[at] = admitted(self._states.get(at, CLOSED), self._clock(), self._rules)

    def _end(self, at: int, *, has_failed: bool) -> None:
        with self._lock:
            before = self._states.get(at, CLOSED)
            self._states[at] = failed(before, self._clock(), self._rules, self._chance()) if has_failed else CLOSED
