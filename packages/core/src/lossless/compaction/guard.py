"""The guard of the summarizer: a circuit breaker for each model route, and a spend limit.

The breaker's state is this engine's own: every process finds out by a handful of calls that a model is down. What was spent is in
the database: a limit holds across processes and restarts, because a call is counted before it is made.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, fields

from sqlalchemy import Connection

from lossless.errors import ConfigError
from lossless.locks import ForkLock
from lossless.policies.model import Usage
from lossless.store import times
from lossless.store.connection import Database
from lossless.store.spending import Spent, add_spent, lock_spending, spent
from lossless.summarizers.breaker import CLOSED, BreakerRules, BreakerState, Phase, admitted, failed, phase_of, wait_of

__all__ = ["Guard", "SpendLimit", "over_limit"]

_MILLION = 1_000_000
_ZERO = Usage(cost=0.0)

Tell = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendLimit:
    """What summarizers may take; None: without a limit.

    Attributes:
        hour_tokens: tokens read and written within an hour, by all threads of the namespace together.
        hour_cost: US dollars within an hour, likewise.
        thread_tokens: tokens read and written for one thread, ever.
        thread_cost: US dollars for one thread, ever.
    """

    hour_tokens: int | None = None
    hour_cost: float | None = None
    thread_tokens: int | None = None
    thread_cost: float | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and not value >= 0:
                raise ConfigError(f"the spend limit {each.name} is {value}", hint="a limit is 0 or more, or None")

    @property
    def is_set(self) -> bool:
        """Whether anything is limited."""
        return any(getattr(self, each.name) is not None for each in fields(self))

    @property
    def needs_prices(self) -> bool:
        """Whether money is limited."""
        return self.hour_cost is not None or self.thread_cost is not None


def over_limit(limit: SpendLimit, hour: Spent, thread: Spent) -> str | None:
    """Say which limit the sums are over, or None. Pure.

    Args:
        limit: the limit.
        hour: what the namespace has spent within the hour, the planned call included.
        thread: what the thread has spent, likewise.
    """
    checks = (
        ("tokens within an hour", hour.tokens, limit.hour_tokens),
        ("US dollars within an hour", hour.cost / _MILLION, limit.hour_cost),
        ("tokens for this thread", thread.tokens, limit.thread_tokens),
        ("US dollars for this thread", thread.cost / _MILLION, limit.thread_cost),
    )
    for what, value, most in checks:
        if most is not None and value > most:
            return f"the spend limit of {most:g} {what} would be passed ({value:g} with this call)"
    return None


class Guard:
    """Says whether a model may be called, and keeps count. One for each engine; any thread may ask.

    Args:
        database: where what was spent is counted.
        namespace: whose.
        rules: of the breakers.
        limit: on spending.
        tell: takes note of events: ``breaker.opened``, ``breaker.closed``, ``spend.refused``.
        clock: seconds that only go forward.
        chance: gives a random number from 0 to 1.
    """

    def __init__(
        self,
        database: Database,
        namespace: str,
        *,
        rules: BreakerRules | None = None,
        limit: SpendLimit | None = None,
        tell: Tell = lambda _name, **_facts: None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.limit = limit or SpendLimit()
        self._database = database
        self._namespace = namespace
        self._rules = rules or BreakerRules()
        self._tell = tell
        self._clock = clock
        self._chance = chance
        self._lock = ForkLock()
        self._routes: dict[str, BreakerState] = {}

    # The breaker

    def permits(self, route: str) -> bool:
        """Tell whether a call to a route would be let through now; asking changes nothing."""
        return self.seconds_until(route) <= 0

    def seconds_until(self, route: str) -> float:
        """Give the seconds until a call to a route may be let through; 0 where one may now."""
        with self._lock:
            return wait_of(self._routes.get(route, CLOSED), self._clock())

    def phase(self, route: str) -> Phase:
        """Give the phase of a route's breaker."""
        with self._lock:
            return phase_of(self._routes.get(route, CLOSED), self._clock())

    def admit(self, route: str, *, by_hand: bool = False) -> bool:
        """Let a call through, or not; one by hand always. Of a half-open breaker this is the probe."""
        with self._lock:
            now, state = self._clock(), self._routes.get(route, CLOSED)
            if wait_of(state, now) > 0:
                return by_hand
            self._routes[route] = admitted(state, now, self._rules)
            return True

    def succeeded(self, route: str) -> None:
        """Note that a route gave a summary that could be used."""
        with self._lock:
            before = self._routes.pop(route, CLOSED)
        if before.until is not None:
            self._tell("breaker.closed", thread_id=None, route=route)

    def failed(self, route: str) -> None:
        """Note that a route failed, or that nothing it gave could be used."""
        with self._lock:
            now, before = self._clock(), self._routes.get(route, CLOSED)
            after = self._routes[route] = failed(before, now, self._rules, self._chance())
        if after.until is not None and after.opened > before.opened:
            self._tell(
                "breaker.opened", thread_id=None, route=route, failures=after.failures, seconds=round(after.until - now, 1)
            )

    # Spending

    def reserve(self, thread_id: str, planned: Usage) -> str | None:
        """Count a call before it is made, or say why it may not be; without a limit nothing is counted yet.

        Args:
            thread_id: for which thread.
            planned: what it may take at the most.
        """
        if not self.limit.is_set:
            return None
        if self.limit.needs_prices and planned.cost is None:
            refusal: str | None = "money is limited, and the price of the model is not known"
        else:
            refusal = self._database.write(lambda connection: self._reserve(connection, thread_id, planned))
        if refusal is not None:
            self._tell("spend.refused", thread_id=thread_id, reason=refusal)
        return refusal

    def settle(self, thread_id: str, planned: Usage, taken: Usage | None) -> None:
        """Count what a call took, instead of what was planned; None: nothing is known of it, and what was planned stays."""
        reserved = planned if self.limit.is_set else _ZERO
        if taken is not None and taken != reserved:
            change = _minus(_stored(taken), _stored(reserved))
            self._database.write(lambda connection: add_spent(connection, self._namespace, thread_id, times.now(), change))

    def spent(self, thread_id: str | None = None) -> Usage:
        """Give what the calls for a thread took, or those of the whole namespace."""
        with self._database.read() as connection:
            found = spent(connection, self._namespace, thread_id=thread_id)
        cost = None if found.unpriced else found.cost / _MILLION
        return Usage(
            calls=found.calls,
            input_tokens=found.input_tokens,
            cached_tokens=found.cached_tokens,
            output_tokens=found.output_tokens,
            cost=cost,
        )

    def _reserve(self, connection: Connection, thread_id: str, planned: Usage) -> str | None:
        now = times.now()
        lock_spending(connection, self._namespace)
        row = _stored(planned)
        hour = _plus(spent(connection, self._namespace, hour_before=now), row)
        thread = _plus(spent(connection, self._namespace, thread_id=thread_id), row)
        refusal = over_limit(self.limit, hour, thread)
        if refusal is None:
            add_spent(connection, self._namespace, thread_id, now, row)
        return refusal


def _stored(usage: Usage) -> Spent:
    return Spent(
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        output_tokens=usage.output_tokens,
        cost=math.ceil((usage.cost or 0.0) * _MILLION),
        unpriced=usage.calls if usage.cost is None else 0,
    )


def _plus(one: Spent, other: Spent) -> Spent:
    return Spent(**{each.name: getattr(one, each.name) + getattr(other, each.name) for each in fields(Spent)})


def _minus(one: Spent, other: Spent) -> Spent:
    return Spent(**{each.name: getattr(one, each.name) - getattr(other, each.name) for each in fields(Spent)})
