"""The control loop without any I/O: how a compaction goes from step to step, whoever answers."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossless.compaction.control import Find, Mend, Standing, Write, decide_action, drive, work_down
from lossless.compaction.plan import Block
from lossless.context.budget import Budget
from lossless.dag.segments import SummaryRef
from lossless.dag.splice import Source

LIMITS = Budget(window=32_000).limits()
BLOCK = Block((Source(1, 1_000, 1_000),))
DEGRADED = [SummaryRef(f"sum_{n}", 0, 400, 9, degraded=True) for n in range(3)]


@dataclass
class Script:
    """Answers a compaction: each block saves ``saves`` tokens, until there are none, or until time is up."""

    tokens: int
    saves: int = 3_000
    blocks: int = 100
    seconds: int = 100
    mends: int = 0
    steps: list[Find | Write | Mend] = field(default_factory=list)

    def __call__(self, wanted: Find | Write | Mend) -> Standing:
        self.steps.append(wanted)
        self.seconds -= 1
        if isinstance(wanted, Mend):
            self.mends -= 1
            return Standing(self.tokens, made=self.mends >= 0)
        if self.seconds < 0:
            return Standing(self.tokens, spent=True)
        if isinstance(wanted, Find):
            return Standing(self.tokens, BLOCK if self.blocks else None)
        self.blocks -= 1
        self.tokens -= self.saves
        return Standing(self.tokens, made=True)


def test_it_works_down_from_above_soft_to_the_target_and_not_from_soft() -> None:
    script = Script(LIMITS.soft + 1)
    assert drive(work_down(script.tokens, LIMITS, 32, force=False), script) == "met"
    assert LIMITS.target - script.saves < script.tokens <= LIMITS.target
    script = Script(LIMITS.soft)
    assert drive(work_down(script.tokens, LIMITS, 32, force=False), script) == "met"
    assert script.steps == []


def test_forced_it_goes_on_until_nothing_is_found_and_looks_once_more() -> None:
    script = Script(9_000, saves=10, blocks=3)
    assert drive(work_down(script.tokens, LIMITS, 32, force=True), script) == "stuck"
    assert sum(isinstance(step, Write) for step in script.steps) == 3
    assert all(step.excess is None for step in script.steps if isinstance(step, Find))


def test_the_fresh_tail_yields_above_hard_and_only_there() -> None:
    above = Script(LIMITS.hard + 1, blocks=0)
    assert drive(work_down(above.tokens, LIMITS, 32, force=False), above) == "stuck"
    assert [step.tail for step in above.steps if isinstance(step, Find)] == [32, 16, 8, 4, 2, 1]
    below = Script(LIMITS.hard, blocks=0)
    assert drive(work_down(below.tokens, LIMITS, 32, force=False), below) == "stuck"
    assert [step.tail for step in below.steps if isinstance(step, Find)] == [32]


def test_degraded_summaries_are_mended_first_also_below_soft_and_a_failure_ends_that() -> None:
    script = Script(1_000, mends=9)
    assert drive(work_down(1_000, LIMITS, 32, force=False, degraded=DEGRADED), script) == "met"
    assert script.steps == [Mend(ref) for ref in DEGRADED]
    script = Script(1_000, mends=1)
    assert drive(work_down(1_000, LIMITS, 32, force=False, degraded=DEGRADED), script) == "met"
    assert script.steps == [Mend(ref) for ref in DEGRADED[:2]]


@given(st.integers(0, 60_000), st.integers(1, 9_000), st.integers(0, 60), st.integers(0, 80), st.booleans())
def test_it_ends_and_says_how(tokens: int, saves: int, blocks: int, seconds: int, force: bool) -> None:
    script = Script(tokens, saves, blocks, seconds)
    end = drive(work_down(tokens, LIMITS, 32, force=force), script)
    assert len(script.steps) <= 2 * (blocks + 1) + 14
    assert (end == "spent") <= (script.seconds < 0)
    if end == "met" and not force:
        assert script.tokens <= max(LIMITS.target, LIMITS.soft if not script.steps else 0)


@pytest.mark.parametrize(
    ("tokens", "facts", "wanted"),
    [
        (LIMITS.soft, {}, "nothing"),
        (LIMITS.soft + 1, {}, "background"),
        (LIMITS.soft + 1, {"background": False}, "nothing"),
        (LIMITS.soft + 1, {"undone": True}, "nothing"),
        (LIMITS.hard + 1, {"undone": True, "background": False}, "now"),
        (10, {"mendable": True}, "background"),
        (10, {"waiting": True}, "background"),
        (10, {"waiting": True, "background": False}, "nothing"),
    ],
)
def test_an_append_calls_for_what_the_thresholds_say(tokens: int, facts: dict[str, bool], wanted: str) -> None:
    assert decide_action(tokens, LIMITS, **{"background": True, **facts}) == wanted
