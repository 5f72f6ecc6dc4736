"""Keeping a thread within its budget: compaction by hand, after an append, and telling what it would do."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace as changed

from lossless.compaction.compactor import Effort
from lossless.compaction.control import decide_action
from lossless.compaction.correcting import note_corrections
from lossless.compaction.foresight import CompactionPlan
from lossless.compaction.model import CompactionResult
from lossless.context.budget import Budget, Limits
from lossless.context.model import ActiveContext
from lossless.dag.heads import moves, no_thread, read_head
from lossless.dag.ingest import Ingested
from lossless.errors import ClosedError, ConfigError
from lossless.reading import Reading
from lossless.store.append import Draft
from lossless.twins import async_twin

__all__ = ["Compacting"]

_log = logging.getLogger("lossless")

_BY_HAND = Effort(seconds=300, calls=64, by_hand=True, patience=300)
_FORCED = changed(_BY_HAND, force=True)
_AT_ONCE = Effort(seconds=120, calls=16, patience=120)
_BACKGROUND = Effort(seconds=300, calls=24)


class Compacting(Reading):
    """What a ``Thread`` is kept within its budget with."""

    _own_budget: Budget | None

    def compact(self, force: bool = False, *, by_hand: bool = True) -> CompactionResult:
        """Compact now, down to the target, if the thread is above soft.

        While an open tool loop carries reasoning nothing before it is edited unless the thread is above hard; the result says so.

        Args:
            force: compact whatever can be, also below soft, and write degraded summaries again. Again on an unchanged thread it
                does nothing.
            by_hand: whether a person asked for it: ``undo`` takes it back, and a summarizer that failed is asked all the same.
                False: as an append above hard does it.

        Raises:
            ConfigError: the engine has neither window, model nor budget.
            NotFoundError: there is no such thread.
        """
        self._must_exist()
        budget = self._require_budget()
        effort = _FORCED if force else _BY_HAND
        if not by_hand:
            effort = changed(_AT_ONCE, force=force)
        return self._engine.compact(self._key, self._limits(budget), budget.fresh_tail, effort)

    def plan(self, force: bool = False) -> CompactionPlan:
        """Tell what ``compact`` would do now; no model is called and nothing is written.

        Args:
            force: as for ``compact``.

        Raises:
            ConfigError: the engine has neither window, model nor budget.
            NotFoundError: there is no such thread.
        """
        self._must_exist()
        budget = self._require_budget()
        effort = _FORCED if force else _BY_HAND
        return self._engine.compactor.plan(self._key, self._limits(budget), budget.fresh_tail, effort)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until background compaction of this thread is idle; give whether that came about within ``timeout`` seconds."""
        return self._engine.worker.wait(self._key, timeout)

    def report_usage(self, prompt_tokens: int, context: ActiveContext) -> float:
        """Tell what a provider charged for a context: from then on the budget keeps as much free as counts are wrong by.

        Reports are kept in the database, by model, and are believed from 2 000 counted tokens on.

        Args:
            prompt_tokens: as the provider reported them, those from its cache included.
            context: that was sent, asked for with the overhead and tools that were sent beside it.

        Returns:
            The share of a budget that is kept free now.

        Raises:
            ConfigError: the number is negative, or none.
        """
        if not 0 <= prompt_tokens < float("inf"):
            raise ConfigError(f"a prompt can't have {prompt_tokens} tokens", hint="give what the provider reported")
        return self._engine.calibration.report(context.tokens + context.overhead, prompt_tokens)

    def appended(self, drafts: Sequence[Draft], done: Ingested, compact: bool = True) -> None:
        """Do what an append calls for; the messages are stored, so it does not fail for what comes after it.

        Args:
            drafts: what was stored.
            done: what came of it.
            compact: whether the control loop runs.
        """
        engine = self._engine
        if done.key is not None:
            engine.keep_key(done.key)
        try:
            note_corrections(engine.database, engine.reader, engine.plugins, self._key, drafts, done)
        except Exception:
            _log.exception("corrections could not be noted thread=%s", self._id)
        budget = self._own_budget or engine.budget
        if compact and budget is not None:
            try:
                self._control(done, budget)
            except ClosedError:
                _log.debug("compaction dropped thread=%s", self._id)
            except Exception as error:
                _log.exception("compaction failed thread=%s", self._id)
                engine.plugins.event("compaction.failed", thread_id=self._id, error=str(error))

    # The same, async; ``await`` is a keyword, so one of them ends in an underscore

    acompact = async_twin(compact)
    aplan = async_twin(plan)
    areport_usage = async_twin(report_usage)
    await_ = async_twin(wait)

    def _control(self, done: Ingested, budget: Budget) -> None:
        """Run the control loop after an append."""
        engine, key, limits = self._engine, self._key, self._limits(budget)
        compactor, tokens = engine.compactor, done.view.tokens(done.total_tokens)
        mendable = compactor.may_mend(key, done.view, (done.generation, done.next_seq))
        waiting = compactor.is_waiting(key)
        if tokens <= limits.soft and not mendable and not waiting:
            return
        action = decide_action(
            tokens,
            limits,
            background=engine.background,
            undone=self._took_back_a_compaction(),
            mendable=mendable,
            waiting=waiting,
        )
        if action == "background":
            engine.worker.schedule(key, lambda: engine.compact(key, limits, budget.fresh_tail, _BACKGROUND))
        elif action == "now":
            engine.compact(key, limits, budget.fresh_tail, _AT_ONCE)

    def _took_back_a_compaction(self) -> bool:
        engine, key = self._engine, self._key
        with engine.database.read() as connection:
            newest = moves(connection, key, limit=1)
        return bool(newest) and newest[0].why == "undo compaction"

    def _require_budget(self) -> Budget:
        return self._own_budget or self._engine.require_budget()

    def _limits(self, budget: Budget) -> Limits:
        return budget.limits(self._engine.margin)

    def _must_exist(self) -> None:
        engine, key = self._engine, self._key
        with engine.database.read() as connection:
            if read_head(connection, key) is None:
                raise no_thread(self._id)
