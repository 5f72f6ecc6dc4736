"""A statement that fails leaves the old state, harms nobody else, and the same call succeeds when it is made again."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lossless import Engine, LosslessError, Thread
from lossless_children import ACTS, fill_for_acts, message, opened
from lossless_faults import Faults
from lossless_invariants import rendered_text
from lossless_shares import on_both, shared_out

MORE: dict[str, Callable[[Engine], object]] = {
    "sync": lambda engine: engine.thread("t").sync(
        [*(found.payload for found in engine.thread("t").messages()[-3:]), message("new", 1)], compact=False
    ),
}
EVERYTHING = {**{act: ACTS[act] for act in ACTS if act != "doctor"}, **MORE}


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults().install(monkeypatch)


def seen(engine: Engine) -> object:
    found: list[object] = []
    for name in ("t", "another"):
        thread = engine.thread(name)
        found.append([(each.id, each.seq, each.text, each.deleted) for each in thread.messages(deleted=True)])
        found.append((thread.views(), thread.snapshots()))
    return found


def shown(engine: Engine) -> str:
    return rendered_text(engine.thread("t").context())


@pytest.mark.parametrize(("kind", "act"), shared_out(EVERYTHING, both=("append",)))
def test_a_failing_statement_leaves_the_old_state(url: str, faults: Faults, act: str) -> None:
    fail_again_and_again(url, faults, act, rarer=2)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("kind", "act"), on_both(EVERYTHING))
def test_statements_that_fail_everywhere_leave_the_old_state(url: str, faults: Faults, act: str) -> None:
    fail_again_and_again(url, faults, act, rarer=12)


def fail_again_and_again(url: str, faults: Faults, act: str, rarer: int) -> None:
    """Fail at one statement after the other, with steps that grow by a part, until the act goes through."""
    steps = random.Random(act)
    number, said = 1, list[LosslessError]()
    with opened(url, window=2_000, background=False) as engine:
        fill_for_acts(engine)
        before, text = seen(engine), shown(engine)
        while True:
            try:
                with faults.at_statement(number):
                    EVERYTHING[act](engine)
            except LosslessError as error:
                said.append(error)
                assert seen(engine) == before, f"after a failure at statement {number}"
                assert shown(engine) == text
            else:
                break
            number += steps.randint(1, max(3, number // rarer))  # compaction has hundreds of statements
        assert said
        assert all("disk" in error.message and error.hint for error in said), said
        assert number > 3
        assert seen(engine) != before
        assert engine.verify().ok


def fill(engine: Engine) -> Thread:
    return fill_for_acts(engine)


def test_what_was_read_in_a_transaction_that_failed_is_not_remembered(tmp_path: Path, faults: Faults) -> None:
    revision = {"id": "given-2", "role": "user", "content": "the revision that was never stored " * 20}
    with opened(f"sqlite:///{tmp_path / 'a.db'}", window=2_000, background=False) as engine:
        thread = fill(engine)
        with opened(f"sqlite:///{tmp_path / 'b.db'}", window=2_000, background=False) as other:
            twin = fill(other)
            with faults.at_statement(0):
                twin.append(revision, compact=False)
        with pytest.raises(LosslessError), faults.at_statement(faults.written):
            thread.append(revision, compact=False)
        thread.append({"role": "user", "content": "this came instead"})
        assert thread.messages()[-1].text == "this came instead"
        assert "this came instead" in rendered_text(thread.context())
        assert "never stored" not in rendered_text(thread.context())


def test_one_callers_failure_is_not_another_ones(url: str) -> None:
    with opened(url, window=200_000) as engine:
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
