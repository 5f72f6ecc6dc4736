"""The messages channel in real graphs, under any saver: the same states as with ``add_messages``, small checkpoints."""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Overwrite, interrupt

from lossless import Engine
from lossless.errors import CorruptError
from lossless_langgraph import LosslessMessagesChannel, LosslessSaver

CONFIG: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with Engine(url, load_plugins=False) as engine:
        yield engine


def graph(reducer: Any, saver: Any) -> Any:
    """A graph of two nodes, one of which may ask, whose messages have this channel or reducer."""
    fields = {"messages": Annotated[list[AnyMessage], reducer], "log": Annotated[list[str], operator.add]}
    State = TypedDict("State", fields)  # type: ignore[misc]

    def answer(state: Any) -> Any:
        number = len(state["messages"])
        said = interrupt("sure?") if "ask" in state["messages"][-1].text else f"answer {number}"
        call: Any = {"name": "t", "args": {"n": number}, "id": "c", "type": "tool_call"}
        return {"messages": [AIMessage(said, id=f"a{number}", tool_calls=[call])], "log": [f"{number}"]}

    def tool(state: Any) -> Any:
        return {"messages": [ToolMessage("found " * 50, tool_call_id="c", id=f"t{len(state['messages'])}")]}

    made = StateGraph(State)
    made.add_node("answer", answer)
    made.add_node("tool", tool)
    made.add_edge(START, "answer")
    made.add_edge("answer", "tool")
    made.add_edge("tool", END)
    return made.compile(checkpointer=saver)


SAVERS: dict[str, Any] = {
    "InMemorySaver": lambda _engine: InMemorySaver(),
    "SqliteSaver": lambda _engine: SqliteSaver.from_conn_string(":memory:"),
    "LosslessSaver": lambda engine: nullcontext(LosslessSaver(engine)),
}


def say(app: Any, text: str, id: str, config: Any = CONFIG) -> Any:
    return app.invoke({"messages": [HumanMessage(text, id=id)]}, config)


def history(app: Any) -> list[Any]:
    return [(state.values.get("messages"), state.next, state.metadata["step"]) for state in app.get_state_history(CONFIG)]


def lived_through(app: Any) -> list[Any]:
    """Let a graph talk, remove, replace, be asked, fork and go on, and give its history after each."""
    for number in range(4):
        say(app, f"turn {number}", f"h{number}")
    found = [history(app)]
    app.update_state(CONFIG, {"messages": [RemoveMessage(id="h0"), AIMessage("replaced", id="a1")]})
    say(app, "please ask", "q")
    app.invoke(Command(resume="yes"), CONFIG)
    found.append(history(app))
    past = list(app.get_state_history(CONFIG))[8]
    app.invoke(None, app.update_state(past.config, {"messages": [HumanMessage("another way", id="f")]}))
    say(app, "on the fork", "g")
    found.append(history(app))
    app.update_state(CONFIG, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("afresh", id="x")]})
    say(app, "last", "y")
    found.append(history(app))
    return found


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("name", SAVERS)
def test_states_are_those_of_add_messages_under_any_saver(engine: Engine, name: str) -> None:
    with SAVERS[name](engine) as saver:
        lives_as_with_add_messages(engine, saver)


def lives_as_with_add_messages(engine: Engine, saver: Any) -> None:
    app = graph(LosslessMessagesChannel(engine, thread="mine"), saver)
    assert lived_through(app) == lived_through(graph(add_messages, InMemorySaver()))
    thread = engine.thread("mine")
    assert [message.text for message in thread.messages()] == [one.text for one in app.get_state(CONFIG).values["messages"]]
    assert {"turn 0", "replaced", "another way", "please ask"} <= {one.text for one in thread.messages(deleted=True)}
    assert thread.grep("turn 0").items
    assert engine.verify().ok
    again = graph(LosslessMessagesChannel(engine, thread="mine"), saver)
    assert history(again) == history(app)


def test_checkpoints_hold_pointers_and_each_message_is_stored_once(engine: Engine) -> None:
    saver = InMemorySaver()
    app = graph(LosslessMessagesChannel(engine), saver)
    for number in range(12):
        say(app, f"turn {number} " + "word " * 100, f"h{number}")
    pointers = [one.checkpoint["channel_values"].get("messages") for one in saver.list(CONFIG)]
    held = [one for one in pointers if one]
    assert max(len(json.dumps(one)) for one in held) < 150
    assert held[0]["runs"] == [[1, 36]]
    (name,) = {one["thread"] for one in held}
    assert name.startswith("channel/")
    assert len(engine.thread(name).messages(deleted=True)) == 36
    fresh = Engine(engine.url, load_plugins=False)
    with fresh:
        app = graph(LosslessMessagesChannel(fresh), saver)
        say(app, "after a restart", "z")
        assert len(app.get_state(CONFIG).values["messages"]) == 39
        assert len(fresh.thread(name).messages(deleted=True)) == 39


@pytest.mark.parametrize("kind", ["sqlite"])
def test_async_graphs_and_chains_that_name_the_thread(engine: Engine) -> None:
    app = graph(LosslessMessagesChannel(engine), InMemorySaver())
    chain = RunnableLambda(lambda given: say(app, given, "h0"))
    chain.invoke("within a chain", {"configurable": {"thread_id": "chain"}})
    assert [one.id for one in engine.threads()] == ["chain"]
    asyncio.run(app.ainvoke({"messages": [HumanMessage("async", id="h1")]}, CONFIG))
    assert len(engine.thread("chain").messages()) == 6


@pytest.mark.parametrize("kind", ["sqlite"])
def test_graphs_within_a_graph_have_threads_of_their_own_below_the_one_that_is_named(engine: Engine) -> None:
    fields = {"messages": Annotated[list[AnyMessage], LosslessMessagesChannel(engine)]}
    State = TypedDict("State", fields)  # type: ignore[misc]

    def within(name: str) -> Any:
        made = StateGraph(State)
        made.add_node("think", lambda _state: {"messages": [AIMessage(f"{name} thinks")]})
        made.add_edge(START, "think")
        return made.compile()

    def asking(graph: Any) -> Any:
        return lambda _state: {"messages": [graph.invoke({"messages": [HumanMessage("go")]})["messages"][-1]]}

    outer = StateGraph(State)
    outer.add_node("one", asking(within("first")))
    outer.add_node("two", asking(within("second")))
    outer.add_edge(START, "one")
    outer.add_edge("one", "two")
    app = outer.compile(checkpointer=InMemorySaver())
    chain: Any = RunnableLambda(lambda value, config: app.invoke(value, config))
    chain.invoke({"messages": [HumanMessage("turn")]}, CONFIG)
    shown = {one.id: [message.text for message in engine.thread(one.id).messages()] for one in engine.threads()}
    assert shown.pop("t") == ["turn", "first thinks", "second thinks"]
    assert {name.rpartition("/")[0]: texts for name, texts in shown.items()} == {
        "t/one": ["go", "first thinks"],
        "t/two": ["go", "second thinks"],
    }


@pytest.mark.parametrize("kind", ["sqlite"])
def test_what_is_changed_in_place_is_stored_as_it_is_then(engine: Engine) -> None:
    def change(state: Any) -> Any:
        state["messages"][0].content = "after"
        return {"messages": [state["messages"][0]]}

    fields = {"messages": Annotated[list[AnyMessage], LosslessMessagesChannel(engine, thread="mine")]}
    State = TypedDict("State", fields)  # type: ignore[misc]
    made = StateGraph(State)
    made.add_node("change", change)
    made.add_edge(START, "change")
    app = made.compile(checkpointer=InMemorySaver())
    app.invoke({"messages": [HumanMessage("before", id="h")]}, CONFIG)
    assert [[one.text for one in state.values.get("messages", [])] for state in app.get_state_history(CONFIG)] == [
        ["after"],
        ["before"],
        [],
    ]
    assert [one.text for one in engine.thread("mine").messages()] == ["after"]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_what_was_stored_another_way_is_taken_over_and_what_is_no_message_is_left_to_the_saver(engine: Engine) -> None:
    saver = InMemorySaver()
    say(graph(add_messages, saver), "plain", "h0")
    app = graph(LosslessMessagesChannel(engine, thread="mine"), saver)
    say(app, "taken over", "h1")
    assert len(engine.thread("mine").messages()) == 6
    app.update_state(CONFIG, {"messages": Overwrite(["no message"])})
    assert app.get_state(CONFIG).values["messages"] == ["no message"]
    with Engine("sqlite://") as other, pytest.raises(CorruptError, match="lacks 6 messages"):
        list(graph(LosslessMessagesChannel(other), saver).get_state_history(CONFIG))
