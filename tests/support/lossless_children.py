"""What child processes do in tests of concurrency and crashes. They are spawned, so their code must be importable."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from typing import Any

from lossless import Engine
from lossless.compaction.model import CompactionResult
from lossless.store.sqlite import SqliteDatabase
from lossless_scripts import honest

__all__ = [
    "append_all",
    "append_until_killed",
    "children",
    "die_at_statement",
    "driver_of",
    "message",
    "opened",
    "take_snapshots",
]


def children() -> ForkServerContext:
    """Give what starts child processes; they find the library imported, and nothing else of this process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["lossless.engine", "sqlalchemy.dialects.sqlite", "alembic.command", "tiktoken"])
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


def append_until_killed(url: str, acknowledge: Any, start: int, background: bool) -> None:
    """Append and compact for ever, and say which messages are safe."""
    engine = opened(url, window=2_000, background=background, summarizer=honest)
    thread = engine.thread("t")
    for number in range(start, start + 1_000_000):
        thread.append(message("child", number), compact=number % 3 != 0)
        acknowledge.send(number)
        if number % 25 == 24:
            thread.compact(force=True)
        if number % 40 == 39:
            thread.delete(thread.messages()[-1].id)


def die_at_statement(url: str, number: int, act: str, acknowledge: Any) -> None:
    """Do one thing and die at its so-many-th SQL statement, without any clean-up; report how many there were otherwise."""
    engine = opened(url, window=2_000, background=False)
    seen = 0

    def count(_statement: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            os._exit(9)

    driver_of(engine).set_trace_callback(count)
    acts: dict[str, Callable[[], object]] = {
        "append": lambda: engine.thread("t").append([message("new", 1), message("new", 2)], compact=False),
        "revise": lambda: engine.thread("t").append({**message("revised", 1), "id": "given-2"}, compact=False),
        "delete": lambda: engine.thread("t").delete("given-2"),
        "compact": lambda: engine.thread("t").compact(force=True),
        "undo": lambda: engine.thread("t").undo(),
        "create": lambda: engine.thread("another").append(message("new", 1)),
    }
    result = acts[act]()
    assert not isinstance(result, CompactionResult) or result.changed
    acknowledge.send(seen)
    os._exit(0)
