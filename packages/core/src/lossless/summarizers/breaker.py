"""The circuit breaker of one model route: when it may be called again after it failed. Pure: the clock and chance are given.

Closed: calls go through. Open: after some failures in a row none does, for a while that doubles each time. Half-open: the while
is over, and one call goes through as a probe; its success closes the breaker, its failure opens it for longer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from lossless.errors import ConfigError

__all__ = ["CLOSED", "BreakerRules", "BreakerState", "Phase", "admitted", "failed", "phase_of", "wait_of"]

Phase = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerRules:
    """When the breaker opens and for how long.

    Attributes:
        failures: so many in a row open it.
        wait: seconds that it is open for the first time.
        longest_wait: seconds that it is open at the most, however often it opened in a row.
        probe: seconds after which a probe that never came back is taken for a failed one.
    """

    failures: int = 3
    wait: float = 30.0
    longest_wait: float = 1_800.0
    probe: float = 120.0

    def __post_init__(self) -> None:
        if not (self.failures >= 1 and 0 < self.wait <= self.longest_wait and self.probe > 0):
            raise ConfigError(
                "these rules would never open the breaker, or never let it close",
                hint="failures >= 1, 0 < wait <= longest_wait and probe > 0",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerState:
    """What is known of a route: failures in a row, how often it opened in a row, and until when it is open or a probe is out."""

    failures: int = 0
    opened: int = 0
    until: float | None = None
    probing: float | None = None


CLOSED = BreakerState()
"""The state at the beginning, and after every call that succeeded."""


def phase_of(state: BreakerState, now: float) -> Phase:
    """Give the phase at a moment."""
    if state.until is None:
        return "closed"
    return "open" if now < max(state.until, state.probing or 0.0) else "half_open"


def wait_of(state: BreakerState, now: float) -> float:
    """Give the seconds until a call may go through; 0 where one may now."""
    return 0.0 if state.until is None else max(0.0, max(state.until, state.probing or 0.0) - now)


def admitted(state: BreakerState, now: float, rules: BreakerRules) -> BreakerState:
    """Note that a call goes out: in the half-open phase it is the probe, and until it is back there is no other."""
    return replace(state, probing=now + rules.probe) if phase_of(state, now) == "half_open" else state


def failed(state: BreakerState, now: float, rules: BreakerRules, chance: float) -> BreakerState:
    """Note a call that failed.

    Args:
        state: before it.
        now: on the same clock as always.
        rules: of the breaker.
        chance: a random number from 0 to 1; it spreads the waiting over its upper half, so that many processes don't come back at
            once.
    """
    failures = state.failures + 1
    if state.probing is None and phase_of(state, now) == "open":
        return replace(state, failures=failures)  # a call by hand, or one that was out when it opened: it is open already
    if state.until is None and failures < rules.failures:
        return replace(state, failures=failures)
    wait = min(rules.longest_wait, rules.wait * 2.0 ** min(state.opened, 60))
    return BreakerState(failures=failures, opened=state.opened + 1, until=now + wait * (0.5 + chance / 2))
