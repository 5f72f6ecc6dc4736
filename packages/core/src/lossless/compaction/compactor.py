"""The compactor: one operation from plan to promoted view, in two phases.

Prepare reads, decides and calls models, holding no transaction; promote stores new summaries and swings the head in one. Of a
long backlog summaries are stored on the way, some dozens at a time; no view names them before promotion. If the head moved
meanwhile, the same splices are made on its new view if their sources still stand there; else the preparation is dropped. A
preparation that may not be promoted yet, because the thread is in the middle of something, waits in memory for the next
operation on its thread.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Connection

from lossless.compaction.calls import Calls
from lossless.compaction.control import drive, work_down
from lossless.compaction.foresight import CompactionPlan, foresee
from lossless.compaction.loops import current_loop, hold_reason
from lossless.compaction.mending import Unmended
from lossless.compaction.model import CompactionResult, CompactionStatus
from lossless.compaction.plan import Block
from lossless.compaction.preparing import Means, Preparation, Preparer, Refused
from lossless.compaction.turns import Turns
from lossless.compaction.writing import Sources, SummaryWriter
from lossless.context.budget import Limits
from lossless.dag.heads import Head, keep_collectors_out, lock_head, moves, read_head, swing
from lossless.dag.placing import show_newest_request
from lossless.dag.segments import SummaryRef
from lossless.dag.splice import Source
from lossless.dag.summaries import Summary
from lossless.dag.view import GENESIS, View, ViewStore
from lossless.errors import NotFoundError
from lossless.hooks import Plugins
from lossless.store import times
from lossless.store.connection import Database
from lossless.store.erasures import read_epoch
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader

__all__ = ["Compactor", "Effort"]

_WAITING = 256
"""Preparations that wait in memory at the most; a lost one costs its model calls."""
_SETTLED = 4096
_LEASE_SECONDS = 90.0
"""Longer than a call to a summarizer; the lease of a process of this machine that was killed is taken over at once."""
_SPENT = "time or model calls were used up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How far an operation goes: seconds, model calls, whether a person asked for it, and whether below soft, too.

    ``patience``: seconds of these to wait for another operation on the thread.
    """

    seconds: float
    calls: int
    by_hand: bool = False
    force: bool = False
    patience: float = 0.0


_UNASKED = Effort(seconds=0, calls=0)


class Compactor:
    """Compacts threads. One for each engine."""

    def __init__(
        self,
        database: Database,
        views: ViewStore,
        reader: MessageReader,
        writer: SummaryWriter,
        plugins: Plugins,
    ) -> None:
        self._database = database
        self._views = views
        self._writer = writer
        self._plugins = plugins
        self._means = Means(
            database=database,
            reader=reader,
            writer=writer,
            plugins=plugins,
            refused=Refused(),
            unmended=Unmended(),
        )
        self._turns = Turns(database, _LEASE_SECONDS)
        self._settled: OrderedDict[ThreadKey, object] = OrderedDict()
        self._waiting: OrderedDict[ThreadKey, Preparation] = OrderedDict()

    def compact(self, key: ThreadKey, limits: Limits, fresh_tail: int, effort: Effort) -> CompactionResult:
        """Compact a thread down to the target, or with ``force`` as far as possible; everything above hard comes first.

        One operation of a thread runs at a time, in whatever process; the time that another one is waited for is its own.
        """
        begun = time.monotonic()
        with self._turns.taken(key, effort.patience) as turn:
            head, view, epoch = self._where(key)
            if head is None:
                return _result("nothing", "there is no such thread", 0, 0)
            tokens = view.tokens(head.total_tokens)
            if turn is None:
                return _result("nothing", "another compaction of this thread is under way", tokens, tokens)
            effort = replace(effort, seconds=max(0.0, effort.seconds - (time.monotonic() - begun)))
            prepared = self._waiting.pop(key, None)
            if prepared is not None and prepared.made_by == self._writer.made_by:
                result = self._promote(key, prepared, limits, effort, tokens)
                if result.changed:
                    self._plugins.after_compaction(key.thread_id, result)
                if not effort.by_hand and result.tokens_after <= limits.hard:
                    return result
                head, view, epoch = self._where(key)
                assert head is not None, "a thread does not vanish"
                return _together(result, self._begin(key, limits, fresh_tail, effort, head, view, epoch, turn.renew))
            if prepared is not None:
                self._drop(key, prepared, "policy or model changed")
            return self._begin(key, limits, fresh_tail, effort, head, view, epoch, turn.renew)

    def close(self) -> None:
        """Give up what still runs: another engine may take its turn."""
        self._turns.close()

    def plan(self, key: ThreadKey, limits: Limits, fresh_tail: int, effort: Effort) -> CompactionPlan:
        """Tell what ``compact`` would do, without a model call and without writing anything."""
        head, view, _epoch = self._where(key)
        if head is None:
            return CompactionPlan(
                tokens=0, tokens_after=0, target=limits.target, soft=limits.soft, hard=limits.hard, summaries=()
            )
        degraded = self._mendable(key, view, (head.generation, head.next_seq), effort)
        with self._database.read() as connection:
            loop = current_loop(connection, key, self._means.reader, view, head)
        held = hold_reason(loop, over_hard=view.tokens(head.total_tokens) > limits.hard, by_hand=effort.by_hand)
        return foresee(self._means, key, head, view, limits, fresh_tail, force=effort.force, degraded=degraded, held=held)

    def may_mend(self, key: ThreadKey, view: View, state: tuple[int, int]) -> bool:
        """Tell whether a degraded summary of a view may be written again now: a model may be called that could do better."""
        return bool(self._mendable(key, view, state, _UNASKED))

    def is_waiting(self, key: ThreadKey) -> bool:
        """Tell whether a preparation of a thread waits to be promoted."""
        return key in self._waiting

    def remake(self, connection: Connection, key: ThreadKey, seqs: list[int], soft: int) -> Summary | None:
        """Make a leaf over messages without a model, or None if it would not be shorter than they are."""
        messages = self._means.reader.by_seq(connection, key, seqs, keep=False)
        block = Block(tuple(Source(message.seq, message.tokens, 0) for message in messages))
        made = self._writer.write_plain(block, Sources(tuple(messages)), soft=soft)
        return None if made is None else self._writer.beside_damage(connection, key, made)

    def _where(self, key: ThreadKey) -> tuple[Head | None, View, int]:
        """Give a thread's head and view, and the epoch of its namespace."""
        with self._database.read() as connection:
            head = read_head(connection, key)
            view = self._views.load(connection, key.namespace, head.view) if head is not None else GENESIS
            return head, view, read_epoch(connection, key.namespace)

    def _mendable(self, key: ThreadKey, view: View, state: tuple[int, int], effort: Effort) -> list[SummaryRef]:
        """Give the degraded summaries to write again, oldest first; with ``force`` whatever their model's breaker says."""
        degraded = [ref for ref in view.summaries if ref.degraded]
        unmended, writer = self._means.unmended, self._writer
        if not degraded or (effort.by_hand and not unmended.may_ask(key, state)):
            return []
        if effort.force:
            return degraded if writer.calls_models else []
        return [ref for ref in degraded if unmended.may_try(key, ref.id)] if writer.may_call_models else []

    # Beginning

    def _begin(
        self,
        key: ThreadKey,
        limits: Limits,
        fresh_tail: int,
        effort: Effort,
        head: Head,
        view: View,
        epoch: int,
        renew: Callable[[], None],
    ) -> CompactionResult:
        before = view.tokens(head.total_tokens)
        writer = self._writer
        state = (head.generation, head.next_seq)
        degraded = self._mendable(key, view, state, effort)
        if not effort.force and before <= limits.soft and not degraded:
            return _result("nothing", f"{before} tokens are not above soft ({limits.soft})", before, before)
        settled = (state, limits, fresh_tail, effort.force)
        if not degraded and self._settled.get(key) == settled:
            return self._unchanged(limits, before)
        if effort.by_hand:
            with self._database.read() as connection:
                loop = current_loop(connection, key, self._means.reader, view, head)
            held = hold_reason(loop, over_hard=before > limits.hard, by_hand=True)
            if held:
                return _result("nothing", held, before, before)
        facts = {"tokens": before, "target": limits.target, "soft": limits.soft, "hard": limits.hard, "by_hand": effort.by_hand}
        self._plugins.before_compaction(key.thread_id, facts)
        self._plugins.event("compaction.started", thread_id=key.thread_id, **facts)
        calls = Calls(
            left=effort.calls, deadline=time.monotonic() + effort.seconds, thread_id=key.thread_id, by_hand=effort.by_hand
        )
        prepared = Preparation(head=head, base=view, view=view, made_by=writer.made_by, calls=calls, epoch=epoch)
        preparer = Preparer(self._means, key, prepared, limits, renew)
        steps = work_down(before, limits, fresh_tail, force=effort.force, degraded=degraded)
        try:
            prepared.end = drive(steps, preparer.answer)
        except NotFoundError:  # a summary that it goes on from was erased with its sources
            if self._where(key)[2] == epoch:
                raise
        if not prepared.splices and prepared.end == "stuck":
            self._settle(key, settled)
        result = replace(self._promote(key, prepared, limits, effort, before), usage=calls.usage)
        if prepared.in_vain:
            self._means.unmended.asked_in_vain(key, prepared.state)
        finished = {name: getattr(result, name) for name in ("status", "changed", "tokens_before", "tokens_after", "model_calls")}
        self._plugins.event("compaction.finished", thread_id=key.thread_id, **finished, usage=asdict(result.usage))
        self._plugins.after_compaction(key.thread_id, result)
        return result

    # Promoting

    def _promote(self, key: ThreadKey, prepared: Preparation, limits: Limits, effort: Effort, before: int) -> CompactionResult:
        if not prepared.splices:
            return self._nothing(prepared, limits, before)
        calls, prepared.calls.made = prepared.calls.made, 0  # one that waits has told of its calls already
        swung = self._database.write(lambda connection: self._swing(connection, key, prepared, limits, effort))
        if isinstance(swung, str):
            self._waiting[key] = prepared
            while len(self._waiting) > _WAITING:
                self._drop(*self._waiting.popitem(last=False), "too many wait")
            return _result("partial", f"prepared, not promoted yet: {swung}", before, before, calls)
        if swung is None:
            self._drop(key, prepared, "the thread was changed by somebody else meanwhile")
            return _result("partial", "the thread was changed by somebody else meanwhile", before, before, calls)
        self._plugins.event("promoted", thread_id=key.thread_id, summaries=list(prepared.ids))
        after = prepared.view.tokens(swung)
        status: CompactionStatus = "done"
        reason = self._degraded_left(prepared.view)
        if prepared.end == "spent":
            status, reason = "partial", _SPENT
        elif after > limits.hard and reason:  # a better summary may be shorter
            status, reason = "partial", f"{after} tokens are left, above hard ({limits.hard}); {reason}"
        elif after > limits.hard:
            status, reason = "exhausted", f"{after} tokens are left, above hard ({limits.hard}), and nothing can be made shorter"
        elif prepared.end == "stuck" and not effort.force and after > limits.target:
            status, reason = "partial", f"{after} tokens are left, above the target ({limits.target})"
        elif reason:
            status = "partial"
        return _result(status, reason, before, after, calls, tuple(prepared.ids), changed=True)

    def _nothing(self, prepared: Preparation, limits: Limits, before: int) -> CompactionResult:
        if prepared.end == "spent":
            return _result("partial", _SPENT, before, before, prepared.calls.made)
        return replace(self._unchanged(limits, before), model_calls=prepared.calls.made)

    @staticmethod
    def _unchanged(limits: Limits, before: int) -> CompactionResult:
        if before > limits.hard:
            return _result("exhausted", "nothing can be made shorter", before, before)
        return _result("nothing", "there is nothing to compact", before, before)

    def _settle(self, key: ThreadKey, settled: object) -> None:
        """Remember that nothing can be compacted where the thread stands, until something new arrives."""
        self._settled[key] = settled
        while len(self._settled) > _SETTLED:
            self._settled.popitem(last=False)

    def _degraded_left(self, view: View) -> str:
        count = sum(ref.degraded for ref in view.summaries) if self._writer.calls_models else 0
        return f"summaries that are degraded, since the model failed: {count}" if count else ""

    def _drop(self, key: ThreadKey, prepared: Preparation, reason: str) -> None:
        self._plugins.event("dropped", thread_id=key.thread_id, summaries=list(prepared.ids), reason=reason)

    def _swing(
        self, connection: Connection, key: ThreadKey, prepared: Preparation, limits: Limits, effort: Effort
    ) -> int | str | None:
        """Make the prepared view the thread's; give the thread's token sum, why that must wait, or None if it no longer fits."""
        keep_collectors_out(connection)
        head = lock_head(connection, key)
        if head is None or prepared.made_by != self._writer.made_by:
            return None
        if read_epoch(connection, key.namespace) != prepared.epoch:
            return None  # what was erased meanwhile may be in what was prepared
        current = self._views.load(connection, key.namespace, head.view)
        over_hard = current.tokens(head.total_tokens) > limits.hard
        held = hold_reason(
            current_loop(connection, key, self._means.reader, current, head), over_hard=over_hard, by_hand=effort.by_hand
        )
        if held:
            return held
        view: View | None = prepared.view
        moved = head.generation != prepared.head.generation
        if moved:
            if not (over_hard or effort.by_hand) and moves(connection, key, limit=1)[0].why == "undo compaction":
                return None  # what a person took back is not done again before it must be
            view = current
            for splice in prepared.splices:
                view = splice.apply(view) if view is not None else None
            if view is None:
                return None
            prepared.view = view
        now = times.now()
        prepared.store(connection, key)
        if moved and show_newest_request(connection, key, prepared.view, head.next_seq) != prepared.view:
            return None  # since newer ones were deleted, the newest request would be under a summary
        swing(
            connection,
            key,
            self._views,
            prepared.view,
            expected=head.generation,
            next_seq=head.next_seq,
            why="compaction",
            now=now,
            by_hand=effort.by_hand,
        )
        prepared.head = prepared.head._replace(generation=head.generation + 1)
        return head.total_tokens


def _together(first: CompactionResult, then: CompactionResult) -> CompactionResult:
    """Give the result of two operations as that of one."""
    return replace(
        then,
        changed=first.changed or then.changed,
        tokens_before=first.tokens_before,
        model_calls=first.model_calls + then.model_calls,
        summaries=(*first.summaries, *then.summaries),
        usage=first.usage + then.usage,
    )


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
