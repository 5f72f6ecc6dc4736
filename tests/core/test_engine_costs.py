"""What an operation costs the database and the model, counted in statements and calls rather than in seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection

from lossless import Engine, Thread
from lossless.store.sqlite import SqliteDatabase
from lossless_children import message, opened
from lossless_faults import Faults
from lossless_scripts import Counting, honest

SHORT, LONG = 40, 1_200


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults().install(monkeypatch)


def statements(faults: Faults, act: Callable[[], object]) -> int:
    """Count the statements of an operation, once what can be kept in memory is."""
    act()
    with faults.at_statement(0):
        act()
    return faults.seen


def costs(url: str, faults: Faults, count: int, act: Callable[[Engine, Thread], object], window: int) -> int:
    with opened(url, window=window, background=False) as engine:
        thread = engine.thread("t")
        thread.append([message("m", number) for number in range(count)], compact=False)
        thread.compact()
        return statements(faults, lambda: act(engine, thread))


ACTS: dict[str, Callable[[Engine, Thread], object]] = {
    "append": lambda engine, thread: thread.append(message("new", 1)),
    "append by id": lambda engine, thread: thread.append({**message("new", 1), "id": "given"}),
    "context": lambda engine, thread: thread.context(),
    "compact": lambda engine, thread: thread.compact(),
    "undo": lambda engine, thread: engine.thread("t").views(limit=1),
}


@pytest.mark.parametrize("window", [2_000_000, 4_000], ids=["below soft", "compacted"])
@pytest.mark.parametrize("act", ACTS)
def test_an_operation_costs_no_more_statements_on_a_long_thread(tmp_path: Path, faults: Faults, act: str, window: int) -> None:
    short = costs(f"sqlite:///{tmp_path / 'short.db'}", faults, SHORT, ACTS[act], window)
    long = costs(f"sqlite:///{tmp_path / 'long.db'}", faults, LONG, ACTS[act], window)
    assert 0 < long <= short + 2


def test_below_soft_an_append_stores_and_does_nothing_else(tmp_path: Path, faults: Faults) -> None:
    script = Counting(honest)
    with opened(f"sqlite:///{tmp_path / 'a.db'}", window=2_000_000, summarizer=script) as engine:
        thread = engine.thread("t")
        thread.append(message("m", 0))
        with_loop = statements(faults, lambda: thread.append(message("m", 1)))
        without = statements(faults, lambda: thread.append(message("m", 1), compact=False))
        assert with_loop <= without
        assert thread.wait(0)
        assert script.calls == 0
        assert [record.why for record in thread.views()] == ["created"]


READS: dict[str, Callable[[Thread], object]] = {
    "context": lambda thread: thread.context(),
    "messages": lambda thread: thread.messages(),
    "expand": lambda thread: thread.expand("m_1"),
    "describe": lambda thread: thread.describe("m_1"),
    "snapshots": lambda thread: thread.snapshots(),
    "views": lambda thread: thread.views(),
    "compact": lambda thread: thread.compact(),
}


@pytest.mark.parametrize("read", READS)
def test_even_the_first_read_of_a_thread_takes_one_connection_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with opened(url, window=2_000) as engine:
        engine.thread("t").append(message("m", 0))
    held, most = 0, 0
    real = SqliteDatabase.read

    @contextmanager
    def counted(self: SqliteDatabase) -> Iterator[Connection]:
        nonlocal held, most
        with real(self) as connection:
            held += 1
            most = max(most, held)
            try:
                yield connection
            finally:
                held -= 1

    monkeypatch.setattr(SqliteDatabase, "read", counted)
    with opened(url, window=2_000, background=False) as engine:
        READS[read](engine.thread("t"))
    assert most == 1


def test_a_context_costs_no_model_call_and_writes_nothing(tmp_path: Path) -> None:
    script = Counting(honest)
    path = tmp_path / "a.db"
    with opened(f"sqlite:///{path}", window=2_000, background=False, summarizer=script) as engine:
        thread = engine.thread("t")
        thread.append([message("m", number) for number in range(200)], compact=False)
        before = path.with_name("a.db-wal").read_bytes()
        for format in ("openai", "anthropic"):
            assert thread.context(format=format).messages
        assert thread.context(overhead=500, reserve=100).messages
        assert path.with_name("a.db-wal").read_bytes() == before
        assert script.calls == 0
        assert len(thread.views()) == 1


def test_a_model_that_is_down_is_asked_a_bounded_number_of_times_in_one_operation() -> None:
    def down(request: object) -> str:
        raise ConnectionError

    script = Counting(down)
    with opened("sqlite://", window=8_000, background=False, summarizer=script) as engine:
        thread = engine.thread("t")
        thread.append([message("m", number) for number in range(1_500)], compact=False)
        result = thread.compact()
        assert result.model_calls == script.calls <= 64
        assert result.changed
        assert engine.verify().ok
