"""Nodes and tools in real graphs: the model is shown the active context, the state keeps every message."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent

from lossless import Budget, Engine
from lossless.errors import ConfigError
from lossless_langchain_models import ScriptedModel, call
from lossless_langgraph import LosslessSaver, compaction_node, lossless_tools, pre_model_hook

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")

WORDS = "the quick brown fox jumps over the lazy dog and runs through the wide green forest "
REQUEST = "Find the result that matters to invoice 4711."


class State(MessagesState):
    llm_input_messages: list[AnyMessage]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("sqlite://", window=4_000, background=False) as engine:
        yield engine


@tool
def look(number: int) -> str:
    """Look something up."""
    return f"Result {number}: " + (WORDS * 20)[:1_200]


def looking(times: int) -> Any:
    counter = itertools.count()

    def script(_messages: list[BaseMessage]) -> AIMessage:
        number = next(counter)
        return AIMessage("", tool_calls=[call("look", f"c{number}", number=number)]) if number < times else AIMessage("Found.")

    return script


def config(thread_id: str = "t") -> Any:
    return {"configurable": {"thread_id": thread_id}, "recursion_limit": 500}


def texts(messages: Any) -> list[str]:
    return [message.text for message in messages]


def chat(engine: Engine, model: ScriptedModel, saver: Any, *, behind: bool = False) -> Any:
    """A hand-made graph with a compaction node before its model, or behind it."""
    graph = StateGraph(State)
    graph.add_node("compact", compaction_node(engine))
    graph.add_node("model", lambda state: {"messages": [model.invoke(state.get("llm_input_messages") or state["messages"])]})
    order = [START, "model", "compact", END] if behind else [START, "compact", "model", END]
    for one, other in itertools.pairwise(order):
        graph.add_edge(one, other)
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_with_the_hook_is_shown_its_context_and_keeps_its_state(engine: Engine, is_async: bool) -> None:
    model = ScriptedModel(script=looking(16))
    hook = pre_model_hook(engine, tools=[look])
    agent = create_react_agent(model, [look], pre_model_hook=hook, checkpointer=InMemorySaver())
    given = {"messages": [HumanMessage(REQUEST)]}
    if is_async:
        asyncio.run(agent.ainvoke(given, config()))
    else:
        agent.invoke(given, config())
    state = agent.get_state(config()).values["messages"]
    assert len(state) == 34
    assert all(any(message.text == REQUEST for message in shown) for shown in model.seen)
    assert texts(model.seen[2]) == texts(state[:5])
    assert len(model.seen[-1]) < 24
    assert any(message.additional_kwargs.get("lc_source") == "summarization" for message in model.seen[-1])
    assert texts(engine.thread("t").messages()) == texts(state[:-1])  # the answer comes with the next turn
    agent.invoke({"messages": [HumanMessage("And now?")]}, config())
    assert texts(engine.thread("t").messages()) == texts(agent.get_state(config()).values["messages"][:-1])
    assert engine.verify().ok


@pytest.mark.parametrize("behind", [False, True])
def test_a_compaction_node_compacts_and_leaves_the_state_alone(engine: Engine, behind: bool) -> None:
    model = ScriptedModel(script=["Noted."])
    app = chat(engine, model, InMemorySaver(), behind=behind)
    for number in range(24):
        app.invoke({"messages": [HumanMessage(f"Fact {number}. " + WORDS * 9)]}, config())
    state = app.get_state(config()).values["messages"]
    assert len(state) == 48
    thread = engine.thread("t")
    assert texts(thread.messages()) == texts(state if behind else state[:-1])
    assert thread.context().tokens <= Budget(window=4_000).limits(engine.margin).soft
    assert len(model.seen[-1]) < 40
    removed = state[0]
    app.update_state(config(), {"messages": [RemoveMessage(id=removed.id)]})
    app.invoke({"messages": [HumanMessage("Go on.")]}, config())
    assert removed.id not in [message.id for message in thread.messages()]
    assert removed.id in [message.id for message in thread.messages(deleted=True)]


def test_the_hook_beside_our_saver_stores_each_message_once(engine: Engine) -> None:
    saver = LosslessSaver(engine)
    app = chat(engine, ScriptedModel(script=["Noted."]), saver)
    for number in range(3):
        app.invoke({"messages": [HumanMessage(f"Fact {number}.")]}, config())
    found = engine.thread("t").messages(deleted=True)
    assert [message.text for message in found if message.role == "user"] == [f"Fact {number}." for number in range(3)]
    assert engine.verify().ok


def test_a_graph_within_a_graph_has_a_thread_below_that_ones(engine: Engine) -> None:
    inner = chat(engine, ScriptedModel(script=["inner answer"]), None)
    outer = StateGraph(MessagesState)
    outer.add_node(
        "inner", lambda state: {"messages": inner.invoke({"messages": [HumanMessage("inner task", id="i")]})["messages"]}
    )
    outer.add_edge(START, "inner")
    outer.compile(checkpointer=InMemorySaver()).invoke({"messages": [HumanMessage("outer task")]}, config())
    names = [thread.id for thread in engine.threads()]
    assert names == ["t/inner/i"]
    assert texts(engine.thread(names[0]).messages())[0] == "inner task"


def test_states_of_any_form_are_read(engine: Engine) -> None:
    @dataclasses.dataclass
    class Held:
        chat: list[AnyMessage]

    hook = pre_model_hook(engine, thread="named", input_messages_key="chat", output_messages_key="shown")
    shown = hook.invoke(Held([HumanMessage("one")]), {})["shown"]
    assert texts(shown) == ["one"]
    assert hook.invoke({"chat": None}, {}) == {"shown": [*shown]}
    assert texts(engine.thread("named").messages()) == ["one"]


def test_what_is_missing_is_said(engine: Engine) -> None:
    with pytest.raises(ConfigError, match="names no thread"):
        pre_model_hook(engine).invoke({"messages": [HumanMessage("x")]}, {})
    with Engine("sqlite://") as bare:
        with pytest.raises(ConfigError, match="how large the window"):
            pre_model_hook(bare)
        pre_model_hook(bare, window=4_000)
        pre_model_hook(bare, model=ScriptedModel(script=["x"], profile={"max_input_tokens": 9_000}))
    with pytest.raises(ConfigError, match="contradict"):
        compaction_node(engine, window=1, budget=Budget(window=1))


def test_summaries_are_expanded_by_sub_agents_and_refused_at_the_root(engine: Engine) -> None:
    thread = engine.thread("t")
    thread.append([{"role": "user", "content": f"Invoice {n} is over {n} EUR. " + WORDS} for n in range(300)])
    thread.compact()
    summary = next(item.id for item in thread.context().items if item.kind == "summary")
    asked = AIMessage(
        "", tool_calls=[call("lcm_expand", "c") | {"args": {"id": summary}}, call("lcm_grep", "g", pattern="Invoice 7 is")]
    )

    def asking(**options: Any) -> Any:
        graph = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode(lossless_tools(engine, **options)))
        graph.add_edge(START, "tools")
        return graph.compile()

    def answers(app: Any, thread_id: str = "t") -> list[str]:
        found = app.invoke({"messages": [asked]}, config(thread_id))["messages"]
        return [message.text for message in found if message.type == "tool"]

    def nested(app: Any) -> Any:
        graph = StateGraph(MessagesState)
        graph.add_node("agent", app)
        graph.add_edge(START, "agent")
        return graph.compile()

    refusal, hit = answers(asking())
    assert "too many" in refusal
    assert "Invoice 7 is over" in hit
    assert "Invoice 0 is over 0 EUR" in answers(nested(asking()))[0]
    assert "Invoice 0 is over 0 EUR" in answers(asking(allow_expand=True))[0]
    assert "too many" in answers(nested(asking(allow_expand=False)))[0]
    assert "Invoice 7 is over" in answers(asking(thread=thread), "other")[1]
    assert "Invoice 7 is over" in asyncio.run(asking().ainvoke({"messages": [asked]}, config()))["messages"][-1].text
    assert "sub-agent" in next(one for one in lossless_tools(engine) if one.name == "lcm_expand").description
