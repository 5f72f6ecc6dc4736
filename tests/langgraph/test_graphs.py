"""Graphs run the same on our saver as on LangGraph's in-memory one, which is the oracle."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, StateUpdate, interrupt

from lossless_langgraph import LosslessSaver

CONFIG: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def saver(tenant_saver: LosslessSaver) -> LosslessSaver:
    return tenant_saver


def shape(state: Any) -> Any:
    """Give what is comparable of a state: all but times and random ids."""
    return {
        "values": state.values,
        "next": state.next,
        "step": state.metadata["step"],
        "source": state.metadata["source"],
        "interrupts": [(one.value) for one in state.interrupts],
        "tasks": [(one.name, one.error, [i.value for i in one.interrupts], one.result) for one in state.tasks],
    }


def history(app: Any, config: Any = CONFIG) -> list[Any]:
    return [shape(state) for state in app.get_state_history(config)]


def same_on_both(saver: LosslessSaver, run: Callable[[Any], Any]) -> None:
    oracle = run(InMemorySaver())
    assert oracle
    assert run(saver) == oracle


def chat(saver: Any) -> Any:
    def answer(state: Any) -> Any:
        number = len(state["messages"])
        return {
            "messages": [
                AIMessage(f"answer {number}", id=f"a{number}", tool_calls=[{"name": "t", "args": {"n": number}, "id": "c"}])
            ]
        }

    def tool(state: Any) -> Any:
        return {"messages": [ToolMessage("found", tool_call_id="c", id=f"t{len(state['messages'])}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_node("tool", tool)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "tool")
    graph.add_edge("tool", END)
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_chat_of_many_turns(saver: LosslessSaver, durability: Any) -> None:
    def run(checkpointer: Any) -> Any:
        app = chat(checkpointer)
        outputs = [
            app.invoke({"messages": [HumanMessage(f"turn {n}", id=f"h{n}")]}, CONFIG, durability=durability) for n in range(8)
        ]
        return outputs[-1], history(app)

    same_on_both(saver, run)


def test_removed_and_replaced_messages_are_gone_now_and_there_before(saver: LosslessSaver) -> None:
    def run(checkpointer: Any) -> Any:
        app = chat(checkpointer)
        app.invoke({"messages": [HumanMessage("one", id="h1")]}, CONFIG)
        app.update_state(CONFIG, {"messages": [RemoveMessage(id="h1"), AIMessage("changed", id="a1")]})
        return history(app)

    same_on_both(saver, run)


def test_a_fork_and_what_it_was_forked_from_go_on_apart(saver: LosslessSaver) -> None:
    def run(checkpointer: Any) -> Any:
        app = chat(checkpointer)
        for n in range(3):
            app.invoke({"messages": [HumanMessage(f"turn {n}", id=f"h{n}")]}, CONFIG)
        past = list(app.get_state_history(CONFIG))[5]
        fork = app.update_state(past.config, {"messages": [HumanMessage("another way", id="f")]})
        app.invoke(None, fork)
        return history(app), [shape(app.get_state(past.config))]

    same_on_both(saver, run)


def test_an_interrupt_waits_for_its_answer(saver: LosslessSaver) -> None:
    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    def ask(state: State) -> Any:
        return {"log": [interrupt({"question": "sure?"}), interrupt("really?")]}

    def run(checkpointer: Any) -> Any:
        graph = StateGraph(State)
        graph.add_node("ask", ask)
        graph.add_edge(START, "ask")
        app = graph.compile(checkpointer=checkpointer)
        app.invoke({"log": ["begin"]}, CONFIG)
        waiting = shape(app.get_state(CONFIG))
        app.invoke(Command(resume="yes"), CONFIG)
        again = shape(app.get_state(CONFIG))
        return waiting, again, app.invoke(Command(resume="yes!"), CONFIG), history(app)

    same_on_both(saver, run)


def test_tasks_that_are_sent_keep_their_order_and_what_succeeded_is_not_run_again(saver: LosslessSaver) -> None:
    class State(TypedDict):
        found: Annotated[list[Any], operator.add]

    def run(checkpointer: Any) -> Any:
        runs: list[int] = []

        def work(state: Any) -> Any:
            runs.append(state["n"])
            if state["n"] == 2 and runs.count(2) == 1:
                raise ValueError("not yet")
            return {"found": [state]}

        graph = StateGraph(State)
        graph.add_node("work", work)
        graph.add_conditional_edges(START, lambda _state: [Send("work", {"n": n, "text": "shared " * 50}) for n in range(5)])
        app = graph.compile(checkpointer=checkpointer)
        with pytest.raises(ValueError, match="not yet"):
            app.invoke({"found": []}, CONFIG)
        return app.invoke(None, CONFIG), runs.count(2), history(app)[0]

    same_on_both(saver, run)


@pytest.mark.parametrize("kept", [None, True])
def test_sub_graphs_keep_states_of_their_own(saver: LosslessSaver, kept: bool | None) -> None:
    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    def run(checkpointer: Any) -> Any:
        inner = StateGraph(State)
        inner.add_node("ask", lambda state: {"log": [interrupt("inner")]})
        inner.add_edge(START, "ask")
        outer = StateGraph(State)
        outer.add_node("inner", inner.compile(checkpointer=kept))
        outer.add_edge(START, "inner")
        app = outer.compile(checkpointer=checkpointer)
        app.invoke({"log": ["one"]}, CONFIG)
        deep = app.get_state(CONFIG, subgraphs=True).tasks[0].state
        namespaces = {found.config["configurable"]["checkpoint_ns"].partition(":")[0] for found in checkpointer.list(CONFIG)}
        return shape(deep), namespaces, app.invoke(Command(resume="two"), CONFIG), history(app)

    same_on_both(saver, run)


def test_the_functional_api_remembers_what_it_returned(saver: LosslessSaver) -> None:
    def run(checkpointer: Any) -> Any:
        @task
        def double(number: int) -> int:
            return number * 2

        @entrypoint(checkpointer=checkpointer)
        def work(number: int, *, previous: Any = None) -> Any:
            return {"sum": double(number).result() + (previous or {"sum": 0})["sum"]}

        return [work.invoke(number, CONFIG) for number in range(5)], [
            shape(one)["values"] for one in work.get_state_history(CONFIG)
        ]

    same_on_both(saver, run)


def test_an_async_graph_runs_in_several_event_loops(saver: LosslessSaver) -> None:
    def run(checkpointer: Any) -> Any:
        app = chat(checkpointer)

        async def turn(number: int) -> Any:
            given = {"messages": [HumanMessage(f"turn {number}", id=f"h{number}")]}
            return [one async for one in app.astream(given, CONFIG, stream_mode="values")]

        streamed = [asyncio.run(turn(number)) for number in range(3)]

        async def states() -> Any:
            return [shape(one) async for one in app.aget_state_history(CONFIG, limit=4)]

        return streamed, asyncio.run(states()), history(app)

    same_on_both(saver, run)


def test_a_message_that_is_changed_in_place_is_stored_as_it_is_then(saver: LosslessSaver) -> None:
    def run(checkpointer: Any) -> Any:
        kept = HumanMessage("before " * 40, id="h")

        def change(state: Any) -> Any:
            state["messages"][0].content = "after " * 40
            return {"messages": [state["messages"][0]]}

        graph = StateGraph(MessagesState)
        graph.add_node("change", change)
        graph.add_edge(START, "change")
        app = graph.compile(checkpointer=checkpointer)
        app.invoke({"messages": [kept]}, CONFIG)
        return app.get_state(CONFIG).values

    same_on_both(saver, run)


def test_what_is_streamed_is_the_same_in_every_mode(saver: LosslessSaver) -> None:
    modes: Any = ["values", "updates", "messages", "custom", "tasks", "checkpoints"]

    def comparable(mode: str, chunk: Any) -> Any:
        if mode == "messages":
            return chunk[0], chunk[1]["langgraph_node"], chunk[1]["langgraph_step"]
        if mode == "checkpoints":
            return chunk["values"], chunk["metadata"], chunk["next"]
        return {key: value for key, value in chunk.items() if key != "id"} if mode == "tasks" else chunk

    def run(checkpointer: Any) -> Any:
        inner = StateGraph(MessagesState)
        inner.add_node("say", lambda state: (get_stream_writer()("working"), {"messages": [AIMessage("inner", id="i")]})[1])
        inner.add_edge(START, "say")
        outer = StateGraph(MessagesState)
        outer.add_node("inner", inner.compile())
        outer.add_node("end", lambda state: {"messages": [AIMessage("outer", id="o")]})
        outer.add_edge(START, "inner")
        outer.add_edge("inner", "end")
        app = outer.compile(checkpointer=checkpointer)
        given = {"messages": [HumanMessage("go", id="h")]}
        found = app.stream(given, CONFIG, stream_mode=modes, subgraphs=True)
        streamed = [(tuple(step.partition(":")[0] for step in ns), mode, comparable(mode, chunk)) for ns, mode, chunk in found]
        return [one for one in streamed if one[1] != "checkpoints" or not one[0]], history(app)

    same_on_both(saver, run)


def test_stops_jumps_updates_as_a_node_and_graphs_without_a_checkpointer(saver: LosslessSaver) -> None:
    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    def run(checkpointer: Any) -> Any:
        inner = StateGraph(State)
        inner.add_node("leave", lambda state: Command(graph=Command.PARENT, goto="last", update={"log": ["left"]}))
        inner.add_edge(START, "leave")
        outer = StateGraph(State)
        outer.add_node("first", lambda state: Command(goto=[Send("part", {"log": [f"{n}"]}) for n in range(3)]))
        outer.add_node("part", lambda state: {"log": [f"part {state['log'][0]}", interrupt(f"sure of {state['log'][0]}?")]})
        outer.add_node("inner", inner.compile(checkpointer=False))
        outer.add_node("last", lambda state: {"log": [f"last of {len(state['log'])}"]})
        outer.add_edge(START, "first")
        outer.add_edge("part", "inner")
        app = outer.compile(checkpointer=checkpointer, interrupt_before=["inner"], interrupt_after=["first"])
        found = [app.invoke({"log": ["begin"]}, CONFIG), app.invoke(None, CONFIG)["log"]]
        asked = {one.value: one.id for one in app.get_state(CONFIG).interrupts}
        found += [len(asked), app.invoke(Command(resume={id: value for value, id in asked.items()}), CONFIG)]
        app.update_state(CONFIG, {"log": ["by hand"]}, as_node="part")
        found += [shape(app.get_state(CONFIG)), app.invoke(None, CONFIG), history(app)]
        app.bulk_update_state(CONFIG, [[StateUpdate({"log": ["one"]}, "last")], [StateUpdate({"log": ["two"]}, "last")]])
        return [*found, history(app)]

    same_on_both(saver, run)
