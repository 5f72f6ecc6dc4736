"""What a person does to a thread while its compaction is under way in the background holds; the compaction gives way."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from lossless import Engine, SummarizeRequest, Thread
from lossless_invariants import Ledger, check_context, check_store
from lossless_scripts import honest

LONG = "The pipeline wrote 4,711 rows to /srv/out/a.csv and then stopped with code E17. " * 6


def say(thread: Thread, ledger: Ledger, number: int, *, compact: bool = True) -> None:
    message = {"role": "assistant" if number % 2 else "user", "content": f"{number} {LONG}"}
    (ref,) = thread.append(message, compact=compact)
    ledger.add(ref.id, ref.seq, message)


def undo(thread: Thread, ledger: Ledger) -> None:
    assert thread.undo()


def restore(thread: Thread, ledger: Ledger) -> None:
    assert thread.restore("begun")
    ledger.delete([entry.id for entry in ledger.entries[6:]])


def delete(thread: Thread, ledger: Ledger) -> None:
    ledger.delete(thread.delete([entry.id for entry in ledger.entries[8:12]]))


def delete_all(thread: Thread, ledger: Ledger) -> None:
    ledger.delete(thread.delete([entry.id for entry in ledger.entries]))


def revise(thread: Thread, ledger: Ledger) -> None:
    message = {"id": ledger.entries[9].id, "role": "assistant", "content": "I take that back."}
    (ref,) = thread.append(message)
    ledger.add(ref.id, ref.seq, message)


def branch(thread: Thread, ledger: Ledger) -> None:
    other = thread.branch(at=ledger.entries[20].seq)
    assert other.context().total == 21
    other.compact(force=True)


@pytest.mark.parametrize("act", [undo, restore, delete, delete_all, revise, branch])
def test_what_a_person_does_meanwhile_holds(act: Callable[[Thread, Ledger], None]) -> None:
    running, go = threading.Event(), threading.Event()
    gated = False

    def model(request: SummarizeRequest) -> str:
        if gated and request.thread_id == "t":
            running.set()
            assert go.wait(30)
        return honest(request)

    ledger = Ledger()
    with Engine("sqlite://", window=8_000, summarizer=model, load_plugins=False) as engine:
        thread = engine.thread("t")
        for number in range(14):
            say(thread, ledger, number, compact=False)
            if number == 5:
                thread.snapshot("begun")
        assert thread.compact(force=True).changed
        gated, number = True, 14
        while not running.is_set():
            say(thread, ledger, number)
            number += 1
            assert number < 90
            # No more beyond soft, however long the worker takes to begin: above hard an append would compact at once.
            running.wait(30 if thread.context().tokens > engine.require_budget().limits(engine.margin).soft else 0)
        act(thread, ledger)
        go.set()
        assert thread.wait(30)
        check_store(engine, thread, ledger)
        context = check_context(engine, thread, ledger)
        if act is undo:
            assert not any(item.kind == "summary" for item in context.items), "what was taken back is not done again at once"


def test_a_model_that_hangs_for_one_thread_keeps_no_other_waiting() -> None:
    go = threading.Event()

    def model(request: SummarizeRequest) -> str:
        if request.thread_id == "stuck":
            assert go.wait(30)
        return honest(request)

    with Engine("sqlite://", window=8_000, summarizer=model, load_plugins=False) as engine:
        stuck, other = engine.thread("stuck"), engine.thread("other")
        try:
            for thread in (stuck, other):
                thread.append([{"role": "user", "content": f"{number} {LONG}"} for number in range(36)])
            assert other.wait(20)
            assert other.context().tokens < stuck.context().tokens
            assert not stuck.wait(0.01)
        finally:
            go.set()
        assert stuck.wait(20)
