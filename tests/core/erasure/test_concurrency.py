"""Erasing beside others who append, compact and branch: nothing of theirs is lost, and nothing that was erased is left."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from lossless import Engine
from lossless.dag import heads
from lossless_children import opened

SECRET = "zebraquux 555-0199"
SAME = [{"role": "user", "content": f"{SECRET} the same words {n} " + "and more of them " * 10} for n in range(6)]


def test_erasing_beside_those_who_say_the_same_loses_nothing(url: str) -> None:
    stored = {"a": 0, "b": 0}
    failed: list[BaseException] = []
    ended = threading.Event()
    with (
        Engine(url, window=1_000, background=False, load_plugins=False) as engine,
        Engine(url, window=1_000, background=False, load_plugins=False) as other,
    ):

        def append(one: Engine, name: str) -> None:
            while not ended.is_set():
                stored[name] += len(one.thread(name).append(SAME[stored[name] % 6]))

        def compact() -> None:
            while not ended.is_set():
                if other.threads(limit=1).items:
                    other.thread("t").append({"role": "user", "content": "on " * 40})
                    other.thread("t").compact(force=True)

        def guarded(act: Callable[[], None]) -> None:
            try:
                act()
            except BaseException as error:
                failed.append(error)

        acts = [lambda: append(engine, "a"), lambda: append(other, "b"), compact]
        workers = [threading.Thread(target=guarded, args=(act,)) for act in acts]
        for worker in workers:
            worker.start()
        thread = engine.thread("t")
        try:
            for number in range(8):
                refs = thread.append([{**message, "id": f"{number}-{n}"} for n, message in enumerate(SAME)])
                if number % 3 == 0:
                    thread.branch(at=refs[3].id, thread_id=f"branch-{number}")
                engine.erase("t", [ref.id for ref in refs], purge=False)
        finally:
            ended.set()
        for worker in workers:
            worker.join(60)
        assert failed == []
        for name in ("a", "b"):
            said = engine.thread(name).messages()
            assert len(said) == stored[name]
            assert all(SECRET in message.text for message in said)
        for info in engine.threads():
            if info.id not in ("a", "b"):
                shown = str(engine.thread(info.id).context().messages)
                assert SECRET not in shown + str([m.payload for m in engine.thread(info.id).messages(deleted=True)])
        assert engine.verify().problems == ()


def test_a_thread_that_is_collected_while_it_is_begun_again_is_made_anew(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    revive = heads._REVIVE
    with opened(postgres_url) as engine, opened(postgres_url) as other:

        class Late:
            def run(self, connection: Connection, values: dict[str, object]) -> int:
                other.collect_garbage()
                return revive.run(connection, values)

        engine.thread("t").append({"role": "user", "content": "before"})
        engine.delete_thread("t")
        monkeypatch.setattr(heads, "_REVIVE", Late())
        assert engine.thread("t").append({"role": "user", "content": "after"})[0].seq == 1
        monkeypatch.undo()
        assert [found.text for found in other.thread("t").messages(deleted=True)] == ["after"]
        assert engine.verify().problems == ()
