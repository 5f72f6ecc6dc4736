"""Budgets and the thresholds that are worked out of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossless.context.budget import Budget
from lossless.errors import ConfigError

SIZES = st.integers(1, 3_000_000)
MAYBE = st.none() | st.integers(0, 3_000_000)


def test_a_window_of_200_000_has_the_thresholds_that_are_documented() -> None:
    limits = Budget(window=200_000).limits(0.01)
    assert (limits.hard, limits.soft, limits.target) == (178_200, 120_000, 90_000)
    assert limits.tail == 30_000
    assert limits.chunk == 20_000


def test_what_is_given_is_taken_as_given() -> None:
    limits = Budget(window=1_000, soft=700, hard=900).limits()
    assert (limits.soft, limits.hard) == (700, 900)


def test_a_soft_threshold_above_hard_is_hard() -> None:
    limits = Budget(window=8_000, soft=7_000).limits()
    assert limits.soft == limits.hard < 7_000


@given(SIZES, st.integers(0, 3_000_000), MAYBE, MAYBE, MAYBE)
def test_thresholds_are_never_negative_and_the_target_is_below_both(
    window: int, overhead: int, reserve: int | None, soft: int | None, hard: int | None
) -> None:
    limits = Budget(window=window, overhead=overhead, reserve=reserve, soft=soft, hard=hard).limits()
    assert limits.hard >= 0
    assert limits.soft >= 0
    assert 0 <= limits.target <= min(limits.soft, limits.hard)
    assert 0 <= limits.tail <= min(limits.soft, limits.hard)
    assert limits.chunk > 0


@given(SIZES, st.integers(0, 100_000), st.integers(0, 100_000))
def test_overhead_and_reserve_of_a_call_come_off_what_a_context_may_have(window: int, overhead: int, reserve: int) -> None:
    limits = Budget(window=window).adjusted(overhead=overhead, reserve=reserve).limits(0.0)
    assert limits.hard == max(0, window - overhead - reserve)
    assert limits.soft <= limits.hard


def test_overhead_of_a_call_comes_on_top_of_the_budgets_own() -> None:
    budget = Budget(window=10_000, overhead=1_000, reserve=0)
    assert budget.adjusted(overhead=500).overhead == 1_500
    assert budget.adjusted().reserve == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"window": 0},
        {"window": -5},
        {"window": 9, "reserve": -1},
        {"window": 9, "overhead": -1},
        {"window": 9, "fresh_tail": -1},
        {"window": 9, "margin": 1.0},
        {"window": 9, "margin": -0.1},
        {"window": 9, "margin": float("nan")},
    ],
    ids=str,
)
def test_a_budget_that_makes_no_sense_is_refused_with_a_hint(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        Budget(**settings)
    assert caught.value.hint
