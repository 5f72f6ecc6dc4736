"""Copies of threads: made at once, and independent of what they were copied from."""

from __future__ import annotations

import random
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from sqlalchemy import Connection, func, select

from lossless import Engine
from lossless.checkpoints import lines
from lossless.store.tables import METADATA
from lossless_langgraph import LosslessSaver
from lossless_langgraph_putting import config, put

TABLES = [table for name, table in METADATA.tables.items() if name.startswith("lossless_checkpoint")]


def rows(saver: LosslessSaver) -> int:
    with saver.engine.database.read() as connection:
        return sum(connection.execute(select(func.count()).select_from(table)).scalar_one() for table in TABLES)


def numbers(saver: LosslessSaver, thread: str) -> list[int]:
    return [found.checkpoint["channel_values"]["n"] for found in saver.list(config(thread))]


def test_a_thread_that_is_begun_again_while_it_is_looked_for_is_locked_as_it_is_now(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine(postgres_url, load_plugins=False) as engine, Engine(postgres_url, load_plugins=False) as other:
        elsewhere, looks = LosslessSaver(other), iter([1])
        put(elsewhere, {"n": 0})

        def find(connection: Connection, namespace: str, thread_id: str) -> lines.Line | None:
            found = find_line(connection, namespace, thread_id)
            if next(looks, None):
                elsewhere.delete_thread("t")
                put(elsewhere, {"n": 1})
            return found

        def locks(connection: Connection) -> None:
            assert lines.lock_line(connection, "default", "t") is not None
            free = select(METADATA.tables["lossless_checkpoint_pool"]).with_for_update(skip_locked=True)
            assert other.database.write(lambda connection: connection.execute(free).all()) == []

        find_line = lines.find_line
        monkeypatch.setattr(lines, "find_line", find)
        engine.database.write(locks)


@pytest.mark.parametrize("length", [3, 40])
def test_a_copy_takes_the_same_few_rows_however_long_its_source_is(saver: LosslessSaver, length: int) -> None:
    where = None
    for n in range(length):
        where = put(saver, {"n": n, "text": "x" * 100}, where)
        saver.put_writes(where, [("n", n)], "task")
    before = rows(saver)
    saver.copy_thread("t", "copy")
    saver.copy_thread("copy", "copy of the copy")
    assert rows(saver) - before == 5
    for thread in ("copy", "copy of the copy"):
        assert numbers(saver, thread) == numbers(saver, "t") == list(range(length))[::-1]


def test_a_thread_that_is_copied_after_each_step_stays_readable(saver: LosslessSaver) -> None:
    where = None
    for n in range(60):
        where = put(saver, {"n": n}, where)
        saver.copy_thread("t", f"copy {n}")
    assert numbers(saver, "t") == list(range(60))[::-1]
    assert [numbers(saver, f"copy {n}") for n in (0, 30, 49, 50, 51, 59)] == [
        list(range(n + 1))[::-1] for n in (0, 30, 49, 50, 51, 59)
    ]
    for thread in ("t", *(f"copy {n}" for n in range(60))):
        saver.delete_thread(thread)
    assert rows(saver) == 0


class Oracle(InMemorySaver):
    """The stock saver in memory, with the methods that it lacks, done by hand."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        for ns, found in self.storage[source_thread_id].items():
            self.storage[target_thread_id][ns] = dict(found)
        for held in (self.writes, self.blobs):
            for key in [key for key in held if key[0] == source_thread_id]:
                value: Any = held[key]  # type: ignore[index]
                held[(target_thread_id, *key[1:])] = dict(value) if isinstance(value, dict) else value  # type: ignore[index]

    def prune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
        for thread in thread_ids:
            for found in self.storage[thread].values():
                for id in sorted(found)[:-1]:
                    del found[id]


def both(savers: tuple[LosslessSaver, Oracle], chance: random.Random, step: int) -> None:
    """Do one thing to both savers."""
    threads = [f"thread {n}" for n in range(6)]
    there = [thread for thread in threads if savers[1].storage[thread][""]]
    thread = chance.choice(there or threads)
    absent = [one for one in threads if one not in there]
    ids = sorted(savers[1].storage[thread][""])
    what = chance.choice(["put", "put", "again", "writes", "writes", "copy", "copy", "delete", "prune"])
    if what == "put" or not ids:
        checkpoint = empty_checkpoint() | {"id": f"{step:04d}", "channel_values": {"n": step, "l": ["x" * 99, f"{step} " * 40]}}
    else:
        checkpoint = empty_checkpoint() | {"id": chance.choice(ids), "channel_values": {"n": -step}}
    versions = dict.fromkeys(checkpoint["channel_values"], f"{step}")
    checkpoint["channel_versions"] = versions  # type: ignore[typeddict-unknown-key]
    writes = chance.choice([[("n", step), ("l", step)], [("__interrupt__", step)], [("l", step)]])
    task, path = f"task {chance.randrange(2)}", f"~{chance.randrange(2)}"
    for saver in savers:
        if what in ("put", "again") or not ids:
            parent = config(thread, checkpoint_id=ids[-1]) if ids else config(thread)
            saver.put(parent, checkpoint, {"step": step}, versions)  # type: ignore[arg-type]
        elif what == "writes":
            saver.put_writes(config(thread, checkpoint_id=checkpoint["id"]), writes, task, path)
        elif what == "copy" and absent:
            saver.copy_thread(thread, absent[0])
        elif what == "delete" and len(there) > 2:
            saver.delete_thread(thread)
        elif what == "prune" and step % 3 == 0:
            saver.prune([thread])


def seen(saver: Any, where: Any) -> list[Any]:
    return [
        (found.config["configurable"]["thread_id"], found.checkpoint, found.metadata, found.pending_writes)
        for found in saver.list(where)
    ]


@pytest.mark.parametrize("seed", range(2))
def test_source_and_copies_never_see_what_the_others_do(saver: LosslessSaver, seed: int) -> None:
    chance, oracle = random.Random(seed), Oracle()
    for step in range(75):
        both((saver, oracle), chance, step)
        if step % 6 == 0:
            for n in range(6):
                assert seen(saver, config(f"thread {n}")) == seen(oracle, config(f"thread {n}")), (step, n)
    everything = sorted(seen(saver, None), key=repr)
    assert everything == sorted((one for n in range(6) for one in seen(oracle, config(f"thread {n}"))), key=repr)
    for n in range(6):
        assert getattr(saver.get_tuple(config(f"thread {n}")), "checkpoint", None) == getattr(
            oracle.get_tuple(config(f"thread {n}")), "checkpoint", None
        )
        saver.delete_thread(f"thread {n}")
    assert rows(saver) == 0
