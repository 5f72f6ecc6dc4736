"""Planning: which block is compacted next."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from lossless.compaction.plan import FAN_IN, MIN_BLOCK, Block, Element, Run, decide, whole_units
from lossless.context.budget import Budget, Limits
from lossless.dag.segments import SummaryRef
from lossless.dag.splice import Source
from lossless.store.read import Fact


@dataclass(frozen=True)
class Standin:
    """The facts that a plan asks of a message."""

    seq: int
    tokens: int
    unit: int
    total_tokens: int = 0


LIMITS = Budget(window=8_000).limits()


def facts(rows: list[tuple[int, int, int]]) -> tuple[Fact, ...]:
    return cast("tuple[Fact, ...]", tuple(Standin(*row) for row in rows))


@st.composite
def plans(draw: st.DrawFn) -> list[Element]:
    """Give surveys: runs of messages in units, summaries of several depths, and places where something stands in the way."""
    elements: list[Element] = []
    seq = 1
    for number, kind in enumerate(draw(st.lists(st.sampled_from(["run", "summary", "summary", "wall"]), max_size=16))):
        if kind == "wall":
            elements.append(None)
        elif kind == "summary":
            depth = draw(st.integers(0, 2))
            elements.append(SummaryRef(f"sum_{number}", depth, draw(st.integers(60, 900)), 5, draw(st.booleans())))
        else:
            rows: list[tuple[int, int, int]] = []
            for _ in range(draw(st.integers(1, 12))):
                unit = draw(st.sampled_from([seq, *(row[2] for row in rows[-3:])]))
                rows.append((seq, draw(st.sampled_from([1, 30, 200, 2_500])), unit))
                seq += 1
            elements.append(Run(facts(rows)))
    return elements


def standing_together(elements: list[Element], block: Block) -> bool:
    """Tell whether a block's sources follow each other in the survey without anything between."""
    flat: list[object] = []
    for element in elements:
        if isinstance(element, Run):
            flat.extend(fact.seq for fact in element.facts)
        else:
            flat.append(element.id if element is not None else None)
    names = list(block.names)
    return any(flat[start : start + len(names)] == names for start in range(len(flat)))


@given(plans(), st.none() | st.integers(1, 6_000), st.booleans())
def test_a_block_is_a_contiguous_run_of_whole_units_or_of_summaries(
    elements: list[Element], excess: int | None, over_hard: bool
) -> None:
    block = decide(elements, limits=LIMITS, excess=excess, over_hard=over_hard, is_refused=lambda block: False)
    if block is None:
        return
    assert standing_together(elements, block)
    assert block.tokens >= MIN_BLOCK or block.depth > 0
    taken = set(block.names)
    for element in elements:
        if isinstance(element, Run):
            units = {fact.unit for fact in element.facts if fact.seq in taken}
            assert all(fact.seq in taken for fact in element.facts if fact.unit in units)
    summaries = [source for source in block.sources if isinstance(source, SummaryRef)]
    assert over_hard or len({ref.depth for ref in summaries}) <= 1
    assert not any(ref.degraded for ref in summaries)
    assert not summaries or len(summaries) >= (FAN_IN if excess is None else 2)


@given(plans(), st.none() | st.integers(1, 6_000), st.booleans())
def test_what_was_refused_is_never_chosen_again_and_refusing_all_ends(
    elements: list[Element], excess: int | None, over_hard: bool
) -> None:
    refused: set[tuple[int | str, ...]] = set()
    while True:
        block = decide(
            elements, limits=LIMITS, excess=excess, over_hard=over_hard, is_refused=lambda block: block.names in refused
        )
        if block is None:
            break
        assert block.names not in refused
        refused.add(block.names)
        assert len(refused) < 200


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 4)), max_size=20))
def test_stretches_hold_whole_units_in_order_and_can_not_be_made_smaller(rows: list[tuple[int, int]]) -> None:
    run = facts([(seq, tokens, max(0, seq - back)) for seq, (tokens, back) in enumerate(rows)])
    stretches = whole_units(run)
    assert [fact for stretch in stretches for fact in stretch] == list(run)
    for one, other in pairwise(stretches):
        assert {fact.unit for fact in one}.isdisjoint(fact.unit for fact in other)
    for stretch in stretches:
        for cut in range(1, len(stretch)):
            assert not {fact.unit for fact in stretch[:cut]}.isdisjoint(fact.unit for fact in stretch[cut:])


def test_the_oldest_messages_are_compacted_first() -> None:
    elements: list[Element] = [Run(facts([(seq, 100, seq) for seq in range(1, 100)]))]
    block = decide(elements, limits=LIMITS, excess=5_000, over_hard=False, is_refused=lambda block: False)
    assert block is not None
    assert block.names[0] == 1
    assert LIMITS.chunk // 2 < block.tokens <= LIMITS.chunk


def test_the_last_chunk_is_no_larger_than_what_meets_the_target() -> None:
    elements: list[Element] = [Run(facts([(seq, 50, seq) for seq in range(1, 200)]))]
    block = decide(elements, limits=LIMITS, excess=100, over_hard=False, is_refused=lambda block: False)
    assert block is not None
    assert block.tokens <= max(2 * MIN_BLOCK, LIMITS.chunk // 4)


def test_four_summaries_of_one_depth_are_condensed_and_two_to_meet_the_target() -> None:
    three: list[Element] = [SummaryRef(f"sum_{n}", 0, 300, 5) for n in range(3)]

    def chosen(elements: list[Element], excess: int | None) -> Block | None:
        return decide(elements, limits=LIMITS, excess=excess, over_hard=False, is_refused=lambda block: False)

    assert chosen(three, None) is None
    found = chosen(three, 500)
    assert found is not None
    assert found.depth == 1
    found = chosen([*three, SummaryRef("sum_3", 0, 300, 5)], None)
    assert found is not None
    assert len(found.sources) == 4


def test_summaries_of_different_depths_are_condensed_above_hard_only_and_the_newest_first() -> None:
    mixed: list[Element] = [SummaryRef(f"sum_{depth}", depth, 300, 5) for depth in (3, 2, 1, 0)]

    def chosen(over_hard: bool) -> Block | None:
        limits = Limits(hard=1_000, soft=600, target=450, tail=150, chunk=256)
        return decide(mixed, limits=limits, excess=500, over_hard=over_hard, is_refused=lambda block: False)

    assert chosen(False) is None
    found = chosen(True)
    assert found is not None
    assert found.names == ("sum_1", "sum_0")
    assert found.depth == 2


def test_degraded_summaries_are_never_condensed() -> None:
    elements: list[Element] = [SummaryRef(f"sum_{n}", 0, 300, 5, degraded=True) for n in range(8)]
    assert decide(elements, limits=LIMITS, excess=500, over_hard=True, is_refused=lambda block: False) is None


def test_few_messages_left_between_summaries_are_taken_along() -> None:
    elements: list[Element] = [SummaryRef(f"sum_{n}", 0, 300, 5) for n in range(2)]
    elements += [Run(facts([(40, 20, 40)])), *(SummaryRef(f"sum_{n}", 0, 300, 5) for n in range(2, 4))]
    block = decide(elements, limits=LIMITS, excess=500, over_hard=False, is_refused=lambda block: False)
    assert block is not None
    assert block.names == ("sum_0", "sum_1", 40, "sum_2", "sum_3")


def test_nothing_is_compacted_where_nothing_is_worth_it() -> None:
    few: list[Element] = [Run(facts([(1, 20, 1), (2, 30, 2)])), None, SummaryRef("sum_0", 0, 100, 5)]
    for excess in (None, 400):
        assert decide(few, limits=LIMITS, excess=excess, over_hard=True, is_refused=lambda block: False) is None


def test_a_unit_larger_than_a_chunk_is_compacted_whole() -> None:
    limits = Limits(hard=1_000, soft=600, target=450, tail=150, chunk=256)
    elements: list[Element] = [Run(facts([(seq, 400, 1) for seq in range(1, 6)]))]
    block = decide(elements, limits=limits, excess=300, over_hard=False, is_refused=lambda block: False)
    assert block is not None
    assert block.names == (1, 2, 3, 4, 5)
    assert all(isinstance(source, Source) for source in block.sources)
