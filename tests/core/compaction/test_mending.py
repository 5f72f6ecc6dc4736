"""Degraded summaries: marked, never condensed, and written again when the model is back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lossless import Engine, SummarizeRequest, Thread
from lossless.compaction.mending import Unmended
from lossless.store.keys import ThreadKey
from lossless.summarizers.breaker import BreakerRules
from lossless.testing import ScriptedModel
from lossless_invariants import Ledger, check_context, check_store
from lossless_scripts import honest

KEY = ThreadKey("default", "t")
LONG = "The pipeline wrote 4,711 rows to /srv/out/a.csv and then stopped with code E17. " * 4


class Model:
    """A summarizer that can be switched off."""

    def __init__(self) -> None:
        self.alive = True
        self.calls = 0

    def __call__(self, request: SummarizeRequest) -> str:
        self.calls += 1
        if not self.alive:
            raise ConnectionError("no route to the model")
        return honest(request)


def degraded(engine: Engine, thread: Thread) -> list[str]:
    summaries = [item.id for item in thread.context().items if item.kind == "summary"]
    return [id for id in summaries if thread.describe(id)["degraded"]]


def say(thread: Thread, ledger: Ledger, turn: int) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"mark-{turn}-q {LONG}"},
        {"role": "assistant", "content": f"mark-{turn}-a {LONG}"},
    ]
    for ref, message in zip(thread.append(messages), messages, strict=True):
        ledger.add(ref.id, ref.seq, message)


QUICK = BreakerRules(failures=2, wait=0.02, longest_wait=0.1)
"""A day in seconds."""


def test_after_an_outage_in_the_middle_of_a_day_no_degraded_summary_is_left() -> None:
    model, ledger = Model(), Ledger()
    seen_degraded = False
    with Engine("sqlite://", window=6_000, summarizer=model, breaker=QUICK, load_plugins=False) as engine:
        thread = engine.thread("t")
        for turn in range(120):
            model.alive = not 40 <= turn < 80
            say(thread, ledger, turn)
            assert thread.wait(60)
            if turn == 79:
                seen_degraded = bool(degraded(engine, thread)) and bool(engine.doctor(dry_run=True).degraded)
        assert seen_degraded
        for _ in range(20):
            if not degraded(engine, thread):
                break
            thread.append({"role": "user", "content": "Still there?"})
            assert thread.wait(60)
        assert degraded(engine, thread) == []
        assert engine.doctor(dry_run=True).degraded == (), "of no head"
        check = engine.verify()
        assert check.ok, check.problems


def test_by_hand_degraded_summaries_are_written_again_below_soft_in_their_place() -> None:
    model, ledger = Model(), Ledger()
    model.alive = False
    with Engine("sqlite://", window=6_000, summarizer=model, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        for turn in range(20):
            say(thread, ledger, turn)
        result = thread.compact()
        before = degraded(engine, thread)
        assert before
        assert result.status == "partial"
        assert "degraded" in result.reason
        model.alive = True
        mended = thread.compact(force=True)
        assert mended.changed
        assert degraded(engine, thread) == []
        check_store(engine, thread, ledger)
        check_context(engine, thread, ledger)
        again = thread.compact(force=True)
        assert (again.changed, again.model_calls) == (False, 0)
        assert thread.describe(before[0])["degraded"], "the row that was made in haste stays as it was"


def test_a_dead_model_costs_a_handful_of_calls_by_hand_and_none_when_asked_again_at_once() -> None:
    model, ledger = Model(), Ledger()
    model.alive = False
    with Engine("sqlite://", window=6_000, summarizer=model, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        for turn in range(20):
            say(thread, ledger, turn)
        thread.compact(force=True)
        calls = model.calls
        assert not thread.compact(force=True).changed
        assert model.calls <= calls + 3
        calls = model.calls
        assert thread.compact(force=True).model_calls == 0
        assert model.calls == calls


def test_asked_in_vain_the_model_is_left_alone_although_something_else_was_compacted() -> None:
    model, ledger = Model(), Ledger()
    model.alive = False
    with Engine("sqlite://", window=6_000, summarizer=model, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        for turn in range(20):
            say(thread, ledger, turn)
        thread.compact()
        assert degraded(engine, thread)
        for turn in range(20, 40):
            thread.append({"role": "user", "content": f"mark-{turn}-q {LONG}"}, compact=False)
        calls = model.calls
        result = thread.compact()
        assert result.summaries
        assert model.calls > calls
        again = thread.compact()
        assert (again.changed, again.model_calls) == (False, 0)


def test_the_same_words_written_for_want_of_a_model_and_written_without_one_are_two_summaries(tmp_path: Path) -> None:
    text = LONG.replace(". ", ".")
    url, messages = f"sqlite:///{tmp_path / 'a.db'}", [{"role": "user", "content": f"{n}: {text}"} for n in range(40)]
    with Engine(url, window=1_500, summarizer=ScriptedModel("raising"), background=False, load_plugins=False) as engine:
        engine.thread("t").append(messages, compact=False)
        engine.thread("t").compact()
        marked = degraded(engine, engine.thread("t"))
        assert marked
        assert engine.thread("t").undo()
    with Engine(url, window=1_500, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.compact()
        assert degraded(engine, thread) == []
        shown = [item.id for item in thread.context().items if item.kind == "summary"]
        assert {thread.describe(id)["text"] for id in shown} & {thread.describe(id)["text"] for id in marked}
        report = engine.verify()
        assert report.ok, report.problems


def test_above_hard_with_degraded_summaries_left_it_is_not_exhausted_but_partial() -> None:
    with Engine("sqlite://", window=300, summarizer=ScriptedModel("raising"), background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": f"{n}: {LONG * 4}"} for n in range(12)], compact=False)
        before = thread.context().messages
        result = thread.compact()
        assert result.summaries
        assert result.tokens_after > thread.context().budget
        assert result.status == "partial"
        assert "above hard" in result.reason
        assert "degraded" in result.reason
        assert result.changed is (thread.context().messages != before), "what is behind the omission line did not change"


def test_what_could_not_be_mended_is_tried_again_ever_later_or_once_others_were_written() -> None:
    now = 0.0
    ledger = Unmended(lambda: now)
    assert ledger.may_try(KEY, "sum_1")
    ledger.failed(KEY, "sum_1")
    assert not ledger.may_try(KEY, "sum_1")
    assert ledger.may_try(KEY, "sum_2")
    ledger.written()
    assert ledger.may_try(KEY, "sum_1")
    ledger.failed(KEY, "sum_1")
    ledger.written()
    assert not ledger.may_try(KEY, "sum_1")
    now = 120.0
    assert ledger.may_try(KEY, "sum_1")


def test_a_person_who_asks_in_vain_gets_another_try_for_a_changed_thread_or_after_a_while() -> None:
    now = 0.0
    ledger = Unmended(lambda: now)
    assert ledger.may_ask(KEY, (1, 1))
    ledger.asked_in_vain(KEY, (1, 1))
    assert not ledger.may_ask(KEY, (1, 1))
    assert ledger.may_ask(KEY, (1, 2))
    now = 30.0
    assert ledger.may_ask(KEY, (1, 1))
