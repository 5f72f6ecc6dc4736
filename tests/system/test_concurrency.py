"""Threads and processes on one database: nothing lost, doubled or reordered, and no lock reaches a user."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lossless import Engine, SummarizeRequest, Thread
from lossless_children import append_all, children, message, opened
from lossless_scripts import honest


def at_once(*works: Callable[[], object]) -> None:
    """Do several things at the same time, each on a thread of its own; raise what one of them raised."""
    gate, errors = threading.Barrier(len(works)), []

    def run(work: Callable[[], object]) -> None:
        gate.wait(30)
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


def check_complete(thread: Thread, writers: dict[str, int]) -> None:
    """Check that a thread holds what each writer appended, whole and in its order, under gapless seqs."""
    found = thread.messages(deleted=True)
    assert [each.seq for each in found] == list(range(1, sum(writers.values()) + 1))
    for name, count in writers.items():
        numbers = [each.text.split()[0] for each in found if each.text.startswith(f"{name}:")]
        assert numbers == [f"{name}:{number}" for number in range(count)]


def appender(engine: Engine, thread: str, name: str, count: int) -> Callable[[], None]:
    def work() -> None:
        for number in range(count):
            engine.thread(thread).append(message(name, number))

    return work


@pytest.mark.parametrize("background", [False, True])
def test_eight_threads_append_to_one_thread_and_to_several(tmp_path: Path, background: bool) -> None:
    with opened(f"sqlite:///{tmp_path / 'a.db'}", window=2_000, background=background) as engine:
        at_once(*(appender(engine, "shared", f"w{n}", 40) for n in range(8)))
        at_once(*(appender(engine, f"own {n}", "w", 20) for n in range(8)))
        for name in ("shared", *(f"own {n}" for n in range(8))):
            assert engine.thread(name).wait(60)
        check_complete(engine.thread("shared"), {f"w{n}": 40 for n in range(8)})
        for n in range(8):
            check_complete(engine.thread(f"own {n}"), {"w": 20})
        assert engine.verify().ok
        assert engine.thread("shared").context().status == "ok"


def test_threads_share_a_database_in_memory() -> None:
    with opened("sqlite://", window=2_000) as engine:
        at_once(
            *(appender(engine, "shared", f"w{n}", 25) for n in range(4)),
            *(lambda: [engine.thread("shared").context() for _ in range(20)] for _ in range(2)),
            lambda: [engine.grep("amount") for _ in range(10)],
        )
        assert engine.thread("shared").wait(60)
        check_complete(engine.thread("shared"), {f"w{n}": 25 for n in range(4)})
        assert engine.verify().ok


def test_three_processes_append_to_one_thread(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with opened(url) as engine:
        engine.thread("t").append(message("first", 0))
    gate = children().Barrier(4)
    options = {"window": 2_000, "background": True}
    started = [children().Process(target=append_all, args=(url, "t", f"p{n}", 60, gate, options)) for n in range(3)]
    for child in started:
        child.start()
    gate.wait(60)
    with opened(url, window=2_000) as engine:
        while any(child.is_alive() for child in started):
            context = engine.thread("t").context()
            assert context.represented <= context.total
            engine.thread("t").compact()
            time.sleep(0.02)
        for child in started:
            child.join(60)
        assert [child.exitcode for child in started] == [0, 0, 0]
        check_complete(engine.thread("t"), {"first": 1} | {f"p{n}": 60 for n in range(3)})
        assert engine.verify().ok


def test_readers_see_one_state_while_others_write(url: str) -> None:
    with opened(url, window=2_000) as engine:
        thread = engine.thread("t")
        thread.append(message("first", 0))

        def read() -> None:
            for _ in range(40):
                context = thread.context()
                shown = sum(item.kind == "message" for item in context.items)
                under = sum(len(thread.expand(item.id)) for item in context.items if item.kind == "summary")
                assert shown + under == context.represented <= context.total

        at_once(appender(engine, "t", "w", 80), read, read, lambda: [engine.verify() for _ in range(4)])
        assert thread.wait(60)
        assert engine.verify().ok


class Gated:
    """A summarizer that waits, while something else happens to the thread."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go_on = threading.Event()
        self.calls = 0

    def __call__(self, request: SummarizeRequest) -> str:
        self.calls += 1
        self.asked.set()
        assert self.go_on.wait(30)
        return honest(request)


def filled(engine: Engine, count: int = 80) -> Thread:
    thread = engine.thread("t")
    thread.append([message("old", number) for number in range(count)], compact=False)
    return thread


def test_what_is_appended_during_a_model_call_is_kept_and_the_compaction_too(url: str) -> None:
    model = Gated()
    with opened(url, window=2_000, summarizer=model, background=False) as engine:
        thread, results = filled(engine), []

        def meanwhile() -> None:
            assert model.asked.wait(30)
            thread.append([message("new", number) for number in range(3)], compact=False)
            model.go_on.set()

        at_once(lambda: results.append(thread.compact()), meanwhile)
        assert results[0].changed
        check_complete(thread, {"old": 80, "new": 3})
        assert [each.text.split()[0] for each in thread.messages()[-3:]] == ["new:0", "new:1", "new:2"]
        assert any(item.kind == "summary" for item in thread.context().items)
        assert engine.verify().ok


@pytest.mark.parametrize("inside", [True, False])
def test_a_promotion_that_lost_the_race_is_spliced_in_or_dropped(url: str, inside: bool) -> None:
    model = Gated()
    with opened(url, window=2_000, summarizer=model, background=False) as engine:
        thread, results = filled(engine), []
        victim = "m_2" if inside else "m_79"

        def meanwhile() -> None:
            assert model.asked.wait(30)
            thread.delete(victim)
            model.go_on.set()

        at_once(lambda: results.append(thread.compact()), meanwhile)
        (result,) = results
        assert result.changed is not inside
        assert engine.verify().ok
        assert victim not in [each.id for each in thread.messages()]
        for item in thread.context().items:
            if item.kind == "summary":
                assert victim not in [each.id for each in thread.expand(item.id)]
        calls = model.calls
        again = thread.compact()
        assert engine.verify().ok
        if not inside:
            assert (again.model_calls, model.calls) == (0, calls)
        else:
            assert again.changed


def test_two_engines_compact_the_same_thread_at_once(url: str) -> None:
    with opened(url, window=2_000, background=False) as one, opened(url, window=2_000, background=False) as other:
        filled(one, 200)
        at_once(one.thread("t").compact, other.thread("t").compact, lambda: one.thread("t").compact(force=True))
        assert one.verify().ok
        assert one.thread("t").context().messages == other.thread("t").context().messages
        assert one.thread("t").context().status == "ok"


def test_background_compaction_stays_off_the_reply_path(tmp_path: Path) -> None:
    model = Gated()
    with opened(f"sqlite:///{tmp_path / 'a.db'}", window=20_000, summarizer=model) as engine:
        thread = engine.thread("t")
        numbers = itertools.count()
        while not model.asked.is_set():
            thread.append(message("w", next(numbers), words=200))
            assert next(numbers) < 2_000
        started = time.monotonic()
        thread.append(message("w", 0))
        context = thread.context()
        assert time.monotonic() - started < 2, "an append or a context waited for a model"
        assert all(item.kind == "message" for item in context.items)
        model.go_on.set()
        assert thread.wait(60)
        assert any(item.kind == "summary" for item in thread.context().items)


def test_closing_finishes_what_runs_or_drops_it(tmp_path: Path) -> None:
    for wait in (True, False):
        url = f"sqlite:///{tmp_path / f'{wait}.db'}"
        model = Gated()
        engine = opened(url, window=2_000, summarizer=model)
        thread = engine.thread("t")
        thread.append([message("w", number, words=60) for number in range(14)], compact=False)
        thread.append(message("w", 32))
        assert model.asked.wait(10)
        threading.Timer(0.2, model.go_on.set).start()
        engine.close(wait=wait)
        with opened(url, window=2_000) as again:
            assert again.verify().ok
            summaries = [item for item in again.thread("t").context().items if item.kind == "summary"]
            assert bool(summaries) is wait
