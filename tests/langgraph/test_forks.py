"""The thread follows the state wherever that goes: to other forks, past calls without a result, to another order."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from lossless_langchain.codec import FORMAT, decode_stored, encode_message
from lossless_langgraph import LosslessSaver

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(MessagesState):
    note: str


@pytest.fixture
def app(saver: LosslessSaver) -> Any:
    """A graph of one node that does nothing."""
    graph = StateGraph(State)
    graph.add_node("n", lambda _state: {})
    graph.add_edge(START, "n")
    return graph.compile(checkpointer=saver)


def call(name: str) -> AIMessage:
    return AIMessage("", id=name, tool_calls=[{"name": "f", "args": {}, "id": f"call {name}"}])


def result(name: str, of: str) -> ToolMessage:
    return ToolMessage(f"result {name}", id=name, tool_call_id=f"call {of}")


def same(app: Any, saver: LosslessSaver) -> list[str]:
    """Give the ids of the state's messages, once it is sure that the thread shows just them, and that all is well."""
    messages = app.get_state(CONFIG).values.get("messages", [])
    shown = [message for stored in saver.engine.thread("t").messages() for message in decode_stored(stored)]
    assert shown == messages
    assert saver.engine.verify().problems == ()
    return [message.id for message in messages]


def test_a_call_that_was_removed_or_left_behind_stays_a_call_without_a_result(app: Any, saver: LosslessSaver) -> None:
    app.invoke({"messages": [HumanMessage("q", id="q"), call("a")]}, CONFIG)
    waiting = app.get_state(CONFIG).config
    app.update_state(CONFIG, {"messages": [RemoveMessage(id="a")]})
    app.update_state(CONFIG, {"messages": [HumanMessage("never mind", id="n"), call("b")]})
    assert same(app, saver) == ["q", "n", "b"]
    app.update_state(waiting, {"messages": [result("r", "a")]})
    assert same(app, saver) == ["q", "a", "r"]
    rows = {message.id: message for message in saver.engine.thread("t").messages(deleted=True)}
    assert rows["r"].text == "result r"
    app.update_state(CONFIG, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), call("a"), result("s", "a")]})
    assert same(app, saver) == ["a", "s"]


def test_a_fork_of_a_state_without_the_channel_shows_nothing(app: Any, saver: LosslessSaver) -> None:
    app.invoke({"note": "before anything was said"}, CONFIG)
    begin = app.get_state(CONFIG).config
    app.update_state(CONFIG, {"messages": [HumanMessage("q", id="q"), call("a"), result("r", "a")]})
    end = app.get_state(CONFIG).config
    app.update_state(begin, {"note": "another way"})
    assert same(app, saver) == []
    app.update_state(CONFIG, {"messages": [HumanMessage("other", id="o")]})
    assert same(app, saver) == ["o"]
    app.update_state(end, {"note": "on"})
    assert same(app, saver) == ["q", "a", "r"]


def test_a_result_that_is_kept_stands_behind_a_summary_that_is_put_before_it(app: Any, saver: LosslessSaver) -> None:
    app.invoke({"messages": [HumanMessage("q", id="q"), call("a"), result("r", "a"), call("b"), result("s", "b")]}, CONFIG)
    *_rest, made, answered = app.get_state(CONFIG).values["messages"]
    told = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("all so far, in short", id="short"), made, answered]
    app.update_state(CONFIG, {"messages": told})
    assert same(app, saver) == ["short", "b", "s"]


def test_what_came_another_way_before_the_state_had_it_takes_the_states_place(app: Any, saver: LosslessSaver) -> None:
    app.invoke({"messages": [HumanMessage("q", id="q")]}, CONFIG)
    made = call("a")
    saver.engine.thread("t").append(encode_message(made), format=FORMAT)
    told = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("in short", id="short"), made, result("r", "a")]
    app.update_state(CONFIG, {"messages": told})
    assert same(app, saver) == ["short", "a", "r"]


def test_two_runs_that_begin_a_thread_at_once_leave_the_newest_state(app: Any, saver: LosslessSaver) -> None:
    def put(id: str, parent: str | None, *said: str, saver: LosslessSaver = saver) -> None:
        checkpoint = empty_checkpoint() | {"id": id}
        values = {"note": id, **({"messages": [HumanMessage(one, id=one) for one in said]} if said else {})}
        checkpoint["channel_values"], checkpoint["channel_versions"] = values, dict.fromkeys(values, id)
        saver.put(
            {"configurable": {**CONFIG["configurable"], "checkpoint_id": parent}}, checkpoint, {}, dict.fromkeys(values, id)
        )  # type: ignore[arg-type]

    def shown(id: str, parent: str | None, *said: str) -> list[str]:
        put(id, parent, *said)
        return same(app, saver)

    assert (shown("01", None), shown("03", None)) == ([], [])
    assert shown("02", "01", "a") == []
    assert shown("05", "03", "b") == ["b"]
    assert shown("04", "02", "a", "c") == ["b"]
    assert shown("06", "04", "a", "c", "d") == ["a", "c", "d"]
    put("08", None, saver=LosslessSaver(saver.engine, capture=()))
    assert shown("09", "08", "f") == ["f"]
    assert shown("10", "05", "b", "e") == ["b", "e"]


def test_async_runs_at_once_leave_the_thread_at_the_newest_state(saver: LosslessSaver) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("answer", lambda state: {"messages": [HumanMessage(f"after {state['messages'][-1].text}")]})
    graph.add_edge(START, "answer")
    app: Any = graph.compile(checkpointer=saver)

    async def run() -> None:
        for n in range(2):
            await asyncio.gather(*(app.ainvoke({"messages": [HumanMessage(f"{n} {one}")]}, CONFIG) for one in "abc"))

    asyncio.run(run())
    assert same(app, saver)
    said = {message.text for message in saver.engine.thread("t").messages(deleted=True)}
    assert said == {f"{before}{n} {one}" for before in ("", "after ") for n in range(2) for one in "abc"}


@pytest.mark.parametrize("seed", range(4))
def test_the_thread_shows_the_state_after_anything(app: Any, saver: LosslessSaver, seed: int) -> None:
    chance, number = random.Random(seed), 0

    def some() -> list[Any]:
        nonlocal number
        number += 3
        made = [HumanMessage("same", id=f"m{number}"), call(f"m{number + 1}"), result(f"m{number + 2}", f"m{number + 1}")]
        return made[: chance.randint(1, 3)]

    for _ in range(10):
        past = [CONFIG, CONFIG, *(state.config for state in app.get_state_history(CONFIG))]
        place = chance.choice(past)
        held = app.get_state(place).values.get("messages", [])
        changes = [
            {"messages": some()},
            {"messages": [RemoveMessage(id=message.id) for message in chance.sample(held, len(held) // 3)]},
            {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *some(), *held[-3:], *some()]},
            {"note": "no messages"},
        ]
        app.update_state(place, chance.choice(changes), as_node="n")
        same(app, saver)
