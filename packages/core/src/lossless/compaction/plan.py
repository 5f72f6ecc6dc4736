"""Planning: what is compacted next. Pure; the survey that it decides on is read by ``lossless.compaction.survey``.

A block is a contiguous run of a view: messages for a leaf, or summaries of one depth for a condensed one. Messages too few to be
worth a leaf of their own, left over between summaries, are taken along when those are condensed, so that nothing stays for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from lossless.context.budget import Limits
from lossless.dag.segments import SummaryRef
from lossless.dag.splice import Source
from lossless.store.read import Fact

__all__ = ["MIN_BLOCK", "Block", "Element", "Run", "decide", "whole_units"]

MIN_BLOCK = 128
"""Tokens below which messages are not worth a leaf: a summary's frame alone has about 60."""
FAN_IN = 4
"""Summaries of one depth that are condensed together; 2 under pressure (LCM reference implementations)."""
PRESSURE_FAN_IN = 2
MAX_FAN_IN = 8


@dataclass(frozen=True, slots=True)
class Run:
    """Messages that stand together in a view and may be compacted. ``complete``: whether all of the run was read."""

    facts: tuple[Fact, ...]
    complete: bool = True

    @property
    def tokens(self) -> int:
        """Tokens of the messages that were read."""
        return sum(fact.tokens for fact in self.facts)


Element = SummaryRef | Run | None
"""What a view holds, in order; None where something stands that is never compacted."""


@dataclass(frozen=True, slots=True)
class Block:
    """What one summary is made from, in view order."""

    sources: tuple[SummaryRef | Source, ...]

    @property
    def depth(self) -> int:
        """The depth of the summary to be made."""
        return max((source.depth + 1 for source in self.sources if isinstance(source, SummaryRef)), default=0)

    @property
    def tokens(self) -> int:
        """What the block costs as it stands in the view."""
        return sum(source.tokens for source in self.sources)

    @property
    def names(self) -> tuple[int | str, ...]:
        """Its sources by name: seqs of messages and ids of summaries."""
        return tuple(source.seq if isinstance(source, Source) else source.id for source in self.sources)


def decide(
    elements: Sequence[Element],
    *,
    limits: Limits,
    excess: int | None,
    over_hard: bool,
    is_refused: Callable[[Block], bool],
) -> Block | None:
    """Choose the block to compact next, or None if there is none.

    Args:
        elements: the view before the fresh tail, oldest first.
        limits: thresholds and chunk size.
        excess: tokens above the target; None: compact whatever can be.
        over_hard: whether so much is there that even summaries of different depths are condensed if there is nothing else.
        is_refused: whether a block was tried and could not be made shorter.
    """
    summarised = sum(element.tokens for element in elements if isinstance(element, SummaryRef))

    def condensed(fan_in: int) -> Block | None:
        return _first(_condensable(elements, fan_in, limits.chunk), is_refused)

    leaf = _first(_leaves(elements, _wanted(limits, excess)), is_refused)
    if excess is None:
        return leaf or condensed(FAN_IN)
    if summarised > limits.target // 2 and (block := condensed(FAN_IN)) is not None:
        return block
    block = leaf or condensed(FAN_IN) or condensed(PRESSURE_FAN_IN)
    return block or (_first(_neighbours(elements, limits.chunk), is_refused) if over_hard else None)


def whole_units(facts: Sequence[Fact]) -> list[list[Fact]]:
    """Group messages into the smallest stretches that hold whole units, in order."""
    last_of = {fact.unit: index for index, fact in enumerate(facts)}
    stretches: list[list[Fact]] = []
    until = -1
    for index, fact in enumerate(facts):
        if index > until:
            stretches.append([])
        until = max(until, last_of[fact.unit])
        stretches[-1].append(fact)
    return stretches


def _wanted(limits: Limits, excess: int | None) -> int:
    """Size the chunk so that the last one meets the target: a leaf keeps about 35 % of it, and has a frame.

    It is a quarter of a full chunk at least: many small leaves would be frames more than text.
    """
    if excess is None:
        return limits.chunk
    return max(2 * MIN_BLOCK, limits.chunk // 4, min(limits.chunk, int(excess / 0.65) + 100))


def _leaves(elements: Sequence[Element], wanted: int) -> Iterator[Block]:
    for element in elements:
        if not isinstance(element, Run) or element.tokens < MIN_BLOCK:
            continue
        taken: list[Fact] = []
        tokens = 0
        for stretch in whole_units(element.facts):
            cost = sum(fact.tokens for fact in stretch)
            if taken and tokens + cost > wanted and tokens >= MIN_BLOCK:
                yield Block(_sources(taken))
                taken, tokens = [], 0
            taken.extend(stretch)
            tokens += cost
        if tokens >= MIN_BLOCK and element.complete:
            yield Block(_sources(taken))
        elif tokens >= MIN_BLOCK and len(taken) == len(element.facts):
            yield Block(_sources(taken))  # one stretch so long that its end was not read


def _condensable(elements: Sequence[Element], fan_in: int, chunk: int) -> Iterator[Block]:
    """Give blocks of at least ``fan_in`` summaries of one depth, the shallowest depth first, the oldest first."""
    depths = sorted({element.depth for element in elements if isinstance(element, SummaryRef) and not element.degraded})
    for depth in depths:
        current: list[SummaryRef | Source] = []
        for element in [*elements, None]:
            small = isinstance(element, Run) and element.complete and element.tokens < MIN_BLOCK
            if isinstance(element, SummaryRef) and element.depth == depth and not element.degraded:
                current.append(element)
                if _count(current) >= MAX_FAN_IN or (_count(current) >= fan_in and _tokens(current) > 2 * chunk):
                    yield Block(tuple(current))
                    current = []
            elif small:
                assert isinstance(element, Run)
                current.extend(_sources(element.facts))
            else:
                if _count(current) >= fan_in:
                    yield Block(_without_end(current))
                current = []


def _neighbours(elements: Sequence[Element], chunk: int) -> Iterator[Block]:
    """Give blocks of two or more summaries of any depth, the newest first: the deepest ones, at the old end, stay as they are."""
    blocks: list[Block] = []
    current: list[SummaryRef | Source] = []
    for element in [*elements, None]:
        if isinstance(element, SummaryRef) and not element.degraded:
            current.append(element)
            if _tokens(current) <= 2 * chunk or _count(current) < PRESSURE_FAN_IN:
                continue
        elif isinstance(element, Run) and element.complete and element.tokens < MIN_BLOCK:
            current.extend(_sources(element.facts))
            continue
        if _count(current) >= PRESSURE_FAN_IN:
            blocks.append(Block(_without_end(current)))
        current = []
    return reversed(blocks)


def _without_end(sources: Sequence[SummaryRef | Source]) -> tuple[SummaryRef | Source, ...]:
    """Leave out messages after the last summary: what comes next may make them worth a leaf."""
    end = max(index for index, source in enumerate(sources) if isinstance(source, SummaryRef))
    return tuple(sources[: end + 1])


def _count(sources: Iterable[SummaryRef | Source]) -> int:
    return sum(isinstance(source, SummaryRef) for source in sources)


def _tokens(sources: Iterable[SummaryRef | Source]) -> int:
    return sum(source.tokens for source in sources)


def _sources(facts: Iterable[Fact]) -> tuple[Source, ...]:
    return tuple(Source(fact.seq, fact.tokens, fact.total_tokens) for fact in facts)


def _first(blocks: Iterable[Block], is_refused: Callable[[Block], bool]) -> Block | None:
    return next((block for block in blocks if not is_refused(block)), None)
