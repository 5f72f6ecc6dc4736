"""A statement that fails leaves the old state, harms nobody else, and the same call succeeds when it is made again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lossless import Engine, LosslessError, Thread
from lossless_children import message, opened
from lossless_faults import Faults
from lossless_invariants import rendered_text

ACTS: dict[str, Callable[[Thread], object]] = {
    "append": lambda thread: thread.append([message("new", 1), message("new", 2)], compact=False),
    "sync": lambda thread: thread.sync([*(found.payload for found in thread.messages()[-3:]), message("new", 1)], compact=False),
    "revise": lambda thread: thread.append({"id": "given-2", "role": "user", "content": "another content"}, compact=False),
    "delete": lambda thread: thread.delete("given-3"),
    "compact": lambda thread: thread.compact(force=True),
    "undo": lambda thread: thread.undo(),
}


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults().install(monkeypatch)


def fill(engine: Engine) -> Thread:
    thread = engine.thread("t")
    thread.append([{**message("old", n), "id": f"given-{n}"} for n in range(60)], compact=False)
    assert thread.compact(force=True).changed
    thread.append([message("tail", n, words=60) for n in range(30)], compact=False)
    return thread


def seen(thread: Thread) -> object:
    return [(found.id, found.seq, found.text, found.deleted) for found in thread.messages(deleted=True)], thread.views()


@pytest.mark.parametrize("act", ACTS)
def test_a_failing_statement_leaves_the_old_state(tmp_path: Path, faults: Faults, act: str) -> None:
    with opened(f"sqlite:///{tmp_path / 'a.db'}", window=2_000, background=False) as engine:
        thread = fill(engine)
        before, shown = seen(thread), rendered_text(thread.context())
        for number in range(1, 500):
            try:
                with faults.at_statement(number):
                    ACTS[act](thread)
            except LosslessError:
                assert seen(thread) == before
                assert rendered_text(thread.context()) == shown
                assert engine.verify().ok
            else:
                break
        assert number > 5
        assert seen(thread) != before
        assert engine.verify().ok


def test_what_was_read_in_a_transaction_that_failed_is_not_remembered(tmp_path: Path, faults: Faults) -> None:
    revision = {"id": "given-2", "role": "user", "content": "the revision that was never stored " * 20}
    with opened(f"sqlite:///{tmp_path / 'a.db'}", window=2_000, background=False) as engine:
        thread = fill(engine)
        with opened(f"sqlite:///{tmp_path / 'b.db'}", window=2_000, background=False) as other:
            twin = fill(other)
            with faults.at_statement(0):
                twin.append(revision, compact=False)
        with pytest.raises(LosslessError), faults.at_statement(faults.seen):
            thread.append(revision, compact=False)
        thread.append({"role": "user", "content": "this came instead"})
        assert thread.messages()[-1].text == "this came instead"
        assert "this came instead" in rendered_text(thread.context())
        assert "never stored" not in rendered_text(thread.context())


def test_one_callers_failure_is_not_another_ones(tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path / 'a.db'}", window=200_000) as engine:
        gate, errors, done = threading.Barrier(8), [], []

        def work(number: int) -> None:
            thread = engine.thread(f"t{number % 4}")
            gate.wait()
            for each in range(25):
                try:
                    if number % 2:
                        thread.delete("absent")
                    else:
                        done.extend(thread.append(message(str(number), each)))
                except LosslessError as error:
                    errors.append(error)

        workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(done) == 4 * 25
        assert len(errors) == 4 * 25
        assert engine.verify().ok
        assert engine.verify().messages == 100
