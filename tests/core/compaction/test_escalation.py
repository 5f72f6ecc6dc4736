"""Escalation: which note is accepted at which level, without any I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossless.compaction.escalation import LAST_TARGET, SILENT, Ask, Outcome, escalate, targets
from lossless.policies.model import Note, Regime

FRAME = 60
REGIMES = get_args(Regime)


def count(note: Note) -> int:
    """Count a note rendered, with a word as a token."""
    return FRAME + len(note.text.split())


def words(number: int, regime: Regime = "correctable") -> Note:
    return Note(text="word " * number, kept=0, total=0, regime=regime)


def run(size: int, answer: Callable[[Ask], Note | Exception], *, may_be_silent: bool = False) -> tuple[Outcome, list[Ask]]:
    asked: list[Ask] = []
    steps = escalate(targets(size, 0, FRAME, 20_000), size, count, may_be_silent=may_be_silent)
    try:
        ask = next(steps)
        while True:
            asked.append(ask)
            ask = steps.send(answer(ask))
    except StopIteration as stop:
        return stop.value, asked


def scripted(answers: Sequence[Note | Exception]) -> Callable[[Ask], Note | Exception]:
    left = iter(answers)
    return lambda ask: next(left, RuntimeError("no more"))


NOTES = st.one_of(
    st.builds(words, st.integers(0, 3_000), st.sampled_from(REGIMES)),
    st.sampled_from([RuntimeError("down"), TimeoutError(), Note(text=" \n\t", kept=0, total=0)]),
)


@given(st.integers(1, 5_000), st.lists(NOTES, max_size=12), st.booleans())
def test_an_accepted_note_is_not_blank_and_strictly_smaller_than_its_block(
    size: int, answers: list[Note | Exception], may_be_silent: bool
) -> None:
    outcome, asked = run(size, scripted(answers), may_be_silent=may_be_silent)
    assert [ask.level for ask in asked[:3]] == [1, 2, 3][: len(asked)]
    assert all(ask.target > 0 for ask in asked)
    if outcome.note is not None:
        assert outcome.note.text.strip()
        assert count(outcome.note) < size
        assert may_be_silent or outcome.level == 3 or outcome.note.regime not in SILENT
        assert len(outcome.rejected) == len(asked) - 1


@given(st.integers(FRAME + 2, 5_000))
def test_a_note_is_accepted_when_it_saves_a_token_and_not_when_it_saves_none(size: int) -> None:
    assert run(size, lambda ask: words(size - FRAME - 1))[0].level == 1
    assert run(size, lambda ask: words(size - FRAME))[0].note is None


@given(st.integers(1, 20_000), st.integers(0, 6), st.integers(0, 100_000))
def test_targets_leave_room_for_the_frame(size: int, depth: int, soft: int) -> None:
    sizes = targets(size, depth, FRAME, soft)
    assert 1 <= sizes.aggressive <= sizes.normal <= 2_400
    assert sizes.last >= 1
    for target in (sizes.normal, sizes.last):
        assert target + FRAME < size or target == 1
    assert sizes.last + FRAME <= LAST_TARGET


def test_targets_are_those_of_the_paper() -> None:
    assert targets(20_000, 0, FRAME, 120_000).normal == 2_400
    assert targets(1_000, 0, FRAME, 120_000).normal == 350
    assert targets(20_000, 1, FRAME, 120_000).normal == 2_000


def test_level_2_asks_for_half_of_level_1() -> None:
    _, asked = run(4_000, scripted([RuntimeError("down"), RuntimeError("down"), words(100)]))
    assert asked[1].target == asked[0].target // 2
    assert [ask.level for ask in asked] == [1, 2, 3]


def test_the_last_level_tries_with_less_until_it_is_smaller() -> None:
    outcome, asked = run(1_000, lambda ask: words(ask.target * 3) if ask.level == 3 else RuntimeError("down"))
    assert outcome.note is not None
    assert outcome.level == 3
    assert len(asked) > 3
    assert [ask.target for ask in asked[2:]] == sorted((ask.target for ask in asked[2:]), reverse=True)


@pytest.mark.parametrize("regime", SILENT)
def test_a_silent_note_is_rejected_unless_the_policy_is_a_control(regime: Regime) -> None:
    accepted, _ = run(4_000, lambda ask: words(50, regime), may_be_silent=True)
    assert (accepted.level, accepted.rejected) == (1, ())
    rejected, _ = run(4_000, lambda ask: words(50, regime if ask.level < 3 else "recoverable"))
    assert rejected.level == 3
    assert all(regime in why for why in rejected.rejected)


def test_a_block_as_small_as_its_frame_gets_no_note() -> None:
    outcome, asked = run(FRAME, lambda ask: words(1))
    assert outcome.note is None
    assert len(asked) < 20


def test_the_reason_of_each_rejection_is_kept() -> None:
    outcome, _ = run(500, scripted([ValueError("broken"), Note(text="", kept=0, total=0), words(600), words(20)]))
    assert outcome.note is not None
    assert "broken" in outcome.rejected[0]
    assert "blank" in outcome.rejected[1]
    assert "tokens" in outcome.rejected[2]
