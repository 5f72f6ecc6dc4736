"""The circuit breaker, as a pure machine: it opens on failures in a row, lets one probe through, and waits ever longer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossless.errors import ConfigError
from lossless.summarizers.breaker import CLOSED, BreakerRules, BreakerState, admitted, failed, phase_of, wait_of

RULES = BreakerRules(failures=3, wait=10.0, longest_wait=100.0, probe=60.0)


def after_failures(count: int, state: BreakerState = CLOSED, now: float = 0.0) -> BreakerState:
    for _ in range(count):
        state = failed(state, now, RULES, chance=1.0)
    return state


def test_failures_in_a_row_open_it_and_fewer_do_not() -> None:
    assert phase_of(after_failures(2), 0.0) == "closed"
    assert phase_of(after_failures(3), 0.0) == "open"
    assert wait_of(after_failures(3), 0.0) == 10.0


def test_a_probe_goes_out_alone_when_the_wait_is_over() -> None:
    state = after_failures(3)
    assert phase_of(state, 9.9) == "open"
    assert phase_of(state, 10.0) == "half_open"
    probing = admitted(state, 10.0, RULES)
    assert phase_of(probing, 10.0) == "open"
    assert wait_of(probing, 10.0) == 60.0


def test_a_probe_that_never_comes_back_is_followed_by_another() -> None:
    probing = admitted(after_failures(3), 10.0, RULES)
    assert phase_of(probing, 70.0) == "half_open"


def test_a_failed_probe_opens_it_for_twice_as_long_up_to_the_longest_wait() -> None:
    state, now, waits = after_failures(3), 0.0, []
    for _ in range(6):
        now += wait_of(state, now)
        state = failed(admitted(state, now, RULES), now, RULES, chance=1.0)
        waits.append(wait_of(state, now))
    assert waits == [20.0, 40.0, 80.0, 100.0, 100.0, 100.0]


def test_calls_that_were_out_when_it_opened_do_not_make_it_wait_longer() -> None:
    opened = after_failures(3)
    assert wait_of(after_failures(5, opened, now=1.0), 1.0) == wait_of(opened, 1.0)


def test_chance_spreads_the_wait_over_its_upper_half() -> None:
    least = failed(after_failures(2), 0.0, RULES, chance=0.0)
    assert wait_of(least, 0.0) == 5.0


@pytest.mark.parametrize(
    "wrong", [{"failures": 0}, {"wait": 0.0}, {"wait": 10.0, "longest_wait": 9.0}, {"probe": -1.0}, {"wait": float("nan")}]
)
def test_rules_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="breaker"):
        BreakerRules(**wrong)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.sampled_from(["call", "ok", "fail"]), st.floats(0, 50)), max_size=60))
def test_whatever_happens_it_lets_somebody_try_again_within_the_longest_wait(steps: list[tuple[str, float]]) -> None:
    state, now = CLOSED, 0.0
    for what, later in steps:
        now += later
        if what == "call":
            state = admitted(state, now, RULES)
        else:
            state = CLOSED if what == "ok" else failed(state, now, RULES, chance=0.5)
        assert 0.0 <= wait_of(state, now) <= max(RULES.longest_wait, RULES.probe)
        assert (wait_of(state, now) > 0) == (phase_of(state, now) == "open")
