"""What an engine keeps in memory does not grow with the number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import lossless.engine
from lossless import Engine
from lossless.store.recent import Recent


def test_what_was_used_longest_ago_goes_first() -> None:
    kept: Recent[str, int] = Recent(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c"), len(kept)) == (1, None, 3, 2)
    kept.drop("a")
    kept.drop("absent")
    assert (kept.get("a"), len(kept)) == (None, 1)


def test_many_threads_of_a_process_use_it_at_once() -> None:
    kept: Recent[int, int] = Recent(10)

    def use(start: int) -> None:
        for number in range(3_000):
            kept.put((start + number) % 50, number)
            kept.get(number % 50)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    assert len(kept) == 10


def test_an_engine_keeps_few_of_many_threads_and_still_knows_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lossless.engine, "_THREADS_KEPT", 5)
    with Engine("sqlite://", window=8_000, load_plugins=False) as engine:
        for number in range(30):
            engine.thread(f"t{number}").append({"role": "user", "content": f"number {number}"})
        branch = engine.thread("t0").branch(thread_id="branch")
        for number in range(30):
            engine.thread(f"t{number}").context()
        branch.append({"role": "user", "content": "in the branch"})
        assert [message.text for message in branch.messages()] == ["number 0", "in the branch"]
        assert max(len(engine._keys), len(engine._thread_formats)) == 5
