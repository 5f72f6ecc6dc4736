"""A process that is killed at any moment leaves the old state or the new one, and everything it was told is safe."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from lossless_children import append_until_killed, children, die_at_statement, message, opened

CHILDREN = children()
ROUNDS = 20
ACTS = ("create", "append", "revise", "delete", "compact", "undo")


def wait_for(pipe: Any, seconds: float) -> int | None:
    """Give the last number that a child acknowledged within some seconds."""
    last, deadline = None, time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and pipe.poll(left):
        try:
            last = pipe.recv()
        except EOFError:
            break
    return last


@pytest.mark.parametrize("background", [False, True])
def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path, background: bool) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    moments = random.Random(7)
    safe = -1
    opened(url).close()
    for _ in range(ROUNDS // 2):
        receive, send = CHILDREN.Pipe(duplex=False)
        child = CHILDREN.Process(target=append_until_killed, args=(url, send, safe + 1, background))
        child.start()
        send.close()
        assert receive.poll(60), "the child did not begin"
        acknowledged = wait_for(receive, moments.uniform(0.02, 0.4))
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join(30)
        assert child.exitcode == -signal.SIGKILL
        acknowledged = max(filter(lambda n: n is not None, [acknowledged, wait_for(receive, 0.01)]), default=safe)
        receive.close()
        with opened(url, window=2_000) as engine:
            assert engine.verify().ok, engine.verify().problems
            stored = engine.thread("t").messages(deleted=True)
            assert [found.text for found in stored] == [str(message("child", n)["content"]) for n in range(len(stored))]
            assert len(stored) > acknowledged
            assert engine.thread("t").context().status == "ok"
            safe = len(stored) - 1
    assert safe > ROUNDS


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prepared") / "a.db"
    with opened(f"sqlite:///{path}", window=2_000, background=False) as engine:
        thread = engine.thread("t")
        thread.append([{**message("old", n), "id": f"given-{n}"} for n in range(60)], compact=False)
        assert thread.compact(force=True).changed
        thread.delete("given-58")
        thread.append([message("tail", n, words=60) for n in range(30)], compact=False)
    return path


def state(url: str) -> tuple[object, ...]:
    """Give what a reader sees of a database that verifies."""
    with opened(url, window=2_000, background=False) as engine:
        assert engine.verify().ok, engine.verify().problems
        seen = []
        for name in ("t", "another"):
            thread = engine.thread(name)
            messages = [(found.id, found.seq, found.text, found.deleted) for found in thread.messages(deleted=True)]
            seen.append((tuple(messages), len(thread.views()), str(thread.context().messages)))
        return tuple(seen)


def run_to(url: str, number: int, act: str) -> int | None:
    """Let a child do something and die at a statement; give the number of statements if it got to the end."""
    receive, send = CHILDREN.Pipe(duplex=False)
    child = CHILDREN.Process(target=die_at_statement, args=(url, number, act, send))
    child.start()
    send.close()
    child.join(60)
    assert child.exitcode in (0, 9)
    return receive.recv() if child.exitcode == 0 else None


@pytest.mark.parametrize("act", ACTS)
def test_dying_at_any_statement_leaves_the_old_state_or_the_new_one(prepared: Path, tmp_path: Path, act: str) -> None:
    def fresh(name: str) -> str:
        return f"sqlite:///{shutil.copy(prepared, tmp_path / f'{name}.db')}"

    done = fresh("done")
    statements = run_to(done, 0, act)
    assert statements is not None
    old, new = state(fresh("untouched")), state(done)
    assert old != new
    everywhere = list(range(1, statements + 1))
    # The first and the last statements, and a few between: each is a process of its own.
    for number in sorted({*everywhere[:1], *everywhere[-2:], *random.Random(act).sample(everywhere, min(3, statements))}):
        url = fresh(f"at {number}")
        assert run_to(url, number, act) is None
        assert state(url) in (old, new), f"died at statement {number} of {statements}"
