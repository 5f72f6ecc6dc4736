"""Eight threads that put checkpoints of their own LangGraph threads on PostgreSQL, beside eight connections that only commit.

``python -m benchmarks.langgraph_writers SAVER PUTS ROUNDS`` prints commits a second as JSON. Each writer puts small checkpoints,
as those of a chat's first turns are. The controls, from as many threads of the same process: the very rows that our puts wrote, a
put's rows in one transaction; and one row of as many bytes as a put, committed by itself.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from statistics import median
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint

from benchmarks.langgraph_thread import opened, postgres_url

__all__ = ["commits_a_second"]

_WRITERS = 8
_BYTES = 700
Row = dict[str, Any]
Write = Callable[[int], object]


def commits_a_second(saver: str, each: int, rounds: int) -> dict[str, float]:
    """Measure puts and bare commits in turn, and give the medians of the rounds, and CPU seconds a put."""
    found: dict[str, list[float]] = {"puts": [], "bare": [], "cpu": []}
    with opened(saver, Path(os.devnull)) as (made, _size), _connections() as connections:
        _rate(lambda number: _putting(made, f"warm {number}"), each)
        rows = _rows(connections[0], "warm 0") if saver.startswith("ours") else None
        for turn in range(rounds):
            found["bare"].append(_rate(lambda number: _bare(connections[number]), each))
            if rows is not None:
                found.setdefault("same", []).append(_rate(lambda number: _same(connections[number], rows), each))
            used = time.process_time()
            found["puts"].append(_rate(lambda number: _putting(made, f"{turn} {number}"), each))  # noqa: B023 - called at once
            found["cpu"].append((time.process_time() - used) / each / _WRITERS)
    return {name: median(values) for name, values in found.items()}


def _rate(make: Callable[[int], Write], each: int) -> float:
    """Let the writers write so often each, and give the writes a second of all."""
    writers = [make(number) for number in range(_WRITERS)]
    begin = threading.Barrier(_WRITERS + 1)

    def work(write: Write) -> None:
        begin.wait()
        for number in range(each):
            write(number)

    with ThreadPoolExecutor(_WRITERS) as pool:
        works = [pool.submit(work, write) for write in writers]
        begin.wait()
        started = time.perf_counter()
        for one in works:
            one.result()
        return _WRITERS * each / (time.perf_counter() - started)


def _putting(saver: Any, thread_id: str) -> Write:
    """Give what puts the next checkpoint of a thread, with a message more each time."""
    held: dict[str, Any] = {
        "where": {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}},
        "messages": [],
        "version": None,
    }

    def write(number: int) -> None:
        kind = AIMessage if number % 2 else HumanMessage
        held["messages"] = [*held["messages"], kind(f"{thread_id} says {number}. " + "word " * 60, id=f"m{number}")]
        held["version"] = saver.get_next_version(held["version"], None)
        made = empty_checkpoint()
        made["channel_values"], made["channel_versions"] = {"messages": held["messages"]}, {"messages": held["version"]}
        held["where"] = saver.put(held["where"], made, {"source": "loop", "step": number}, {"messages": held["version"]})

    return write


@contextmanager
def _connections() -> Iterator[list[Any]]:
    import psycopg

    url = postgres_url().replace("+psycopg", "")
    with ExitStack() as stack:
        found = [stack.enter_context(psycopg.connect(url, autocommit=True)) for _ in range(_WRITERS)]
        found[0].execute("CREATE TABLE IF NOT EXISTS bare_rows (id text PRIMARY KEY, data bytea)")
        yield found


def _bare(connection: Any) -> Write:
    statement = "INSERT INTO bare_rows VALUES (%s, %s)"
    return lambda _number: connection.execute(statement, (str(uuid4()), b"x" * _BYTES))


def _rows(connection: Any, thread_id: str) -> tuple[list[Row], list[Row]]:
    """Read what our puts wrote for a thread: the rows of its checkpoints, and of their parts."""

    def read(table: str, where: str, value: object) -> list[Row]:
        cursor = connection.execute(f"SELECT * FROM {table} WHERE {where} = %s", (value,))
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    found = connection.execute("SELECT pool, strand FROM lossless_checkpoint_pool WHERE thread_id = %s", (thread_id,)).fetchone()
    return read("lossless_checkpoint", "strand", found[1]), read("lossless_checkpoint_part", "pool", found[0])


def _same(connection: Any, rows: tuple[list[Row], list[Row]]) -> Write:
    """Give what writes the rows of one put after the other, as a thread of its own."""
    checkpoints, parts = rows
    strand, pool = Random().getrandbits(62), Random().getrandbits(62)
    share = -(-len(parts) // len(checkpoints))

    def write(number: int) -> None:
        with connection.transaction(), connection.cursor() as cursor:
            some = [{**row, "pool": pool} for row in parts[number * share : (number + 1) * share]]
            if some:
                cursor.executemany(_insert("lossless_checkpoint_part", tuple(some[0])), [tuple(row.values()) for row in some])
            row = {**checkpoints[number], "strand": strand}
            cursor.execute(_insert("lossless_checkpoint", tuple(row)), tuple(row.values()))

    return write


def _insert(table: str, names: Sequence[str]) -> str:
    columns, places = ", ".join(f"{name!r}" for name in names).replace("'", '"'), ", ".join(["%s"] * len(names))
    return f"INSERT INTO {table} ({columns}) VALUES ({places}) ON CONFLICT DO NOTHING"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(commits_a_second(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
