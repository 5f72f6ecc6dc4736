"""The control loop, without any I/O: what an append calls for, and the steps of a compaction.

A compaction is a generator: it yields what it wants (a block found, a block written), is sent what came of it, and returns how it
ended. :func:`drive` is its driver; whoever answers reads, calls models and keeps time. The async face runs it in a worker thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Literal

from lossless.compaction.plan import Block
from lossless.context.budget import Limits
from lossless.dag.segments import SummaryRef

__all__ = ["Action", "End", "Find", "Mend", "Standing", "Steps", "Write", "decide_action", "drive", "work_down"]

Action = Literal["nothing", "background", "now"]
End = Literal["met", "stuck", "spent"]
"""The target was met; nothing more can be made shorter; or time or model calls were used up."""


@dataclass(frozen=True, slots=True)
class Find:
    """Wanted: the block to compact next.

    Attributes:
        tail: messages of the fresh tail at the most, ``share`` its tokens.
        share: see ``tail``.
        excess: tokens above the target; None: compact whatever can be.
        over_hard: whether the view is above hard.
        afresh: whether what is protected has to be found again.
    """

    tail: int
    share: int
    excess: int | None
    over_hard: bool
    afresh: bool


@dataclass(frozen=True, slots=True)
class Write:
    """Wanted: a summary of a block, spliced into the prepared view."""

    block: Block


@dataclass(frozen=True, slots=True)
class Mend:
    """Wanted: a better summary in the place of a degraded one."""

    degraded: SummaryRef


@dataclass(frozen=True, slots=True)
class Standing:
    """What came of a step.

    Attributes:
        tokens: of the prepared view now.
        block: what was found.
        made: whether a summary was written and spliced in.
        spent: whether time or model calls are used up.
    """

    tokens: int
    block: Block | None = None
    made: bool = False
    spent: bool = False


Steps = Generator[Find | Write | Mend, Standing, End]


def decide_action(
    tokens: int, limits: Limits, *, background: bool, undone: bool = False, mendable: bool = False, waiting: bool = False
) -> Action:
    """Decide what an append calls for, whether or not it added anything.

    Args:
        tokens: of the view, the append included.
        limits: the thresholds.
        background: whether compaction may run in the background.
        undone: whether the newest move took back a compaction; then nothing is compacted before it must be.
        mendable: whether the view has degraded summaries, and a model may be called that could write better ones.
        waiting: whether a preparation waits to be promoted.
    """
    if tokens > limits.hard:
        return "now"
    if background and (mendable or waiting or (tokens > limits.soft and not undone)):
        return "background"
    return "nothing"


def work_down(tokens: int, limits: Limits, fresh_tail: int, *, force: bool, degraded: Sequence[SummaryRef] = ()) -> Steps:
    """Mend degraded summaries, then compact from above soft down to the target, or with ``force`` as far as possible.

    A degraded summary that can't be mended ends the mending: its model is not back. Under pressure, above hard, the fresh tail
    yields from its old end before anything is exhausted. What is in it depends on what stands before it, so the end is a pass
    that found nothing: the same operation again finds nothing either.
    """
    for ref in degraded:
        mended = yield Mend(ref)
        tokens = mended.tokens
        if not mended.made:
            break
    begun = force or tokens > limits.soft  # a better summary may be longer, too
    tail, share, progress, afresh = fresh_tail, limits.tail, False, True
    while begun:
        excess = None if force else tokens - limits.target
        if excess is not None and excess <= 0:
            return "met"
        over_hard = tokens > limits.hard
        found = yield Find(tail, share, excess, over_hard, afresh)
        afresh = found.block is None
        if found.spent:
            return "spent"
        if found.block is not None:
            written = yield Write(found.block)
            if written.spent and not written.made:
                return "spent"
            tokens, progress = written.tokens, progress or written.made
        elif over_hard and tail > 1:
            tail, share = tail // 2, share // 2
        elif progress:
            tail, share, progress = fresh_tail, limits.tail, False
        else:
            return "stuck"
    return "met"


def drive(steps: Steps, answer: Callable[[Find | Write | Mend], Standing]) -> End:
    """Run a compaction to its end."""
    try:
        wanted = next(steps)
        while True:
            wanted = steps.send(answer(wanted))
    except StopIteration as stop:
        end: End = stop.value
        return end
