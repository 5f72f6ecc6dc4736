"""LosslessMiddleware beside other runs and other middleware, in states of any length, and with what providers charge."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from lossless import Engine, Thread
from lossless.tokens import count_tools
from lossless_langchain import LosslessMiddleware
from lossless_langchain.codec import decode_stored
from lossless_langchain.middleware import ledger
from lossless_langchain.middleware.sizes import ToolSizes
from lossless_langchain_models import ScriptedModel, call, calling


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(f"sqlite:///{tmp_path / 'a.db'}", window=20_000, durability="normal") as engine:
        yield engine


@tool
def look(number: int) -> str:
    """Look something up."""
    return f"Result {number}"


def looking_once(messages: list[BaseMessage]) -> AIMessage:
    return calling(call("look", "c", number=1)) if messages[-1].type == "human" else AIMessage("done")


def config(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


def stored(engine: Engine, thread: str, **which: Any) -> list[BaseMessage]:
    return [message for one in engine.thread(thread).messages(**which) for message in decode_stored(one)]


def answering(answer: AIMessage) -> Callable[[Any], ModelResponse[Any]]:
    return lambda _request: ModelResponse(result=[answer])


def asked(state: list[BaseMessage], thread: str = "t") -> ModelRequest[Any]:
    held: Any = {"messages": state, "lossless_thread": thread}
    return ModelRequest(model=ScriptedModel(script=[]), messages=list(state), state=held)


# Other runs of the thread


def test_runs_at_once_on_one_thread_are_each_shown_their_own_state(engine: Engine) -> None:
    together = threading.Barrier(4)

    def script(messages: list[BaseMessage]) -> AIMessage:
        if len(model.seen) <= 4:
            together.wait(20)
        return looking_once(messages)

    model = ScriptedModel(script=script)
    agent = create_agent(model, tools=[look], middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    states: list[list[BaseMessage]] = []

    def run(number: int) -> None:
        states.append(agent.invoke({"messages": [HumanMessage(f"shared {number}")]}, config("t"))["messages"])  # type: ignore[arg-type]

    runs = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for each in runs:
        each.start()
    for each in runs:
        each.join()
    assert len(states) == 4
    assert all(shown and shown[-1].type in ("human", "tool") for shown in model.seen)
    kept = [message.id for message in stored(engine, "t", deleted=True)]
    assert sorted(map(str, kept)) == sorted({str(message.id) for state in states for message in state})
    state = agent.invoke({"messages": [HumanMessage("last")]}, config("t"))["messages"]
    assert {message.id for message in stored(engine, "t")} == {message.id for message in state}
    assert engine.verify().ok


def test_a_view_that_another_process_changed_meanwhile_is_brought_in_line_again(engine: Engine) -> None:
    middleware = LosslessMiddleware(engine)
    state: list[BaseMessage] = [HumanMessage("one", id="1"), AIMessage("two", id="2"), HumanMessage("three", id="3")]
    middleware.wrap_model_call(asked(state), answering(AIMessage("four", id="4")))
    elsewhere = engine.thread("t")
    elsewhere.delete(["3"])
    elsewhere.append({"role": "user", "content": "somebody else's"})
    seen: list[list[str]] = []

    def look_at(request: ModelRequest[Any]) -> ModelResponse[Any]:
        seen.append([message.text for message in request.messages])
        return ModelResponse(result=[AIMessage("four", id="4")])

    middleware.wrap_model_call(asked(state), look_at)
    assert "three" in seen[0]


# Other middleware


class Shortening(AgentMiddleware):
    """Makes something else of results and answers."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return ToolMessage("short", tool_call_id=handler(request).tool_call_id)

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        (answer,) = handler(request).result
        return ModelResponse(result=[AIMessage("redacted", tool_calls=answer.tool_calls)])


@pytest.mark.parametrize("keeps", [True, False], ids=["checkpointer", "no checkpointer"])
def test_what_other_middleware_makes_of_results_and_answers_is_shown_in_their_place(engine: Engine, keeps: bool) -> None:
    model = ScriptedModel(script=looking_once)
    agent = create_agent(
        model,
        tools=[look],
        middleware=[Shortening(), LosslessMiddleware(engine)],
        checkpointer=InMemorySaver() if keeps else None,
    )
    agent.invoke({"messages": [HumanMessage("a")]}, config("t"))
    assert [message.text for message in model.seen[1]] == ["a", "redacted", "short"]
    agent.invoke({"messages": [HumanMessage("b")]}, config("t"))
    assert [message.text for message in model.seen[2]][:3] == ["a", "redacted", "short"]
    assert "Result 1" not in str(model.seen)
    everything = [message.text for message in stored(engine, "t", deleted=True)]
    assert everything.count("Result 1") == 2, "what the tool said stays in the store"


# Long states, many threads


def test_of_a_long_state_only_what_is_new_is_compared(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    middleware = LosslessMiddleware(engine)
    state = [HumanMessage(f"m {n}", id=f"m{n}") if n % 2 == 0 else AIMessage(f"m {n}", id=f"m{n}") for n in range(400)]
    state.append(HumanMessage("and now?", id="now"))
    middleware.wrap_model_call(asked(state), answering(AIMessage("x", id="x")))  # type: ignore[arg-type]
    state += [AIMessage("x", id="x"), HumanMessage("more", id="more")]
    compared, read = itertools.count(), itertools.count()
    plain_eq, plain_messages = BaseMessage.__eq__, Thread.messages
    monkeypatch.setattr(BaseMessage, "__eq__", lambda one, other: next(compared) < 0 or plain_eq(one, other))
    monkeypatch.setattr(Thread, "messages", lambda self, *a, **k: next(read) < 0 or plain_messages(self, *a, **k))
    middleware.wrap_model_call(asked(state), answering(AIMessage("y", id="y")))  # type: ignore[arg-type]
    assert (next(compared), next(read)) == (1, 0), "only the answer is another object than the one that was stored"


def test_the_messages_of_threads_that_are_no_longer_used_are_not_kept_in_memory(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_KEPT_BYTES", 100_000)
    middleware = LosslessMiddleware(engine)
    long = HumanMessage("word " * 50_000, id="long")
    kept = weakref.ref(long)
    middleware.wrap_model_call(asked([long], "a"), answering(AIMessage("x", id="x")))
    middleware.wrap_model_call(asked([HumanMessage("hi", id="h")], "b"), answering(AIMessage("y", id="y")))
    del long
    gc.collect()
    assert kept() is None
    middleware.wrap_model_call(asked([HumanMessage("word " * 50_000, id="long")], "a"), answering(AIMessage("x", id="x")))
    assert len(stored(engine, "a", deleted=True)) == 2, "the database is asked again"


def test_a_conversation_that_is_sent_anew_is_neither_asked_for_message_by_message_nor_kept_in_memory(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_given: Any) -> None:
        raise AssertionError("asked for one message")

    monkeypatch.setattr(Thread, "describe", never)
    agent = create_agent(ScriptedModel(script=looking_once), tools=[look], middleware=[LosslessMiddleware(engine)])
    sent: list[Any] = [(("user", "assistant")[n % 2], f"message {n} of a talk") for n in range(20)]
    freed: list[Any] = []
    for run in range(4):
        sent.append(("user", f"question {run}"))
        state = agent.invoke({"messages": list(sent)}, config("t"))["messages"]  # type: ignore[arg-type]
        sent += state[len(sent) :]
        freed.append(weakref.ref(state[0]))
        del state
    gc.collect()
    assert len(stored(engine, "t")) == len(sent) == 20 + 4 * 4
    assert [each() is None for each in freed[1:3]] == [True, True]


def test_without_a_checkpointer_a_long_thread_is_not_read_when_a_run_begins(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.thread("t").append([{"role": "user", "content": f"message {n}"} for n in range(50)])
    for n in range(2):
        agent = create_agent(ScriptedModel(script=looking_once), tools=[look], middleware=[LosslessMiddleware(engine)])
        with monkeypatch.context() as patched:
            patched.setattr(Thread, "messages", None)
            state = agent.invoke({"messages": [HumanMessage(f"now {n}")]}, config("t"))["messages"]
        assert len(stored(engine, "t")) == 50 + 4 * (n + 1)
    again = create_agent(ScriptedModel(script=looking_once), tools=[look], middleware=[LosslessMiddleware(engine)])
    again.invoke({"messages": [*state, HumanMessage("and then")]}, config("t"))
    assert len(stored(engine, "t")) == 50 + 4 * 3


def test_every_message_of_a_tool_that_answers_with_several_commands_is_stored_before_the_next_call(engine: Engine) -> None:
    @tool
    def note(tool_call_id: Annotated[str, InjectedToolCallId]) -> list[Any]:
        """Note two things."""
        answer = ToolMessage("noted", tool_call_id=tool_call_id)
        return [Command(update={"messages": [answer]}), Command(update={"messages": [HumanMessage("remember")]})]

    script = [calling(call("note", "n1")), ConnectionError("down")]
    agent = create_agent(ScriptedModel(script=script), tools=[note], middleware=[LosslessMiddleware(engine)])
    with pytest.raises(ConnectionError):
        agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    assert [message.text for message in stored(engine, "t")] == ["hi", "", "noted", "remember"]


# What providers charge


def reporting(usage: Any) -> AIMessage:
    answer = AIMessage("noted", id="n")
    answer.usage_metadata = usage
    return answer


def charged(engine: Engine, usage: Any, *, words: int = 4_000) -> float:
    """Give the margin after a call whose answer reports a usage."""
    state: list[BaseMessage] = [HumanMessage("word " * words, id="h")]
    response = LosslessMiddleware(engine).wrap_model_call(asked(state), answering(reporting(usage)))
    assert isinstance(response, ModelResponse)
    return engine.margin


def usage(input_tokens: Any, **details: Any) -> dict[str, Any]:
    return {"input_tokens": input_tokens, "output_tokens": 1, "total_tokens": 1, "input_token_details": details}


@pytest.mark.parametrize("twin", ["sync", "async"])
def test_what_the_provider_charges_sets_how_much_of_the_budget_is_kept_free(engine: Engine, twin: str) -> None:
    before = engine.margin
    answer = AIMessage("noted", usage_metadata={"input_tokens": 6_000, "output_tokens": 1, "total_tokens": 6_001})
    agent = create_agent(ScriptedModel(script=[answer]), middleware=[LosslessMiddleware(engine, tools=False)])
    given: Any = {"messages": [HumanMessage("word " * 4_000)]}
    if twin == "sync":
        agent.invoke(given, config("t"))
    else:
        asyncio.run(agent.ainvoke(given, config("t")))
    assert engine.margin > before + 0.1


def test_tokens_from_the_cache_count_whether_or_not_an_integration_counts_them_as_input(engine: Engine) -> None:
    inside = charged(engine, usage(6_000, cache_read=5_000, cache_creation=500))
    assert charged(engine, usage(500, cache_read=5_000, cache_creation=500)) == pytest.approx(inside, abs=0.01)


@pytest.mark.parametrize(
    "reported",
    [
        None,
        {},
        "6000",
        usage(None),
        usage(0),
        usage(-6_000),
        usage("6000"),
        usage(True),
        usage(float("nan")),
        usage(10**30),
        usage(3),
        {"input_tokens": 10**9, "input_token_details": "none"},
    ],
    ids=repr,
)
def test_a_report_that_can_not_be_of_this_context_changes_nothing(engine: Engine, reported: Any) -> None:
    before = engine.margin
    assert charged(engine, reported) == before
    assert len(stored(engine, "t")) == 2


def test_a_short_context_and_one_that_other_middleware_shortened_tell_nothing(engine: Engine) -> None:
    before = engine.margin
    assert charged(engine, usage(60), words=20) == before
    state = [HumanMessage("word " * 4_000, id="h1"), HumanMessage("word " * 2_000, id="h2")]
    request = asked(state)  # type: ignore[arg-type]
    middleware = LosslessMiddleware(engine)
    middleware.wrap_model_call(request.override(messages=request.messages[1:]), answering(reporting(usage(9_000))))
    assert engine.margin == before


def test_a_report_that_can_not_be_noted_costs_no_answer(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: Any) -> float:
        raise OSError("disk full")

    monkeypatch.setattr(Thread, "report_usage", fail)
    charged(engine, usage(6_000))
    assert [message.text for message in stored(engine, "t")][1:] == ["noted"]


def test_what_a_provider_says_itself_beside_tools_is_counted_once(engine: Engine) -> None:
    beside = {}
    for profile in ("openai", "anthropic", "gemini"):
        sizes = ToolSizes(engine)
        one = sizes.count([look], None, profile)
        assert sizes.count([], None, profile) == 0
        assert sizes.count([look], None, profile) == one
        tools = [convert_to_openai_tool(look)] * 3
        assert sizes.count([look] * 3, None, profile) == count_tools(tools, engine.counter, profile=profile)
        beside[profile] = one
    assert beside["anthropic"] > beside["openai"] + 300
    state: list[BaseMessage] = [HumanMessage("hi", id="h")]
    model = ScriptedModel(script=[], model_name="claude-sonnet-5")
    views: list[int] = []
    middleware = LosslessMiddleware(engine)
    for asked_of in (model, ScriptedModel(script=[])):
        call_of = middleware._prepare(asked(state).override(model=asked_of, tools=[look]))
        views.append(call_of.context.overhead)
    assert views[0] > views[1] + 300
