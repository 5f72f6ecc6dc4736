"""Budget: how many tokens a context may have, and from where on it is compacted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lossless.errors import ConfigError
from lossless.tokens import ModelInfo, find_model

__all__ = ["MAX_RESERVE", "MIN_CHUNK", "SOFT_SHARE", "TARGET_SHARE", "Budget", "Limits", "budget_for"]

MAX_RESERVE = 20_000
"""Tokens kept for the answer at the most; a quarter of the window if that is less (LCM reference implementation)."""
SOFT_SHARE = 0.60
"""Share of the window, overhead included, from which compaction begins (LCM paper)."""
MIN_CHUNK = 256
"""Tokens below which summarising gains nothing to speak of, since a summary's frame alone has about 60."""
TARGET_SHARE = 0.75
"""Share of soft that a compaction works down to, so that prefixes change rarely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A budget worked out, all in tokens.

    Attributes:
        hard: the most that a rendered context may have.
        soft: above it, compaction runs in the background.
        target: what a compaction works down to.
        tail: the most that the fresh tail may have.
        chunk: the most that one leaf is made from.
    """

    hard: int
    soft: int
    target: int
    tail: int
    chunk: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a context may cost, in tokens.

    Attributes:
        window: the model's context window.
        overhead: system prompt and tool schemas that the caller adds to the context.
        reserve: kept for the answer; None: the smaller of 20 000 and a quarter of the window.
        soft: None: 60 % of the window less the overhead; one above hard is hard, as compaction begins there at the latest.
        hard: None: window less overhead, reserve and margin.
        fresh_tail: how many of the newest messages are not summarised while anything else can be.
        margin: share of the window that is kept for counting errors; None: 1 % where counting is exact for the model, else 15 %.
    """

    window: int
    overhead: int = 0
    reserve: int | None = None
    soft: int | None = None
    hard: int | None = None
    fresh_tail: int = 32
    margin: float | None = None

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ConfigError(f"a window of {self.window} tokens can't hold anything", hint="give the model's window")
        for name in ("overhead", "reserve", "soft", "hard", "fresh_tail"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ConfigError(f"{name} can't be negative, it is {value}", hint="give a number of tokens")
        if self.margin is not None and not 0 <= self.margin < 1:
            raise ConfigError(f"a margin of {self.margin} leaves nothing, or more than there is", hint="give 0.05 for 5 %")

    def adjusted(self, *, overhead: int = 0, reserve: int | None = None) -> Budget:
        """Give the budget of one call: ``overhead`` comes on top, ``reserve`` instead."""
        return replace(self, overhead=self.overhead + overhead, reserve=self.reserve if reserve is None else reserve)

    @staticmethod
    def usual_reserve(window: int) -> int:
        """Give what is kept for the answer unless something else is asked for, in tokens."""
        return min(MAX_RESERVE, window // 4)

    def limits(self, margin: float = 0.01) -> Limits:
        """Work out the thresholds; ``margin`` stands where the budget names none."""
        reserve = self.usual_reserve(self.window) if self.reserve is None else self.reserve
        share = self.margin if self.margin is not None else margin
        room = int((self.window - self.overhead - reserve) * (1 - share))
        hard = self.hard if self.hard is not None else max(0, room)
        wanted = self.soft if self.soft is not None else max(0, int(SOFT_SHARE * self.window) - self.overhead)
        soft = min(wanted, hard)
        return Limits(
            hard=hard,
            soft=soft,
            target=int(TARGET_SHARE * soft),
            tail=soft // 4,
            chunk=max(MIN_CHUNK, min(20_000, soft // 4)),
        )


def budget_for(
    window: int | None, model: str | None, budget: Budget | None, models: Callable[[], Sequence[ModelInfo]]
) -> Budget | None:
    """Give the budget that is meant by a window, a known model, or a budget; None if none of them is given.

    Raises:
        ConfigError: they contradict each other, or nobody knows the model.
    """
    if budget is not None:
        if window is not None:
            raise ConfigError("window and budget contradict each other", hint="give the window inside the Budget")
        return budget
    if window is not None:
        return Budget(window=window)
    if model is None:
        return None
    found = find_model(model, models())
    if found is None:
        raise ConfigError(f"the model {model!r} is not known", hint="give window= as well, or a lossless_models plugin")
    unusable = found.window - (found.max_input or found.window)
    return Budget(window=found.window, reserve=max(unusable, Budget.usual_reserve(found.window)))
