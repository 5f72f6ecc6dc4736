"""What child processes do in tests of concurrency and crashes. They are spawned, so their code must be importable."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import sys
from collections.abc import Callable
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest

from lossless import Engine, Thread
from lossless.compaction.model import CompactionResult
from lossless.store import schema
from lossless.store.sqlite import SqliteDatabase
from lossless_faults import die_at
from lossless_scripts import honest

__all__ = [
    "ACTS",
    "append_all",
    "append_until_killed",
    "children",
    "die_at_statement",
    "driver_of",
    "fill_for_acts",
    "message",
    "open_as_newer",
    "opened",
    "take_snapshots",
]


@cache
def children() -> ForkServerContext:
    """Give what starts child processes; they find what they need imported and used once, and nothing else of this process."""
    context = multiprocessing.get_context("forkserver")
    # Later ones of a run that has LangGraph's tests need it, too, and it takes seconds.
    more = ["lossless_langgraph_putting"] if "lossless_langgraph_putting" in sys.modules else []
    context.set_forkserver_preload(["lossless_prepared_children", *more])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
        forkserver.ensure_running()
    return context


def message(name: str, number: int, words: int = 20) -> dict[str, Any]:
    """Make the message that a child appends: who it is from, which one it is, and some words."""
    return {
        "role": "assistant" if number % 2 else "user",
        "content": f"{name}:{number} " + f"amount {number} EUR " * (words // 3),
    }


def opened(url: str, **options: Any) -> Engine:
    """Open an engine without other people's plugins."""
    return Engine(url, load_plugins=False, **options)


def driver_of(engine: Engine) -> sqlite3.Connection:
    """Give the driver's connection that an engine writes by: statements can be watched and failed there, none goes round it."""
    assert isinstance(engine.database, SqliteDatabase)
    driver = engine.database._write_connection().connection.dbapi_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def append_all(url: str, thread: str, name: str, count: int, gate: Any, options: dict[str, Any]) -> None:
    """Append messages one by one, beginning when all children are ready."""
    gate.wait(60)
    with opened(url, **options) as engine:
        handle = engine.thread(thread)
        for number in range(count):
            handle.append(message(name, number))


def take_snapshots(url: str, thread: str, name: str, count: int, gate: Any) -> None:
    """Append a message and take a snapshot, so many times, beginning when all children are ready."""
    gate.wait(60)
    with opened(url) as engine:
        handle = engine.thread(thread)
        for number in range(count):
            handle.append(message(name, number))
            handle.snapshot(f"{name} {number}")


def append_until_killed(url: str, acknowledge: Any, start: int, background: bool, name: str = "t") -> None:
    """Append, compact, delete, branch and take snapshots for ever, and say which messages are safe."""
    engine = opened(url, window=2_000, background=background, summarizer=honest)
    thread = engine.thread(name)
    for number in range(start, start + 1_000_000):
        thread.append(message("child", number), compact=number % 3 != 0)
        acknowledge.send(number)
        if number % 25 == 24:
            thread.compact(force=True)
        if number % 40 == 39:
            thread.delete(thread.messages()[-1].id)
        if number % 15 == 14:
            thread.snapshot(f"at {number}")
        if number % 20 == 19:
            branch = thread.branch(number // 2, f"{name}-{number}")
            branch.append(message("branch", number), compact=False)
            branch.compact(force=True)


def die_at_statement(url: str, number: int, act: str, acknowledge: Any) -> None:
    """Do one thing and die at its so-many-th SQL statement, without any clean-up; report how many there were otherwise."""
    engine = opened(url, window=2_000, background=False)
    if isinstance(engine.database, SqliteDatabase):
        seen = _die_at_in_sqlite(engine, number)
    else:
        seen = die_at(number)
    result = ACTS[act](engine)
    assert not isinstance(result, CompactionResult) or result.changed
    acknowledge.send(seen())
    os._exit(0)


ACTS: dict[str, Callable[[Engine], object]] = {
    "append": lambda engine: engine.thread("t").append([message("new", 1), message("new", 2)], compact=False),
    "revise": lambda engine: engine.thread("t").append({**message("revised", 1), "id": "given-2"}, compact=False),
    "delete": lambda engine: engine.thread("t").delete("given-2"),
    "compact": lambda engine: engine.thread("t").compact(force=True),
    "undo": lambda engine: engine.thread("t").undo(),
    "create": lambda engine: engine.thread("another").append(message("new", 1)),
    "snapshot": lambda engine: engine.thread("t").snapshot("new"),
    "branch": lambda engine: engine.thread("t").branch("given-20", "another"),
    "restore": lambda engine: engine.thread("t").restore("old"),
    "restore a message": lambda engine: engine.thread("t").restore("given-3"),
    "erase": lambda engine: engine.erase("t", ["given-2"]),
    "delete the thread": lambda engine: engine.delete_thread("t"),
    "doctor": lambda engine: engine.doctor(),
}
"""What can be done to a thread in which :func:`fill_for_acts` has put something."""


def fill_for_acts(engine: Engine) -> Thread:
    """Fill a thread so that every act changes something."""
    thread = engine.thread("t")
    thread.append([{**message("old", n), "id": f"given-{n}"} for n in range(60)], compact=False)
    assert thread.compact(force=True).changed
    thread.snapshot("old")
    thread.delete("given-58")
    thread.append([message("tail", n, words=60) for n in range(30)], compact=False)
    return thread


def _die_at_in_sqlite(engine: Engine, number: int) -> Callable[[], int]:
    seen = 0

    def count(_statement: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            os._exit(9)

    driver_of(engine).set_trace_callback(count)
    return lambda: seen


def open_as_newer(url: str, migrations: Path, gate: Any) -> None:
    """Open a database as the version that has these migrations, up to 0002, beginning when all children are ready; append."""
    schema.MIGRATIONS = migrations
    schema.HEAD_REVISION = "0002"
    schema._KNOWN_REVISIONS = ("0001", "0002")  # type: ignore[assignment]
    gate.wait(60)
    with opened(url) as engine:
        engine.thread("t").append({"role": "user", "content": f"by {os.getpid()}"})
