"""Taking over what LangGraph's own savers hold."""

from __future__ import annotations

import operator
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver, ShallowPostgresSaver
from langgraph.checkpoint.serde.types import TASKS
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt
from sqlalchemy import create_engine, text
from typing_extensions import TypedDict

from lossless.errors import ConfigError, StoreOpenError
from lossless_langgraph import LosslessSaver, import_checkpoints
from lossless_langgraph_putting import config
from lossless_postgres import Server


class State(TypedDict):
    """What the graph below is about."""

    messages: Annotated[list[Any], add_messages]
    done: Annotated[list[str], operator.add]


def working(saver: Any) -> Any:
    """A graph with a fan-out and a sub-graph that asks before it goes on."""
    inner = StateGraph(State)
    inner.add_node("ask", lambda state: {"done": [interrupt(f"after {len(state['messages'])}?")]})
    inner.add_edge(START, "ask")
    graph = StateGraph(State)
    graph.add_node("say", lambda state: {"messages": [AIMessage("x" * 300, id=f"a{len(state['messages'])}")]})
    graph.add_node("work", lambda given: {"done": [given["part"]]})
    graph.add_node("inner", inner.compile())
    graph.add_edge(START, "say")
    graph.add_conditional_edges("say", lambda _state: [Send("work", {"part": f"part {n}"}) for n in range(3)])
    graph.add_edge("work", "inner")
    return graph.compile(checkpointer=saver)


def fill(saver: Any) -> None:
    app = working(saver)
    for thread in ("a", "b"):
        for turn in range(2):
            app.invoke({"messages": [HumanMessage("y" * 300, id=f"h{turn}")]}, config(thread))
            if turn == 0:
                app.invoke(Command(resume="yes"), config(thread))


@pytest.fixture(params=["sqlite", "postgresql"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A database of a stock saver, how to open it again, and the database to import it into."""
    if request.param == "sqlite":
        path = tmp_path / "stock #1.db"
        with SqliteSaver.from_conn_string(str(path)) as saver:
            fill(saver)
        yield path, lambda: SqliteSaver.from_conn_string(str(path)), f"sqlite:///{tmp_path / 'own.db'}"
        return
    server: Server = request.getfixturevalue("postgres")
    with server.database(migrated=False) as url, server.database() as target:
        plain = url.replace("postgresql+psycopg://", "postgresql://")
        with PostgresSaver.from_conn_string(plain) as stock:
            stock.setup()
            fill(stock)
        yield plain, lambda: PostgresSaver.from_conn_string(plain), target


def listed(saver: Any) -> list[Any]:
    return [
        (one.config, one.parent_config, one.metadata, one.pending_writes, one.checkpoint)
        for one in sorted(saver.list(None), key=lambda one: repr(one.config))
    ]


def test_all_threads_are_taken_over_and_go_on(source: Any) -> None:
    where, opened, target = source
    with opened() as stock:
        expected = listed(stock)
    with LosslessSaver.from_conn_string(target) as saver:
        done = import_checkpoints(where, saver)
        assert done.ok, done.problems
        assert (done.threads, done.checkpoints, done.verified) == (2, len(expected), len(expected))
        assert done.messages == 2 * 4
        assert done.writes == sum(len(one[3]) for one in expected)
        assert done.bytes_before > 0
        assert listed(saver) == expected
        again = import_checkpoints(where, saver)
        assert (again.checkpoints, again.writes, again.skipped, again.failed) == (0, 0, len(expected), 0)
        assert listed(saver) == expected
        resumed = working(saver).invoke(Command(resume="go on"), config("b"))
    with opened() as stock:
        assert resumed == working(stock).invoke(Command(resume="go on"), config("b"))


def test_a_row_that_can_not_be_read_is_named_and_the_others_are_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "stock.db"
    with SqliteSaver.from_conn_string(str(path)) as stock:
        fill(stock)
        expected = listed(stock)
        bad, of_write = expected[3][0]["configurable"], next(one for one in expected[4:] if one[3])
        named = (of_write[0]["configurable"]["checkpoint_id"], of_write[3][0][0], of_write[3][0][1])
        stock.conn.execute("UPDATE checkpoints SET checkpoint = x'c1' WHERE checkpoint_id = ?", (bad["checkpoint_id"],))
        stock.conn.execute("UPDATE writes SET value = x'c1' WHERE checkpoint_id = ? AND task_id = ? AND channel = ?", named)
        stock.conn.commit()
    with LosslessSaver.from_conn_string(":memory:") as saver:
        done = import_checkpoints(path, saver)
        assert done.checkpoints == done.verified == len(expected) - 1
        assert (done.failed, done.ok) == (2, False)
        assert any(bad["checkpoint_id"] in one for one in done.problems)
        assert any(named[0] in one and f"channel {named[2]!r}" in one for one in done.problems)
        assert import_checkpoints(f"sqlite:///{path}", saver, verify=False).skipped == len(expected) - 1


def test_values_go_through_the_serializer_alone(tmp_path: Path) -> None:
    path = tmp_path / "stock.db"
    with SqliteSaver.from_conn_string(str(path)) as stock:
        fill(stock)
        stock.conn.execute("UPDATE checkpoints SET type = 'pickle'")
        stock.conn.commit()
    with LosslessSaver.from_conn_string(":memory:") as saver:
        done = import_checkpoints(path, saver)
        assert done.checkpoints == 0
        assert done.failed > 10
        assert "pickle" in done.problems[0]


def test_tables_of_older_versions_are_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with SqliteSaver.from_conn_string(str(path)) as stock:
        first = stock.put(config(), {**empty_checkpoint(), "v": 2}, {}, {})
        stock.put_writes(first, [(TASKS, Send("work", {"n": 1})), (TASKS, Send("work", {"n": 2}))], "task")
        second = {**empty_checkpoint(), "v": 2, "channel_values": {"n": 1}, "channel_versions": {"n": "7"}}
        stock.put(first, second, {}, {})  # type: ignore[arg-type]
        stock.conn.execute("ALTER TABLE writes DROP COLUMN task_path")
        stock.conn.commit()
    with LosslessSaver.from_conn_string(":memory:") as saver:
        assert import_checkpoints(path, saver).verified == 2
        found = saver.get_tuple(config())
        assert found is not None
        assert found.checkpoint["channel_values"] == {"n": 1, TASKS: [Send("work", {"n": 1}), Send("work", {"n": 2})]}


@pytest.mark.filterwarnings("ignore:ShallowPostgresSaver is deprecated:DeprecationWarning")
def test_what_kept_only_the_newest_is_taken_over(postgres: Server) -> None:
    with postgres.database(migrated=False) as url, LosslessSaver.from_conn_string(":memory:") as saver:
        plain = url.replace("postgresql+psycopg://", "postgresql://")
        with ShallowPostgresSaver.from_conn_string(plain) as stock:
            stock.setup()
            fill(stock)
            expected = working(stock).get_state(config("a")).values
        done = import_checkpoints(url, saver)
        assert done.ok, done.problems
        assert working(saver).get_state(config("a")).values == expected
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE checkpoint_writes DROP COLUMN IF EXISTS task_path"))
            connection.execute(text("DROP TABLE checkpoint_blobs"))
        engine.dispose()
        with pytest.raises(ConfigError, match="no tables"):
            import_checkpoints(url, saver)


def test_what_is_no_database_of_a_saver_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database " * 100)
    sqlite3.connect(tmp_path / "empty.db").execute("CREATE TABLE other (n)").connection.close()
    with LosslessSaver.from_conn_string(":memory:") as saver:
        for source, error in (
            (tmp_path / "absent.db", StoreOpenError),
            (tmp_path / "text.db", StoreOpenError),
            (tmp_path / "empty.db", ConfigError),
            ("mysql://user@host/db", ConfigError),
            ("postgresql://user:secret@127.0.0.1:1/db", StoreOpenError),
        ):
            with pytest.raises(error) as caught:
                import_checkpoints(source, saver)
            assert "secret" not in str(caught.value)
        assert not (tmp_path / "absent.db").exists()
