"""Eight threads that put checkpoints of their own LangGraph threads on PostgreSQL, beside eight connections that only commit.

``python -m benchmarks.langgraph_writers SAVER PUTS ROUNDS`` prints commits a second as JSON. Each writer puts small checkpoints,
as those of a chat's first turns are. The controls, from as many threads of the same process: the very rows that our puts wrote, a
put's rows in one transaction, captured messages and their entries in the search index among them; and one row of as many bytes as
a put, committed by itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
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


def _rows(connection: Any, thread_id: str) -> list[list[tuple[str, Row]]]:
    """Read what our puts wrote for a thread, put by put: the rows of each table, the head as the last of them left it."""

    def read(table: str, where: str, value: object) -> list[Row]:
        cursor = connection.execute(f"SELECT * FROM lossless_{table} WHERE {where}", (value,))
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    pool, strand = connection.execute(
        "SELECT pool, strand FROM lossless_checkpoint_pool WHERE thread_id = %s", (thread_id,)
    ).fetchone()
    messages = read("message", "thread_id = %s ORDER BY seq", thread_id)  # none without capture
    payloads = {row["digest"]: row for row in read("blob", "digest = ANY(%s)", [row["digest"] for row in messages])}
    found = {
        "blob": [payloads[row["digest"]] for row in messages],
        "checkpoint_share": [{"namespace": row["namespace"], "pool": pool, "digest": row["digest"]} for row in messages],
        "checkpoint_part": read("checkpoint_part", "pool = %s", pool),
        "message": messages,
        "search_doc": read("search_doc", "thread_id = %s ORDER BY seq", thread_id),
        "checkpoint": read("checkpoint", "strand = %s ORDER BY checkpoint_id", strand),
    }
    head = read("head", "thread_id = %s", thread_id)
    count = len(found["checkpoint"])
    each = {table: -(-len(rows) // count) for table, rows in found.items()}
    return [
        [(table, row) for table, rows in found.items() for row in rows[number * each[table] :][: each[table]]]
        + [("head", row) for row in head]
        for number in range(count)
    ]


def _same(connection: Any, puts: list[list[tuple[str, Row]]]) -> Write:
    """Give what writes the rows of one put after the other, as a thread of its own: one transaction for each put."""
    keys = {"strand": Random().getrandbits(62), "pool": Random().getrandbits(62), "thread_id": uuid4().hex}
    begun = {**puts[0][-1][1], **keys}
    if puts[0][-1][0] == "head":
        for table, names in (("thread", ("namespace", "thread_id")), ("head", tuple(begun))):
            row = {**{name: begun[name] for name in names if name not in ("strand", "pool")}, **_THREAD.get(table, {})}
            connection.execute(_insert(table, tuple(row)), tuple(row.values()))

    def write(number: int) -> None:
        with connection.transaction(), connection.cursor() as cursor:
            for table, given in puts[number]:
                row = {name: keys.get(name, value) for name, value in given.items() if name != "docid"}
                if table == "head":
                    cursor.execute(_UPDATE, {**row, "next_seq": number + 2})
                    continue
                if "digest" in row:  # a payload that is there already would cost nothing
                    row["digest"] = hashlib.sha256(keys["thread_id"].encode() + row["digest"]).digest()[: len(row["digest"])]
                cursor.execute(_insert(table, tuple(row)), tuple(row.values()))

    return write


_THREAD: dict[str, Row] = {"thread": {"format": "langchain/1", "cut": 0, "created_at": 0}}
_UPDATE = (
    "UPDATE lossless_head SET next_seq = %(next_seq)s, total_tokens = %(total_tokens)s, chain = %(chain)s, "
    "open_calls = %(open_calls)s, updated_at = %(updated_at)s WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s"
)


@cache
def _insert(table: str, names: tuple[str, ...]) -> str:
    columns, places = ", ".join(f'"{name}"' for name in names), ", ".join(["%s"] * len(names))
    return f"INSERT INTO lossless_{table} ({columns}) VALUES ({places}) ON CONFLICT DO NOTHING"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(commits_a_second(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
