"""A process that is killed at any moment leaves the old state or the new one, and everything it was told is safe."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.engine import make_url

from lossless_children import ACTS, append_until_killed, children, die_at_statement, fill_for_acts, message, opened
from lossless_postgres import Server
from lossless_shares import on_both, shared_out
from lossless_tampering import tamper

FORKED = multiprocessing.get_context("fork" if hasattr(os, "fork") else None)
"""Children that are there at once, one for each example."""
SHARE_SECONDS = 2
ROUNDS = 300
ROUNDS_A_THREAD = 15


def last_of(pipe: Any, seconds: float) -> int:
    """Give the last number that a child acknowledged within some seconds; -1 for none."""
    last, deadline = -1, time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and pipe.poll(left):
        try:
            last = pipe.recv()
        except EOFError:
            break
    return last


def killed_in_a_round(url: str, name: str, start: int, alive: float, background: bool) -> int:
    """Let a child write to a thread and kill it; give the last number that it acknowledged."""
    receive, send = children().Pipe(duplex=False)
    child = children().Process(target=append_until_killed, args=(url, send, start, background, name))
    child.start()
    send.close()
    assert receive.poll(60), "the child did not begin"
    last = last_of(receive, alive)
    os.kill(child.pid or 0, signal.SIGKILL)
    child.join(30)
    assert child.exitcode == -signal.SIGKILL
    last = max(last, last_of(receive, 0.01))
    receive.close()
    return last


def kill_again_and_again(url: str, goes_on: Callable[[int], bool]) -> int:
    """Kill writers until it is enough, and look at what they leave each time; give how many rounds that were."""
    moments = random.Random(7)
    opened(url).close()
    rounds = safe = 0
    while goes_on(rounds):
        name = f"t{rounds // ROUNDS_A_THREAD}"
        safe = 0 if rounds % ROUNDS_A_THREAD == 0 else safe
        acknowledged = killed_in_a_round(url, name, safe, moments.uniform(0.02, 0.4), background=rounds % 2 == 0)
        with opened(url, window=2_000) as engine:
            assert engine.verify(name).ok, engine.verify(name).problems
            stored = engine.thread(name).messages(deleted=True)
            assert [found.text for found in stored] == [str(message("child", n)["content"]) for n in range(len(stored))]
            assert len(stored) > acknowledged
            assert engine.thread(name).context().status == "ok"
            for branch in engine.threads(limit=500):
                if branch.id.startswith(f"{name}-"):
                    assert engine.verify(branch.id).ok, engine.verify(branch.id).problems
        safe = len(stored)
        rounds += 1
    with opened(url) as engine:
        assert engine.verify().ok, engine.verify().problems
    return rounds


def test_a_killed_writer_loses_nothing_it_acknowledged(url: str) -> None:
    end = time.monotonic() + SHARE_SECONDS
    assert kill_again_and_again(url, lambda rounds: rounds < 2 or time.monotonic() < end)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_three_hundred_killed_writers_lose_nothing(url: str) -> None:
    assert kill_again_and_again(url, lambda rounds: rounds < ROUNDS) == ROUNDS


@pytest.fixture(scope="module")
def prepared_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prepared") / "a.db"
    with opened(f"sqlite:///{path}", window=2_000, background=False) as engine:
        fill_for_acts(engine)
    return path


@pytest.fixture(scope="module")
def prepared_template(postgres: Server) -> Iterator[str]:
    with postgres.database() as url:
        with opened(url, window=2_000, background=False) as engine:
            fill_for_acts(engine)
        yield str(make_url(url).database)


@pytest.fixture
def fresh(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Makes copies of a prepared database."""
    made: list[str] = []
    server: Server | None = None if kind == "sqlite" else request.getfixturevalue("postgres")

    def copy() -> str:
        if server is None:
            path = shutil.copy(request.getfixturevalue("prepared_file"), tmp_path / f"{len(made)}.db")
            made.append(f"sqlite:///{path}")
        else:
            made.append(server.create(template=request.getfixturevalue("prepared_template"), options=""))
        return made[-1]

    yield copy
    if server is not None:
        for url in made:
            server.drop(url)


def state(url: str, *, sound: bool = True) -> tuple[object, ...]:
    """Give what a reader sees of a database that verifies, or of one that is ``sound`` but for what a doctor mends."""
    with opened(url, window=2_000, background=False) as engine:
        assert engine.verify().ok is sound, engine.verify().problems
        seen = []
        for name in ("t", "another"):
            thread = engine.thread(name)
            messages = [(found.id, found.seq, found.text, found.deleted) for found in thread.messages(deleted=True)]
            snapshots = [snapshot.name for snapshot in thread.snapshots()]
            seen.append((tuple(messages), tuple(snapshots), len(thread.views()), str(thread.context().messages)))
        return tuple(seen)


def run_to(url: str, number: int, act: str, processes: Any = None) -> int | None:
    """Let a child do something and die at a statement; give the number of statements if it got to the end."""
    processes = processes or children()
    receive, send = processes.Pipe(duplex=False)
    child = processes.Process(target=die_at_statement, args=(url, number, act, send))
    child.start()
    send.close()
    child.join(60)
    assert child.exitcode in (0, 9)
    return receive.recv() if child.exitcode == 0 else None


def some(statements: int, act: str, more: int = 1) -> list[int]:
    """Choose the last statement, and others: each is a process of its own."""
    moments = random.Random(act)
    return sorted({statements, *(moments.randint(2, statements) for _ in range(more))})


def die_at_some(fresh: Callable[[], str], act: str, more: int) -> None:
    done = fresh()
    statements = run_to(done, 0, act)
    assert statements is not None
    old, new = state(fresh()), state(done)
    assert old != new
    for number in some(statements, act, more):
        url = fresh()
        assert run_to(url, number, act) is None
        assert state(url) in (old, new), f"died at statement {number} of {statements}"


DEADLY = [act for act in ACTS if act != "doctor"]


@pytest.mark.parametrize(("kind", "act"), shared_out(DEADLY, both=("append",)))
def test_dying_at_any_statement_leaves_the_old_state_or_the_new_one(fresh: Callable[[], str], act: str) -> None:
    die_at_some(fresh, act, 1)


KNOWN: dict[tuple[str, str], tuple[int, object, object]] = {}
"""How many statements an act has on a database, and what is seen before and after it."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(act=st.sampled_from(["append", "revise", "delete", "snapshot", "branch", "restore"]), moment=st.floats(0, 1))
def test_whatever_a_process_does_and_wherever_it_dies_it_is_done_or_not(
    fresh: Callable[[], str], kind: str, act: str, moment: float
) -> None:
    if (kind, act) not in KNOWN:
        done = fresh()
        statements = run_to(done, 0, act, FORKED)
        assert statements is not None
        KNOWN[kind, act] = statements, state(fresh()), state(done)
    statements, old, new = KNOWN[kind, act]
    url, number = fresh(), 1 + round(moment * (statements - 1))
    assert run_to(url, number, act, FORKED) is None
    assert state(url) in (old, new), f"died at statement {number} of {statements}"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("kind", "act"), on_both(DEADLY))
def test_dying_at_many_statements_leaves_the_old_state_or_the_new_one(fresh: Callable[[], str], act: str) -> None:
    die_at_some(fresh, act, 12)


def test_a_doctor_who_dies_can_be_called_again(fresh: Callable[[], str]) -> None:
    def damaged() -> str:
        url = fresh()
        tamper(
            url,
            "UPDATE lossless_head SET total_tokens = 1",
            "DELETE FROM lossless_search_doc WHERE seq = 7",
            "UPDATE lossless_summary SET text = 'nothing'",
        )
        return url

    done = damaged()
    statements = run_to(done, 0, "doctor")
    assert statements is not None
    for number in some(statements, "doctor"):
        url = damaged()
        assert run_to(url, number, "doctor") is None
        with opened(url, window=2_000, background=False) as engine, opened(done, window=2_000, background=False) as other:
            left = {finding.kind for finding in engine.doctor().left}
            assert left <= {"summary", "view", "snapshot"}, "only what is immutable stays damaged"
            assert engine.thread("t").context().messages == other.thread("t").context().messages
