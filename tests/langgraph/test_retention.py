"""Retention: old checkpoints go, heads and what waits for somebody stay, and no state changes."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated, Any

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from sqlalchemy import func, select
from typing_extensions import TypedDict

from lossless.errors import ConfigError
from lossless.store.tables import METADATA
from lossless_langgraph import LosslessSaver
from lossless_langgraph_putting import config, put

LONG_AGO = "2020-01-01T00:00:00+00:00"


def count(saver: LosslessSaver, table: str) -> int:
    with saver.engine.database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(METADATA.tables[f"lossless_{table}"])).scalar_one())


def numbers(saver: LosslessSaver, thread: str = "t") -> list[int]:
    return [found.checkpoint["channel_values"]["n"] for found in saver.list(config(thread))]


def filled(saver: LosslessSaver, thread: str, length: int, old: int = 0) -> None:
    """Put checkpoints that share most of their content, a write after each; some of them a long time ago."""
    where: Any = config(thread)
    log: list[str] = []
    for n in range(length):
        log = [*log, f"{thread} {n} " + "x" * 200]
        checkpoint = empty_checkpoint() | ({"ts": LONG_AGO} if n < old else {})
        checkpoint["channel_values"] = {"n": n, "log": log}
        checkpoint["channel_versions"] = {"n": str(n), "log": str(n)}
        where = saver.put(where, checkpoint, {}, {"n": str(n), "log": str(n)})  # type: ignore[arg-type]
        saver.put_writes(where, [("n", n)], "task")


def test_what_would_go_is_told_and_then_goes(saver: LosslessSaver) -> None:
    filled(saver, "t", 12)
    filled(saver, "u", 3)
    told = saver.retain(keep_last=4, dry_run=True)
    assert (told.threads, told.checkpoints, told.writes, told.hidden, told.dry_run) == (("t",), 8, 8, 0, True)
    assert told.parts == 7
    assert told.bytes > 8 * 100
    assert len(numbers(saver)) == 12
    before = count(saver, "checkpoint_part")
    done = asyncio.run(saver.aretain(keep_last=4))
    assert (done.checkpoints, done.writes, done.parts, done.bytes) == (told.checkpoints, told.writes, told.parts, told.bytes)
    assert before - count(saver, "checkpoint_part") == done.parts
    assert numbers(saver) == [11, 10, 9, 8]
    assert numbers(saver, "u") == [2, 1, 0]
    again = saver.retain(keep_last=4)
    assert (again.threads, again.checkpoints, again.bytes) == ((), 0, 0)


def test_old_ones_go_unless_they_are_among_the_last_and_only_of_the_threads_named(saver: LosslessSaver) -> None:
    filled(saver, "t", 6, old=4)
    filled(saver, "u", 6, old=6)
    assert saver.retain(["t", "t", "unknown"], older_than=timedelta(days=1)).checkpoints == 4
    assert numbers(saver) == [5, 4]
    assert saver.retain(["u"], older_than=timedelta(days=1), keep_last=3).checkpoints == 3
    assert numbers(saver, "u") == [5, 4, 3]
    assert saver.retain(older_than=timedelta(0)).threads == ("t", "u")
    assert (numbers(saver), numbers(saver, "u")) == ([5], [5])


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_checkpoint_that_was_put_again_after_itself_ends_every_walk(saver: LosslessSaver) -> None:
    checkpoint: Any = empty_checkpoint() | {"channel_versions": {"log": "1"}}
    facts: Any = {"counters_since_delta_snapshot": {"log": [1, 1]}}
    where = saver.put(saver.put(config(), checkpoint, facts, {}), checkpoint, facts, {})
    assert saver.get_delta_channel_history(config=where, channels=["log"]) == {"log": {"writes": []}}
    assert saver.retain(keep_last=1).checkpoints == 0


def test_copies_keep_what_their_source_lets_go(saver: LosslessSaver) -> None:
    filled(saver, "t", 6)
    saver.copy_thread("t", "copy")
    put(saver, {"n": 6, "log": []}, config())
    assert saver.retain(["t"], keep_last=1).checkpoints == 6
    assert (numbers(saver), numbers(saver, "copy")) == ([6], [5, 4, 3, 2, 1, 0])
    assert all(len(found.pending_writes or ()) == 1 for found in saver.list(config("copy")))
    assert saver.retain(["copy"], keep_last=1).checkpoints == 5
    assert numbers(saver, "copy") == [5]
    assert count(saver, "checkpoint") == 2


class State(TypedDict):
    """What the graph below is about."""

    log: Annotated[list[str], lambda a, b: a + b]


def approving(saver: LosslessSaver) -> Any:
    """A graph whose sub-graph asks before it goes on."""
    inner = StateGraph(State)
    inner.add_node("ask", lambda state: {"log": [interrupt(len(state["log"]))]})
    inner.add_edge(START, "ask")
    graph = StateGraph(State)
    graph.add_node("begin", lambda _state: {"log": ["begun"]})
    graph.add_node("inner", inner.compile())
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "inner")
    return graph.compile(checkpointer=saver)


def test_what_waits_for_somebody_stays_with_its_sub_graph_and_can_go_on(saver: LosslessSaver) -> None:
    app = approving(saver)
    app.invoke({"log": ["first"]}, config())
    waiting = app.get_state(config()).config
    earlier = [*app.get_state_history(config())][-1].config
    app.update_state(earlier, {"log": ["somebody goes on from there"]}, as_node="inner")
    for n in range(3):
        app.invoke({"log": [f"turn {n}"]}, config())
        app.invoke(Command(resume="yes"), config())
    before = app.get_state(config()).values
    namespaces = {found.config["configurable"]["checkpoint_ns"] for found in saver.list({"configurable": {"thread_id": "t"}})}
    assert len(namespaces) == 5
    saver.retain(keep_last=1)
    kept = list(saver.list({"configurable": {"thread_id": "t"}}))
    assert {found.config["configurable"]["checkpoint_id"] for found in kept if not found.metadata.get("parents")} == {
        app.get_state(config()).config["configurable"]["checkpoint_id"],
        waiting["configurable"]["checkpoint_id"],
    }
    assert len([found for found in kept if found.config["configurable"]["checkpoint_ns"]]) == 1
    assert app.get_state(config()).values == before
    done = app.invoke(Command(resume="at last"), waiting)
    assert done["log"] == ["first", "begun", "first", "begun", "at last"]


@pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")
def test_what_delta_channels_are_made_of_stays_hidden(saver: LosslessSaver) -> None:
    def extend(found: list[Any], given: list[list[Any]]) -> list[Any]:
        return [*(found or []), *(one for some in given for one in some)]

    class Log(TypedDict):
        log: Any

    Log.__annotations__["log"] = Annotated[list, DeltaChannel(extend, snapshot_frequency=10)]
    graph = StateGraph(Log)
    graph.add_node("work", lambda state: {"log": [f"work {len(state['log'])}"]})
    graph.add_edge(START, "work")
    graph.add_edge("work", END)
    app = graph.compile(checkpointer=saver)
    for n in range(9):
        app.invoke({"log": [f"given {n}"]}, config())
    before = app.get_state(config()).values
    done = saver.retain(keep_last=2)
    assert done.hidden > 0
    assert len(list(saver.list(config()))) == 2
    assert app.get_state(config()).values == before
    assert len(before["log"]) == 18
    assert saver.retain(keep_last=2).threads == ()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({}, "may go"),
        ({"keep_last": 0}, "keep_last=0"),
        ({"keep_last": True}, "keep_last=True"),
        ({"keep_last": "3"}, "keep_last='3'"),
        ({"older_than": 3}, "older_than=3"),
        ({"older_than": timedelta(-1)}, "older_than"),
        ({"keep_last": 1, "thread_ids": "t"}, "one text"),
        ({"keep_last": 1, "thread_ids": [""]}, "thread id"),
    ],
)
def test_a_rule_that_can_not_be_is_refused(rule: dict[str, Any], said: str, tmp_path: Any) -> None:
    with LosslessSaver.from_conn_string(str(tmp_path / "x.db")) as saver, pytest.raises(ConfigError, match=said):
        saver.retain(**rule)
