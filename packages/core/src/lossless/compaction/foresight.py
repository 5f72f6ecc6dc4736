"""Foresight: what a compaction would do now, without a model call and without writing anything."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from lossless.compaction.calls import Calls
from lossless.compaction.control import Standing, drive, work_down
from lossless.compaction.escalation import targets
from lossless.compaction.plan import Block
from lossless.compaction.preparing import Means, Preparation, Preparer
from lossless.compaction.writing import Sources
from lossless.context.budget import Limits
from lossless.dag.heads import Head
from lossless.dag.segments import SummaryRef
from lossless.dag.splice import Source, Splice
from lossless.dag.summaries import load_summaries
from lossless.dag.view import View
from lossless.store.keys import ThreadKey
from lossless.store.read import facts_of

__all__ = ["CompactionPlan", "PlannedSummary", "foresee"]

_FRAME = 64
"""Tokens of a summary's frame, about."""
_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSummary:
    """A summary that would be written.

    Attributes:
        kind: ``leaf``, ``condensed``, or ``mended``: a degraded one written again.
        depth: of the summary.
        first_id: of the first message under it, ``last_id`` of the last.
        messages: how many messages it would stand for.
        tokens: what its sources cost now.
        about: the tokens that it would have, about.
    """

    kind: str
    depth: int
    first_id: str
    last_id: str
    messages: int
    tokens: int
    about: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What a compaction would do now.

    Attributes:
        tokens: of the view now; ``tokens_after``: about what would be left.
        target: the thresholds, in tokens; see ``soft`` and ``hard``.
        summaries: what would be written, in order.
        held: why the new view would have to wait, or empty.
    """

    tokens: int
    tokens_after: int
    target: int
    soft: int
    hard: int
    summaries: tuple[PlannedSummary, ...]
    held: str = ""


def foresee(
    means: Means,
    key: ThreadKey,
    head: Head,
    view: View,
    limits: Limits,
    fresh_tail: int,
    *,
    force: bool,
    degraded: Sequence[SummaryRef],
    held: str,
) -> CompactionPlan:
    """Go through a compaction with summaries that are as long as is aimed at."""
    tokens = view.tokens(head.total_tokens)
    calls = Calls(left=0, deadline=time.monotonic() + _SECONDS, thread_id=key.thread_id)
    prepared = Preparation(head=head, base=view, view=view, made_by=means.writer.made_by, calls=calls)
    foreseer = _Foreseer(means, key, prepared, limits)
    if force or tokens > limits.soft or degraded:
        drive(work_down(tokens, limits, fresh_tail, force=force, degraded=degraded), foreseer.answer)
    return CompactionPlan(
        tokens=tokens,
        tokens_after=prepared.tokens(),
        target=limits.target,
        soft=limits.soft,
        hard=limits.hard,
        summaries=tuple(foreseer.planned),
        held=held,
    )


class _Foreseer(Preparer):
    """Answers the steps of a compaction by guessing; neither calls a model nor tells anybody."""

    planned: list[PlannedSummary]

    def __init__(self, means: Means, key: ThreadKey, prepared: Preparation, limits: Limits) -> None:
        super().__init__(means, key, prepared, limits)
        self.planned = []
        self._extents: dict[str, tuple[str, str]] = {}

    def _sources(self, _connection: Connection, _block: Block) -> Sources:
        return Sources(())

    def _write(self, block: Block) -> Standing:
        return self._guessed(block, block.sources, "condensed" if block.depth else "leaf")

    def _mend(self, ref: SummaryRef) -> Standing:
        with self._means.database.read() as connection:
            block = self._block_under(connection, ref.id)
        return self._guessed(block, (ref,), "mended")

    def _guessed(self, block: Block, sources: tuple[SummaryRef | Source, ...], kind: str) -> Standing:
        sizes = targets(block.tokens, block.depth, _FRAME, self._limits.soft)
        about = min(block.tokens - 1, sizes.normal + _FRAME)
        messages = sum(source.messages if isinstance(source, SummaryRef) else 1 for source in block.sources)
        ref = SummaryRef(f"planned_{len(self.planned) + 1}", block.depth, about, messages)
        view = Splice(ref, sources).apply(self.prepared.view)
        if view is None:
            return self._standing()
        self.prepared.view = view
        first, last = self._extents[ref.id] = self._ends(block)
        self.planned.append(
            PlannedSummary(
                kind=kind, depth=block.depth, first_id=first, last_id=last, messages=messages, tokens=block.tokens, about=about
            )
        )
        return self._standing(made=True)

    def _ends(self, block: Block) -> tuple[str, str]:
        """Give the ids of the first and the last message under a block."""
        with self._means.database.read() as connection:
            ends = [self._end(connection, block.sources[0], 0), self._end(connection, block.sources[-1], 1)]
        return ends[0], ends[1]

    def _end(self, connection: Connection, source: SummaryRef | Source, which: int) -> str:
        if isinstance(source, SummaryRef):
            if source.id in self._extents:
                return self._extents[source.id][which]
            summary = load_summaries(connection, self._key, [source.id])[source.id]
            seq = summary.last_seq if which else summary.first_seq
        else:
            seq = source.seq
        return str(facts_of(connection, self._key, [seq])[0].id)
