"""The compactor: one operation from plan to promoted view, in two phases.

Prepare reads, decides and calls models, holding no transaction; promote stores all new summaries and swings the head in one. If
the head moved meanwhile, the same splices are made on its new view if their sources still stand there; else the preparation is
dropped.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from sqlalchemy import Connection

from lossless.compaction.calls import Calls
from lossless.compaction.model import CompactionResult, CompactionStatus
from lossless.compaction.plan import Block, Element, Run, decide
from lossless.compaction.survey import Protected, protect, survey
from lossless.compaction.writing import Sources, SummaryWriter
from lossless.context.budget import Limits
from lossless.context.entries import SummaryCache
from lossless.dag.heads import Head, lock_head, read_head, swing
from lossless.dag.opening import ref_to
from lossless.dag.segments import SummaryRef
from lossless.dag.splice import Source, Splice
from lossless.dag.summaries import Summary, beside_damage, by_span, directly_over, sources_of, store_summary
from lossless.dag.view import View, ViewStore
from lossless.hooks import Plugins
from lossless.messages.model import Message
from lossless.store import times
from lossless.store.connection import Database
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader

__all__ = ["Compactor", "Effort"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How far an operation goes: seconds, model calls, whether a person asked for it, and whether below soft, too."""

    seconds: float
    calls: int
    by_hand: bool = False
    force: bool = False


@dataclass(slots=True)
class _Preparation:
    """What an operation has prepared so far: a view that is not yet the thread's, and how it was made."""

    head: Head
    base: View
    view: View
    spent: Calls
    splices: list[Splice] = field(default_factory=list)
    summaries: dict[str, Summary] = field(default_factory=dict)
    out_of_effort: bool = False

    def tokens(self) -> int:
        """Tokens of the prepared view."""
        return self.view.tokens(self.head.total_tokens)


class Compactor:
    """Compacts threads. One for each engine."""

    def __init__(
        self,
        database: Database,
        views: ViewStore,
        reader: MessageReader,
        summaries: SummaryCache,
        writer: SummaryWriter,
        plugins: Plugins,
    ) -> None:
        self._database = database
        self._views = views
        self._reader = reader
        self._summaries = summaries
        self._writer = writer
        self._plugins = plugins
        self._refused: set[tuple[ThreadKey, bytes]] = set()

    def compact(self, key: ThreadKey, limits: Limits, fresh_tail: int, effort: Effort) -> CompactionResult:
        """Compact a thread down to the target, or with ``force`` as far as possible; everything above hard comes first."""
        with self._database.read() as connection:
            head = read_head(connection, key)
            if head is None:
                return _result("nothing", "there is no such thread", 0, 0)
            base = self._views.load(connection, key.namespace, head.view)
        before = base.tokens(head.total_tokens)
        if not effort.force and before <= limits.soft:
            return _result("nothing", f"{before} tokens are not above soft ({limits.soft})", before, before)
        facts = {"tokens": before, "target": limits.target, "soft": limits.soft, "hard": limits.hard, "by_hand": effort.by_hand}
        self._plugins.before_compaction(key.thread_id, facts)
        self._plugins.event("compaction.started", thread_id=key.thread_id, **facts)
        deadline = time.monotonic() + effort.seconds
        calls = Calls(left=effort.calls, deadline=deadline, thread_id=key.thread_id, by_hand=effort.by_hand)
        prepared = _Preparation(head, base, base, calls)
        self._prepare(key, prepared, limits, fresh_tail, effort)
        result = replace(self._promote(key, prepared, limits, effort, before), usage=calls.usage)
        self._plugins.event(
            "compaction.finished",
            thread_id=key.thread_id,
            status=result.status,
            changed=result.changed,
            tokens_before=before,
            tokens_after=result.tokens_after,
            model_calls=result.model_calls,
            usage=asdict(result.usage),
        )
        self._plugins.after_compaction(key.thread_id, result)
        return result

    def remake(self, connection: Connection, key: ThreadKey, seqs: list[int], soft: int) -> Summary | None:
        """Make a leaf over messages without a model, or None if it would not be shorter than they are."""
        messages = self._reader.by_seq(connection, key, seqs, keep=False)
        block = Block(tuple(Source(message.seq, message.tokens, 0) for message in messages))
        return self._writer.write_plain(block, Sources(tuple(messages)), soft=soft)

    def _prepare(self, key: ThreadKey, prepared: _Preparation, limits: Limits, fresh_tail: int, effort: Effort) -> None:
        tail = fresh_tail
        share = limits
        kept = self._protect(key, prepared, share, tail)
        made = 0
        while True:
            excess = None if effort.force else prepared.tokens() - limits.target
            if excess is not None and excess <= 0:
                return
            if time.monotonic() >= prepared.spent.deadline:
                prepared.out_of_effort = True
                return
            over_hard = prepared.tokens() > limits.hard
            block, sources = self._next_block(key, prepared, share, kept, excess, over_hard)
            if block is None or sources is None:
                if over_hard and tail > 1:
                    # Under pressure the fresh tail yields from its old end before anything is exhausted.
                    tail, share = tail // 2, replace(share, tail=share.tail // 2)
                elif len(prepared.splices) == made:
                    return
                else:
                    # What is in the fresh tail depends on what stands before it, so the end is a pass that found nothing: the
                    # same call again finds nothing either.
                    tail, share, made = fresh_tail, limits, len(prepared.splices)
                kept = self._protect(key, prepared, share, tail)
                continue
            if not self._summarise(key, prepared, block, sources, limits):
                return

    def _protect(self, key: ThreadKey, prepared: _Preparation, limits: Limits, tail: int) -> Protected:
        head = prepared.head
        open_units = [seq for _call, seq in head.open_calls]
        with self._database.read() as connection:
            return protect(connection, key, prepared.view, head.next_seq, open_units, limits=limits, tail=tail)

    def _next_block(
        self,
        key: ThreadKey,
        prepared: _Preparation,
        limits: Limits,
        kept: Protected,
        excess: int | None,
        over_hard: bool,
    ) -> tuple[Block | None, Sources | None]:
        head = prepared.head
        with self._database.read() as connection:
            elements = survey(connection, key, prepared.view, head.next_seq, kept, enough=2 * limits.chunk)
            block = decide(
                elements,
                limits=limits,
                excess=excess,
                over_hard=over_hard,
                is_refused=lambda block: (key, self._writer.span_key(block)) in self._refused,
            )
            if block is None:
                return None, None
            block = self._made_before(connection, key, elements, block)
            return block, self._sources(connection, key, prepared, block)

    def _made_before(self, connection: Connection, key: ThreadKey, elements: Sequence[Element], block: Block) -> Block:
        """Prefer a leaf that was made before over messages at the same place: after an undo its summary is used again."""
        first = block.names[0]
        if not isinstance(first, int):
            return block
        for element in elements:
            if not isinstance(element, Run) or all(fact.seq != first for fact in element.facts):
                continue
            start = next(index for index, fact in enumerate(element.facts) if fact.seq == first)
            for id in directly_over(connection, key, first):
                sources = sources_of(connection, key, id)
                facts = element.facts[start : start + len(sources)]
                again = Block(tuple(Source(fact.seq, fact.tokens, fact.total_tokens) for fact in facts))
                if again.names == sources and by_span(connection, key, self._writer.span_key(again)) is not None:
                    return again
        return block

    def _sources(self, connection: Connection, key: ThreadKey, prepared: _Preparation, block: Block) -> Sources:
        stored = [name for name in block.names if isinstance(name, str) and name not in prepared.summaries]
        summaries = {id: shown.summary for id, shown in self._summaries.get(connection, key, stored).items()}
        summaries |= prepared.summaries
        messages = {message.seq: message for message in self._reader.by_seq(connection, key, _seqs(block))}
        entries: list[Message | Summary] = [
            summaries[source.id] if isinstance(source, SummaryRef) else messages[source.seq] for source in block.sources
        ]
        return Sources(tuple(entries))

    def _summarise(self, key: ThreadKey, prepared: _Preparation, block: Block, sources: Sources, limits: Limits) -> bool:
        """Summarise a block in the prepared view; give whether the operation goes on."""
        span = self._writer.span_key(block)
        with self._database.read() as connection:
            summary = by_span(connection, key, span)
        if summary is None or summary.tokens >= block.tokens:
            if prepared.spent.over and self._writer.calls_models:
                prepared.out_of_effort = True
                return False
            previous = self._text_before(prepared, block)
            summary, outcome = self._writer.write(block, sources, soft=limits.soft, calls=prepared.spent, previous=previous)
            if outcome.rejected:
                facts = {"thread_id": key.thread_id, "level": outcome.level, "rejected": list(outcome.rejected)}
                self._plugins.event("escalation", **facts)
            if summary is None:
                self._refused.add((key, span))
                return True
            with self._database.read() as connection:
                summary = beside_damage(connection, key, summary)
            if summary.degraded:
                self._plugins.event("degraded", thread_id=key.thread_id, summary_id=summary.id)
        splice = Splice(ref_to(summary), block.sources)
        view = splice.apply(prepared.view)
        if view is None:
            self._refused.add((key, span))
            return True
        prepared.view = view
        prepared.splices.append(splice)
        prepared.summaries[summary.id] = summary
        return True

    @staticmethod
    def _text_before(prepared: _Preparation, block: Block) -> str:
        """Give the text of the last summary made in this operation, which as a rule is the one before this block."""
        return next(reversed(prepared.summaries.values())).text if prepared.summaries and block.depth == 0 else ""

    def _promote(self, key: ThreadKey, prepared: _Preparation, limits: Limits, effort: Effort, before: int) -> CompactionResult:
        calls = prepared.spent.made
        if not prepared.splices:
            status: CompactionStatus = "exhausted" if before > limits.hard else "nothing"
            reason = "nothing can be made shorter" if status == "exhausted" else "there is nothing to compact"
            if prepared.out_of_effort:
                status, reason = "partial", "time or model calls were used up"
            return _result(status, reason, before, before, calls)
        total = self._database.write(lambda connection: self._swing(connection, key, prepared, effort))
        if total is None:
            self._plugins.event("dropped", thread_id=key.thread_id, summaries=list(prepared.summaries))
            return _result("partial", "the thread was changed by somebody else meanwhile", before, before, calls)
        self._plugins.event("promoted", thread_id=key.thread_id, summaries=list(prepared.summaries))
        after = prepared.view.tokens(total)
        status, reason = "done", ""
        if prepared.out_of_effort:
            status, reason = "partial", "time or model calls were used up"
        elif after > limits.hard:
            status, reason = "exhausted", f"{after} tokens are left, above hard ({limits.hard}), and nothing can be made shorter"
        elif not effort.force and after > limits.target:
            status, reason = "partial", f"{after} tokens are left, above the target ({limits.target})"
        return _result(status, reason, before, after, calls, tuple(prepared.summaries), changed=True)

    def _swing(self, connection: Connection, key: ThreadKey, prepared: _Preparation, effort: Effort) -> int | None:
        """Make the prepared view the thread's; give the thread's token sum, or None if it no longer fits."""
        head = lock_head(connection, key)
        if head is None:
            return None
        view = prepared.view
        if head.generation != prepared.head.generation:
            spliced: View | None = self._views.load(connection, key.namespace, head.view)
            for splice in prepared.splices:
                spliced = splice.apply(spliced) if spliced is not None else None
            if spliced is None:
                return None
            view = prepared.view = spliced
        now = times.now()
        for summary in prepared.summaries.values():
            if summary.sources:  # one that was made before is stored already, perhaps in a thread that this one comes from
                store_summary(connection, key, summary, now)
        swing(
            connection,
            key,
            self._views,
            view,
            expected=head.generation,
            next_seq=head.next_seq,
            why="compaction",
            now=now,
            by_hand=effort.by_hand,
        )
        return head.total_tokens


def _seqs(block: Block) -> list[int]:
    return [name for name in block.names if isinstance(name, int)]


def _result(
    status: CompactionStatus,
    reason: str,
    before: int,
    after: int,
    calls: int = 0,
    summaries: tuple[str, ...] = (),
    *,
    changed: bool = False,
) -> CompactionResult:
    return CompactionResult(
        changed=changed,
        status=status,
        reason=reason,
        tokens_before=before,
        tokens_after=after,
        model_calls=calls,
        summaries=summaries,
    )
