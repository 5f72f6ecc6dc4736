"""One thread of a graph on one checkpointer, in a process of its own, so that its memory is its own.

``python -m benchmarks.langgraph_thread SAVER TURNS`` prints what was measured as JSON. A saver is a name of :data:`SAVERS`, or
``module:function`` of a function that takes a folder and gives a context manager of a saver and of what gives its bytes.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph

__all__ = ["SAVERS", "THREAD", "measured", "opened", "postgres_url"]

THREAD: Any = {"configurable": {"thread_id": "thread"}}
_VARIABLE = "LOSSLESS_BENCHMARK_POSTGRES_URL"
_HUMAN, _ANSWER, _RESULT = 1_000, 2_000, 4_000
"""Characters of a turn's three messages."""
_WINDOW = 20
"""Turns that a median is taken of: those before and with the one it is named after."""
_STATES = 10


def measured(saver: str, turns: int) -> dict[str, Any]:
    """Run a thread of so many turns and give what it took: bytes, milliseconds, MiB."""
    with (
        tempfile.TemporaryDirectory(prefix="lossless-benchmarks-") as folder,
        opened(saver, Path(folder)) as (found, size),
        _Commits(saver, Path(folder)) as commit,
    ):
        _turn(_graph(found), "warm", 0)
        base, empty = _memory("VmRSS"), size()
        puts, cpu = _timed(found, "put")
        sizes, marks, bare = [], [], []
        for turn in range(1, turns + 1):
            _turn(_graph(found), "thread", turn)
            sizes.append(size() - empty)
            marks.append(len(puts))
            bare.append(_milliseconds(commit))
        written = size() - empty
        app = _graph(found)
        history = median(_cpu(lambda: list(app.get_state_history(THREAD, limit=_STATES))) for _ in range(3))
        newest = median(_cpu(lambda: app.get_state(THREAD)) for _ in range(3))
        peak = _memory("VmHWM") - base
        copied = _copied(found, size)
        deleted = _cpu(partial(found.delete_thread, "thread"))
    return {
        "turns": turns,
        "bytes": written,
        "sizes": sizes,
        "cpu": _at(cpu, marks, turns),
        "puts": {name: _at(puts, marks, at) for name, at in (("early", turns // 10), ("late", turns))},
        "commits": {name: median(bare[max(0, at - _WINDOW) : at]) for name, at in (("early", turns // 10), ("late", turns))},
        "history": history,
        "newest": newest,
        "peak": peak,
        "copied": copied,
        "deleted": deleted,
    }


def _at(puts: Sequence[float], marks: Sequence[int], turn: int) -> float:
    """Give the median of the puts of the turns up to this one."""
    return median(puts[marks[max(0, turn - _WINDOW - 1)] : marks[turn - 1]])


def _copied(saver: Any, size: Callable[[], int]) -> tuple[float, int] | None:
    """Copy the thread, and give milliseconds and bytes; None if the saver can't."""
    before = size()
    try:
        spent = _cpu(lambda: saver.copy_thread("thread", "copy"))
    except (NotImplementedError, AttributeError):
        return None
    grown = size() - before
    saver.delete_thread("copy")
    return spent, grown


# The graph


def _graph(saver: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("answer", lambda state: {"messages": [_answer(len(state["messages"]))]})
    graph.add_node("tool", lambda state: {"messages": [_result(len(state["messages"]))]})
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "tool")
    graph.add_edge("tool", END)
    return graph.compile(checkpointer=saver)


def _turn(app: Any, thread_id: str, number: int) -> None:
    given = {"messages": [HumanMessage(_text(f"human {number}", _HUMAN), id=f"{thread_id}-h{number}")]}
    app.invoke(given, {"configurable": {"thread_id": thread_id}}, durability="sync")


def _answer(place: int) -> AIMessage:
    call = {"name": "search", "args": {"query": _text(f"query {place}", 200)}, "id": f"call_{place}", "type": "tool_call"}
    return AIMessage(_text(f"answer {place}", _ANSWER - 200), id=f"a{place}", tool_calls=[call])  # type: ignore[list-item]


def _result(place: int) -> ToolMessage:
    return ToolMessage(_text(f"result {place}", _RESULT), id=f"t{place}", tool_call_id=f"call_{place - 1}")


def _text(seed: str, size: int) -> str:
    """Give a text that no other is like: it compresses about as well as prose does."""
    random, words, left = Random(seed), [seed], size - len(seed)
    while left > 0:
        words.append(random.choice(_WORDS))
        left -= len(words[-1]) + 1
    return " ".join(words)[:size]


_WORDS = ["".join(Random(n).choices("etaoinshrdlucmfwypvbgkjqxz", k=3 + n % 7)) for n in range(8_000)]


# Savers


@contextmanager
def opened(name: str, folder: Path) -> Iterator[tuple[Any, Callable[[], int]]]:
    """Open a saver by its name; with it comes what gives the bytes that it has stored."""
    make: Callable[[Path], AbstractContextManager[tuple[Any, Callable[[], int]]]]
    if ":" in name:
        module, _, function = name.partition(":")
        make = getattr(import_module(module), function)
    else:
        make = SAVERS[name]
    with make(folder) as found:
        yield found


@contextmanager
def _ours(folder: Path, **options: Any) -> Iterator[tuple[Any, Callable[[], int]]]:
    from lossless import Engine
    from lossless_langgraph import LosslessSaver

    with Engine(f"sqlite:///{folder / 'ours.db'}", load_plugins=False) as engine:
        yield LosslessSaver(engine, **options), partial(_sqlite_bytes, folder / "ours.db")


@contextmanager
def _ours_postgres(folder: Path, **options: Any) -> Iterator[tuple[Any, Callable[[], int]]]:
    from lossless import Engine
    from lossless_langgraph import LosslessSaver

    del folder
    with Engine(postgres_url(), load_plugins=False) as engine:
        yield LosslessSaver(engine, **options), _postgres_bytes


@contextmanager
def _stock_sqlite(folder: Path) -> Iterator[tuple[Any, Callable[[], int]]]:
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(str(folder / "stock.db")) as saver:
        saver.setup()
        yield saver, partial(_sqlite_bytes, folder / "stock.db")


@contextmanager
def _stock_postgres(folder: Path) -> Iterator[tuple[Any, Callable[[], int]]]:
    from langgraph.checkpoint.postgres import PostgresSaver

    del folder
    with PostgresSaver.from_conn_string(postgres_url().replace("+psycopg", "")) as saver:
        saver.setup()
        yield saver, _postgres_bytes


@contextmanager
def _stock_memory(folder: Path) -> Iterator[tuple[Any, Callable[[], int]]]:
    from langgraph.checkpoint.memory import InMemorySaver

    del folder
    saver = InMemorySaver()

    def size() -> int:
        blobs = sum(len(data) for _kind, data in saver.blobs.values())
        rows = sum(
            len(row[0][1]) + len(row[1][1]) for thread in saver.storage.values() for ns in thread.values() for row in ns.values()
        )
        writes = sum(len(write[2][1]) for task in saver.writes.values() for write in task.values())
        return blobs + rows + writes

    yield saver, size


SAVERS: dict[str, Callable[[Path], AbstractContextManager[tuple[Any, Callable[[], int]]]]] = {
    "ours": _ours,
    "ours-without-capture": partial(_ours, capture=()),
    "ours-postgres": _ours_postgres,
    "ours-postgres-without-capture": partial(_ours_postgres, capture=()),
    "sqlite": _stock_sqlite,
    "postgres": _stock_postgres,
    "memory": _stock_memory,
}
"""By name, what opens a saver: ours, and LangGraph's own."""


def postgres_url() -> str:
    """Give the URL of an empty database on the server that is measured.

    Raises:
        SystemExit: there is none.
    """
    found = os.environ.get(_VARIABLE)
    if not found:
        raise SystemExit(f"{_VARIABLE} must name an empty database")
    return found


def _sqlite_bytes(path: Path) -> int:
    """Give the bytes of all pages, those too that are still in the write-ahead log."""
    with sqlite3.connect(path) as connection:
        (pages,), (size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    connection.close()
    return int(pages) * int(size)


def _postgres_bytes() -> int:
    import psycopg

    with psycopg.connect(postgres_url().replace("+psycopg", "")) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


class _Commits:
    """Commits a row of 200 bytes to the same kind of database, with what the disk has to do for it; nothing for memory."""

    def __init__(self, saver: str, folder: Path) -> None:
        self._postgres, self._path = "postgres" in saver, folder / "bare.db"

    def __enter__(self) -> Callable[[], object]:
        self._connection: Any
        if self._postgres:
            import psycopg

            self._connection = psycopg.connect(postgres_url().replace("+psycopg", ""), autocommit=True)
            statement = "INSERT INTO bare (data) VALUES (%s)"
            self._connection.execute("CREATE TABLE bare (id bigserial PRIMARY KEY, data bytea)")
        else:
            self._connection = sqlite3.connect(self._path, isolation_level=None)
            statement = "INSERT INTO bare (data) VALUES (?)"
            for each in (
                "PRAGMA journal_mode=WAL",
                "PRAGMA synchronous=FULL",
                "CREATE TABLE bare (id INTEGER PRIMARY KEY, data)",
            ):
                self._connection.execute(each)
        return lambda: self._connection.execute(statement, (b"x" * 200,))

    def __exit__(self, *_error: object) -> None:
        self._connection.close()


# Clocks


def _milliseconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - started)


def _cpu(call: Callable[[], object]) -> float:
    """Give the milliseconds of CPU that this process takes for a call: who else uses the machine matters less to them."""
    started = time.process_time()
    call()
    return 1e3 * (time.process_time() - started)


def _timed(saver: Any, name: str) -> tuple[list[float], list[float]]:
    """Let a saver note the milliseconds of each call of a method, and those of CPU of the calling thread."""
    method, spent, used = getattr(saver, name), list[float](), list[float]()

    @wraps(method)
    def timed(*given: Any, **options: Any) -> Any:
        started, cpu = time.perf_counter(), time.thread_time()
        result = method(*given, **options)
        used.append(1e3 * (time.thread_time() - cpu))
        spent.append(1e3 * (time.perf_counter() - started))
        return result

    setattr(saver, name, timed)
    return spent, used


def _memory(field: str) -> float:
    """Give the MiB that the process has (``VmRSS``), or had at the most (``VmHWM``); 0 where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), 0.0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
