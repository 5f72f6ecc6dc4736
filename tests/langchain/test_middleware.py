"""LosslessMiddleware in real agents: every message stored once, the state untouched, the model shown the active context."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelRequest,
    ModelResponse,
    ModelRetryMiddleware,
    SummarizationMiddleware,
)
from langchain.agents.middleware.types import ExtendedModelResponse
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import BaseModel

import lossless_langchain_models
from lossless import Engine
from lossless.errors import ConfigError
from lossless_langchain import LosslessMiddleware
from lossless_langchain.codec import decode_stored
from lossless_langchain_models import Overflow, ScriptedModel, call, calling
from lossless_prepared import prepared

GIST = "In gist, the assistant looked up several results, all of them about the fox."
WORDS = "the quick brown fox jumps over the lazy dog and runs through the wide green forest "


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(f"sqlite:///{tmp_path / 'a.db'}", window=20_000, durability="normal") as engine:
        yield engine


@tool
def look(number: int) -> str:
    """Look something up."""
    return f"Result {number}: " + (WORDS * 30)[:2_000]


def looking(times: int) -> Any:
    """Call ``look`` so many times, then answer."""
    counter = itertools.count()

    def script(messages: list[BaseMessage]) -> AIMessage:
        number = next(counter)
        return calling(call("look", f"call_{number}", number=number)) if number < times else AIMessage("done")

    return script


def stored(engine: Engine, thread: str) -> list[BaseMessage]:
    return [message for one in engine.thread(thread).messages() for message in decode_stored(one)]


def config(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}, "recursion_limit": 1_000}


def assert_all_kept(engine: Engine, thread: str, state: list[BaseMessage]) -> None:
    kept = stored(engine, thread)
    assert len(kept) == len(state)
    assert kept == state
    assert [type(message) for message in kept] == [type(message) for message in state]
    assert engine.verify(thread).ok


def test_middlewares_of_one_url_share_its_engine(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    one, other = LosslessMiddleware(url, window=20_000), LosslessMiddleware(url, window=20_000)
    assert one.engine is other.engine
    one.engine.close()


def test_below_soft_the_model_sees_the_state_unchanged(engine: Engine) -> None:
    model = ScriptedModel(script=looking(2))
    agent = create_agent(
        model, tools=[look], middleware=[LosslessMiddleware(engine)], system_prompt="be brief", checkpointer=InMemorySaver()
    )
    state = agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))["messages"]
    assert [message.type for message in state] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert model.seen[-1] == [SystemMessage("be brief"), *state[:-1]]
    assert_all_kept(engine, "t", state)
    again = agent.invoke({"messages": [HumanMessage("more")]}, config("t"))["messages"]
    assert model.seen[-1][1:] == again[:-1]
    assert_all_kept(engine, "t", again)


def test_one_request_and_eighty_tool_turns_stay_within_the_window(engine: Engine) -> None:
    model = ScriptedModel(script=looking(80))
    agent = create_agent(model, tools=[look], middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    request = HumanMessage("Find the result that matters to invoice 4711, and say so.")
    state = agent.invoke({"messages": [request]}, config("t"))["messages"]
    assert len(state) == 162
    assert [message.id for message in state] == [message.id for message in agent.get_state(config("t")).values["messages"]]
    for shown in model.seen:
        assert any(message.content == request.content for message in shown)
        asked = [each["id"] for message in shown if isinstance(message, AIMessage) for each in message.tool_calls]
        assert asked == [message.tool_call_id for message in shown if isinstance(message, ToolMessage)]
        assert sum(engine.counter.count(str(message.content)) for message in shown) < 15_000
    summaries = [m for m in model.seen[-1] if m.additional_kwargs.get("lc_source") == "summarization"]
    assert summaries
    assert all(isinstance(message, HumanMessage) and "sum_" in message.text for message in summaries)
    assert_all_kept(engine, "t", state)
    assert len(engine.thread("t").expand(engine.thread("t").grep("Result 3:").items[0].message_id)) == 1


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream"])
def test_every_way_to_run_an_agent_stores_each_message_once(engine: Engine, way: str) -> None:
    agent = create_agent(
        ScriptedModel(script=looking(3)), tools=[look], middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver()
    )
    given = {"messages": [HumanMessage("hi")]}

    async def run() -> None:
        if way == "ainvoke":
            await agent.ainvoke(given, config("t"))
            return
        async for _part in agent.astream(given, config("t"), stream_mode=["messages", "updates"]):
            pass

    if way == "invoke":
        agent.invoke(given, config("t"))
    elif way == "stream":
        modes = [part[0] for part in agent.stream(given, config("t"), stream_mode=["messages", "updates"])]
        assert "messages" in modes
    else:
        asyncio.run(run())
    assert_all_kept(engine, "t", agent.get_state(config("t")).values["messages"])


def test_tool_results_survive_a_crash_in_mid_run(engine: Engine) -> None:
    @tool
    def explode(number: int) -> str:
        """Explode at last."""
        if number == 2:
            raise RuntimeError("boom")
        return f"fine {number}"

    script = [calling(call("explode", f"c{n}", number=n)) for n in range(3)]
    agent = create_agent(ScriptedModel(script=script), tools=[explode], middleware=[LosslessMiddleware(engine)])
    with pytest.raises(RuntimeError, match="boom"):
        agent.invoke({"messages": [HumanMessage("go")]}, config("t"))
    kept = stored(engine, "t")
    assert [message.type for message in kept] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert [message.content for message in kept if message.type == "tool"] == ["fine 0", "fine 1"]


def test_parallel_calls_of_one_turn_are_stored_one_by_one_before_the_slow_one_fails(engine: Engine) -> None:
    @tool
    def maybe(number: int) -> str:
        """Fail for one."""
        if number == 9:
            raise RuntimeError("boom")
        return f"fine {number}"

    script = [calling(*(call("maybe", f"c{n}", number=n) for n in (1, 2, 9)))]
    agent = create_agent(ScriptedModel(script=script), tools=[maybe], middleware=[LosslessMiddleware(engine)])
    with pytest.raises(RuntimeError, match="boom"):
        agent.invoke({"messages": [HumanMessage("go")]}, config("t"))
    assert {message.content for message in stored(engine, "t") if message.type == "tool"} <= {"fine 1", "fine 2"}
    assert [message.type for message in stored(engine, "t")][:2] == ["human", "ai"]


def test_runs_without_a_thread_id_never_share_a_thread(engine: Engine) -> None:
    agent = create_agent(ScriptedModel(script=looking(1)), tools=[look], middleware=[LosslessMiddleware(engine)])
    given = HumanMessage("hi", id="the same")
    first = agent.invoke({"messages": [given]})
    agent.invoke({"messages": [given]})
    assert set(first) == {"messages"}
    threads = list(engine.threads())
    assert sorted(len(stored(engine, info.id)) for info in threads) == [2, 4]
    assert len({info.id for info in threads}) == 2


def test_a_retried_first_call_of_a_run_without_a_thread_id_stays_in_its_thread(engine: Engine) -> None:
    model = ScriptedModel(script=[ConnectionError("no"), ConnectionError("no"), "hi"])
    retry = ModelRetryMiddleware(max_retries=3, initial_delay=0.0)
    agent = create_agent(model, middleware=[retry, LosslessMiddleware(engine)])
    agent.invoke({"messages": [HumanMessage("hi")]})
    assert [len(stored(engine, info.id)) for info in engine.threads()] == [2]


def test_a_sub_agent_has_a_thread_of_its_own_below_its_callers(engine: Engine) -> None:
    @tool
    def delegate(task: str) -> str:
        """Let somebody else do it."""
        sub = create_agent(ScriptedModel(script=looking(1)), tools=[look], middleware=[LosslessMiddleware(engine)])
        answer: str = sub.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text
        return answer

    script = [calling(call("delegate", "d1", task="one"), call("delegate", "d2", task="two")), AIMessage("done")]
    model = ScriptedModel(script=script)
    agent = create_agent(model, tools=[delegate], middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    state = agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))["messages"]
    assert {message.id for message in stored(engine, "t")} == {message.id for message in state}
    assert model.seen[-1] == state[:-1], "results stand in the order of their calls, whichever came first"
    subs = [info.id for info in engine.threads() if info.id != "t"]
    assert len(subs) == 2
    assert all(id.startswith("t/") for id in subs)
    assert {stored(engine, id)[0].text for id in subs} == {"one", "two"}
    assert [len(stored(engine, id)) for id in subs] == [4, 4]


def test_a_sub_agent_that_is_given_a_thread_id_uses_it(engine: Engine) -> None:
    @tool
    def delegate(task: str) -> str:
        """Let somebody else do it."""
        sub = create_agent(ScriptedModel(script=["sub done"]), middleware=[LosslessMiddleware(engine)])
        return str(sub.invoke({"messages": [HumanMessage(task)]}, config("other"))["messages"][-1].text)

    script = [calling(call("delegate", "d1", task="one")), AIMessage("done")]
    agent = create_agent(ScriptedModel(script=script), tools=[delegate], middleware=[LosslessMiddleware(engine)])
    agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    assert sorted(info.id for info in engine.threads()) == ["other", "t"]


def test_an_agent_within_a_graph_goes_on_in_its_own_thread(engine: Engine) -> None:
    from langgraph.graph import START, MessagesState, StateGraph

    agent = create_agent(ScriptedModel(script=["one", "two"]), middleware=[LosslessMiddleware(engine)])
    graph = StateGraph(MessagesState).add_node("helper", agent).add_edge(START, "helper").compile(checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    state = graph.invoke({"messages": [HumanMessage("more")]}, config("t"))["messages"]
    (info,) = engine.threads()
    assert info.id.startswith("t/helper/")
    assert_all_kept(engine, info.id, state)


@pytest.mark.parametrize("outermost", [True, False])
def test_a_person_in_the_loop_may_edit_and_refuse_calls(engine: Engine, outermost: bool) -> None:
    script = [calling(call("look", "c1", number=1)), calling(call("look", "c2", number=2)), AIMessage("done")]
    both: list[AgentMiddleware] = [LosslessMiddleware(engine), HumanInTheLoopMiddleware(interrupt_on={"look": True})]
    agent = create_agent(
        ScriptedModel(script=script),
        tools=[look],
        middleware=both if outermost else both[::-1],
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    edit = {"type": "edit", "edited_action": {"name": "look", "args": {"number": 7}}}
    agent.invoke(Command(resume={"decisions": [edit]}), config("t"))
    state = agent.invoke(Command(resume={"decisions": [{"type": "reject", "message": "no"}]}), config("t"))["messages"]
    assert state[-1].text == "done"
    assert_all_kept(engine, "t", state)
    assert "Result 7" in stored(engine, "t")[2].text


def test_a_tool_that_interrupts_is_run_again_and_its_result_stored_once(engine: Engine) -> None:
    @tool
    def ask(question: str) -> str:
        """Ask a person."""
        return f"they said {interrupt(question)}"

    script = [calling(call("ask", "c1", question="now?")), AIMessage("done")]
    agent = create_agent(
        ScriptedModel(script=script), tools=[ask], middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver()
    )
    agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    state = agent.invoke(Command(resume="yes"), config("t"))["messages"]
    assert state[2].text == "they said yes"
    assert_all_kept(engine, "t", state)


def test_what_the_state_removes_leaves_the_view_and_stays_in_the_store(engine: Engine) -> None:
    model = ScriptedModel(script=["one", "two", "three"])
    agent = create_agent(model, middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    first = agent.invoke({"messages": [HumanMessage("secret")]}, config("t"))["messages"]
    agent.invoke({"messages": [HumanMessage("more")]}, config("t"))
    agent.update_state(config("t"), {"messages": [RemoveMessage(id=message.id) for message in first]})
    state = agent.invoke({"messages": [HumanMessage("again")]}, config("t"))["messages"]
    assert "secret" not in str(model.seen[-1])
    assert_all_kept(engine, "t", state)
    assert [m.text for m in engine.thread("t").messages(deleted=True) if m.deleted] == ["secret", "one"]


def test_what_was_in_the_thread_before_the_agent_is_shown_to_it(engine: Engine) -> None:
    engine.thread("t").append([{"role": "user", "content": "I am Ann."}, {"role": "assistant", "content": "Hello Ann."}])
    model = ScriptedModel(script=["You are Ann.", "Yes."])
    agent = create_agent(model, middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    odd = HumanMessage("Who am I?", id="an id with a NUL \0 in it")
    agent.invoke({"messages": [odd]}, config("t"))
    assert [message.text for message in model.seen[-1]] == ["I am Ann.", "Hello Ann.", "Who am I?"]
    agent.invoke({"messages": [HumanMessage("Sure?")]}, config("t"))
    assert [message.text for message in model.seen[-1]] == ["I am Ann.", "Hello Ann.", "Who am I?", "You are Ann.", "Sure?"]


def test_going_back_in_time_shows_the_thread_as_it_was_then_and_forward_again(engine: Engine) -> None:
    model = ScriptedModel(script=["one", "two", "other", "last"])
    saver = InMemorySaver()
    agent = create_agent(model, middleware=[LosslessMiddleware(engine)], checkpointer=saver)
    agent.invoke({"messages": [HumanMessage("a")]}, config("t"))
    then = agent.get_state(config("t")).config
    agent.invoke({"messages": [HumanMessage("b")]}, config("t"))
    newest = agent.get_state(config("t")).config
    forked = agent.invoke({"messages": [HumanMessage("c")]}, then)["messages"]
    assert [message.text for message in model.seen[-1]] == ["a", "one", "c"]
    assert_all_kept(engine, "t", forked)
    agent.invoke({"messages": [HumanMessage("d")]}, newest)
    assert [message.text for message in model.seen[-1]] == ["a", "one", "b", "two", "d"]


def test_an_agent_without_a_checkpointer_remembers_and_a_repeated_conversation_is_recognised(engine: Engine) -> None:
    model = ScriptedModel(script=["Hello Ann, nice to meet you.", "You are Ann, as you said.", "Still Ann, I should think."])
    agent = create_agent(model, middleware=[LosslessMiddleware(engine)])
    agent.invoke({"messages": [("user", "I am Ann, and I live in Bern.")]}, config("t"))
    state = agent.invoke({"messages": [("user", "Who am I, do you know?")]}, config("t"))["messages"]
    said = ["I am Ann, and I live in Bern.", "Hello Ann, nice to meet you.", "Who am I, do you know?"]
    assert [message.text for message in model.seen[-1]] == said
    assert len(state) == 2
    whole = [*(("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate([*said, "You are Ann, as you said."]))]
    agent.invoke({"messages": [*whole, ("user", "And now, who am I?")]}, config("t"))
    assert [message.text for message in model.seen[-1]] == [*said, "You are Ann, as you said.", "And now, who am I?"]
    assert len(stored(engine, "t")) == 6


def test_a_refused_context_is_compacted_and_tried_once_more(engine: Engine) -> None:
    limit = 6_000

    def script(messages: list[BaseMessage]) -> AIMessage:
        size = sum(engine.counter.count(str(message.content)) for message in messages)
        if size > limit:
            raise Overflow(f"This model's maximum context length is {limit} tokens. However, your messages resulted in {size}.")
        return turns(messages)

    turns = looking(30)
    model = ScriptedModel(script=script)
    agent = create_agent(model, tools=[look], middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    state = agent.invoke({"messages": [HumanMessage("Find invoice 4711.")]}, config("t"))["messages"]
    assert state[-1].text == "done"
    assert_all_kept(engine, "t", state)
    assert all(any("4711" in message.text for message in shown) for shown in model.seen)
    assert len(model.seen) <= 31 + 3, "what was refused once is not tried at every call"


def test_an_error_that_compaction_can_not_help_is_raised_as_it_is(engine: Engine) -> None:
    model = ScriptedModel(script=[Overflow("maximum context length exceeded")])
    agent = create_agent(model, middleware=[LosslessMiddleware(engine)])
    with pytest.raises(Overflow):
        agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    assert len(model.seen) == 1
    other = create_agent(ScriptedModel(script=[Overflow("invalid schema")]), middleware=[LosslessMiddleware(engine)])
    with pytest.raises(Overflow, match="invalid schema"):
        other.invoke({"messages": [HumanMessage("hi")]}, config("t"))


def test_an_agent_reads_its_past_with_the_recall_tools(engine: Engine) -> None:
    script = [calling(call("lcm_grep", "g1", pattern="Bern")), AIMessage("You live in Bern.")]
    model = ScriptedModel(script=script)
    agent = create_agent(model, middleware=[LosslessMiddleware(engine)])
    state = agent.invoke({"messages": [HumanMessage("I live in Bern. Where do I live?")]})["messages"]
    assert "I live in Bern" in state[2].text
    assert {getattr(each, "name", "") for each in model.bound} >= {"lcm_grep", "lcm_describe", "lcm_expand"}
    assert [info.messages for info in engine.threads()] == [4]


def test_other_middleware_may_edit_add_and_leave_out_messages_of_a_call(engine: Engine) -> None:
    class Reminding(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(messages=[*request.messages[1:], SystemMessage("remember the milk")]))

    model = ScriptedModel(script=["one", "two"])
    agent = create_agent(model, middleware=[Reminding(), LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("a")]}, config("t"))
    state = agent.invoke({"messages": [HumanMessage("b")]}, config("t"))["messages"]
    assert [message.text for message in model.seen[-1]] == ["one", "b", "remember the milk"]
    assert_all_kept(engine, "t", state)


def test_langchains_own_summarization_before_it_is_followed(engine: Engine) -> None:
    stock = SummarizationMiddleware(ScriptedModel(script=["the gist"]), trigger=("messages", 6), keep=("messages", 2))
    model = ScriptedModel(script=looking(6))
    agent = create_agent(model, tools=[look], middleware=[stock, LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    state = agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))["messages"]
    assert {message.id for message in stored(engine, "t")} == {message.id for message in state}
    assert model.seen[-1] == state[:-1]
    everything = engine.thread("t").messages(deleted=True)
    assert sum("Result" in message.text for message in everything if message.role == "tool") == 6


def test_two_of_our_middlewares_are_refused(engine: Engine) -> None:
    with pytest.raises(AssertionError, match="duplicate"):
        create_agent(ScriptedModel(script=["x"]), middleware=[LosslessMiddleware(engine), LosslessMiddleware(engine)])


def test_without_any_window_the_models_profile_counts_and_without_one_the_error_says_what_to_give(tmp_path: Path) -> None:
    with Engine(f"sqlite:///{tmp_path / 'a.db'}", durability="normal") as engine:
        plain = create_agent(ScriptedModel(script=["x"]), middleware=[LosslessMiddleware(engine)])
        with pytest.raises(ConfigError, match="window") as caught:
            plain.invoke({"messages": [HumanMessage("hi")]}, config("t"))
        assert "window=" in caught.value.hint
        model = ScriptedModel(script=looking(20), profile={"max_input_tokens": 9_000})
        agent = create_agent(model, tools=[look], middleware=[LosslessMiddleware(engine)])
        agent.invoke({"messages": [HumanMessage("hi")]}, config("u"))
        assert all(sum(engine.counter.count(str(m.content)) for m in shown) < 7_000 for shown in model.seen)
        assert any("sum_" in str(shown) for shown in model.seen)


def _gist(messages: Any) -> str:
    return f"In gist, the assistant looked up {len(messages) // 2} results, all of them about the fox."


async def _agist(messages: Any) -> str:
    return _gist(messages)


@pytest.mark.parametrize(
    "summarizer",
    [ScriptedModel(script=[GIST]), _gist, _agist, RunnableLambda(_gist), ScriptedModel(script=[GIST]).with_retry()],
    ids=["model", "function", "async function", "runnable", "model with retries"],
)
def test_whatever_langchain_accepts_as_a_summarizer_writes_the_summaries(summarizer: Any, tmp_path: Path) -> None:
    with Engine(f"sqlite:///{tmp_path / 'a.db'}", window=9_000, durability="normal") as engine:
        model = ScriptedModel(script=looking(20))
        agent = create_agent(model, tools=[look], middleware=[LosslessMiddleware(engine, summarizer=summarizer)])
        agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))
        engine.thread("t").wait()
        assert "gist" in str([item.text for item in engine.thread("t").context().items if item.kind == "summary"])


def test_a_summarizer_may_be_a_models_name(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    import langchain.chat_models

    monkeypatch.setattr(langchain.chat_models, "init_chat_model", lambda name: ScriptedModel(script=[f"{GIST} So says {name}."]))
    middleware = LosslessMiddleware(engine, window=4_000, summarizer="house:small")
    agent = create_agent(ScriptedModel(script=looking(8)), tools=[look], middleware=[middleware])
    agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    engine.thread("t").wait()
    summaries = [item.text for item in engine.thread("t").context().items if item.kind == "summary"]
    assert "So says house:small" in str(summaries)


def test_contradicting_arguments_are_refused(engine: Engine, tmp_path: Path) -> None:
    from lossless import Budget

    with pytest.raises(ConfigError, match="contradict"):
        LosslessMiddleware(engine, window=1_000, budget=Budget(window=1_000))
    other = Engine(f"sqlite:///{tmp_path / 'b.db'}", window=1_000, summarizer=lambda request: "x")
    with other, pytest.raises(ConfigError, match="summarizer already"):
        LosslessMiddleware(other, summarizer=_gist)
    with pytest.raises(ConfigError, match="can't be a int"):
        LosslessMiddleware(engine, summarizer=7)


def test_concurrent_runs_store_every_message_once(engine: Engine) -> None:
    agent = create_agent(
        ScriptedModel(script=lambda messages: calling(call("look", "c", number=1)) if messages[-1].type == "human" else "done"),
        tools=[look],
        middleware=[LosslessMiddleware(engine)],
    )

    async def run() -> list[dict[str, Any]]:
        one = [agent.ainvoke({"messages": [HumanMessage(f"shared {n}")]}, config("shared")) for n in range(8)]
        own = [agent.ainvoke({"messages": [HumanMessage(f"own {n}")]}, config(f"own{n}")) for n in range(8)]
        return list(await asyncio.gather(*one, *own))

    states = asyncio.run(run())
    everything = [message.id for state in states[:8] for message in state["messages"]]
    kept = [message.id for message in stored(engine, "shared")]
    assert sorted(map(str, kept)) == sorted(map(str, everything))
    for number, state in enumerate(states[8:]):
        assert_all_kept(engine, f"own{number}", state["messages"])


def test_sixty_facts_in_long_messages_can_be_found_and_read_again(engine: Engine) -> None:
    facts = [f"The code of the {n}th door is {7919 * (n + 3) % 100_000:05d}." for n in range(60)]
    model = ScriptedModel(script=["Noted."])
    agent = create_agent(model, middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    for fact in facts:
        agent.invoke({"messages": [HumanMessage(f"{WORDS * 10}{fact} {WORDS * 10}")]}, config("t"))
    thread = engine.thread("t")
    thread.wait()
    assert any(item.kind == "summary" for item in thread.context().items)
    for fact in facts:
        (hit,) = thread.grep(fact).items
        assert fact in thread.expand(hit.message_id)[0].text
        if hit.summary_id is not None:
            assert hit.message_id in {message.id for message in thread.expand(hit.summary_id)}
    assert {hit.summary_id is None for fact in facts for hit in thread.grep(fact)} == {True, False}


def test_a_tool_may_answer_with_a_command_and_an_agent_with_a_structured_answer(engine: Engine) -> None:
    class Verdict(BaseModel):
        """The verdict."""

        fine: bool

    @tool
    def note(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Note something."""
        return Command(update={"messages": [ToolMessage(f"noted {text}", tool_call_id=tool_call_id, artifact=(1, b"x"))]})

    script = [calling(call("note", "n1", text="this")), calling(call("Verdict", "v1", fine=True))]
    agent = create_agent(
        ScriptedModel(script=script),
        tools=[note],
        middleware=[LosslessMiddleware(engine)],
        response_format=ToolStrategy(Verdict),
        checkpointer=InMemorySaver(),
    )
    result = agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    assert result["structured_response"] == Verdict(fine=True)
    assert_all_kept(engine, "t", result["messages"])
    agent.invoke({"messages": [HumanMessage("more")]}, config("t"))
    assert_all_kept(engine, "t", agent.get_state(config("t")).values["messages"])


def test_after_a_restart_a_thread_goes_on_and_nothing_is_stored_twice(tmp_path: Path) -> None:
    saver, url = InMemorySaver(), f"sqlite:///{tmp_path / 'a.db'}"

    def run(text: str, answers: int) -> list[BaseMessage]:
        with Engine(url, window=20_000, durability="normal") as engine:
            agent = create_agent(
                ScriptedModel(script=looking(answers)), tools=[look], middleware=[LosslessMiddleware(engine)], checkpointer=saver
            )
            return list(agent.invoke({"messages": [HumanMessage(text)]}, config("t"))["messages"])

    run("first", 12)
    state = run("second", 3)
    with Engine(url, window=20_000) as engine:
        assert_all_kept(engine, "t", state)
        assert len(engine.thread("t").messages(deleted=True)) == len(state)
        assert all(message.revises is None for message in engine.thread("t").messages())


def test_what_was_stored_before_a_kill_is_there_after_it(tmp_path: Path) -> None:
    program = f"""
import os, sys
sys.path[:0] = {[str(Path(lossless_langchain_models.__file__).parent)]!r}
from langchain.agents import create_agent
from langchain_core.tools import tool
import lossless_langchain_models
from lossless import Engine
from lossless_langchain import LosslessMiddleware
from lossless_langchain_models import ScriptedModel, call, calling

@tool
def step(number: int) -> str:
    "Do a step."
    if number == 3:
        os._exit(9)
    return f"fine {{number}}"

engine = Engine("sqlite:///a.db", window=20_000)
agent = create_agent(ScriptedModel(script=[calling(call("step", f"c{{n}}", number=n)) for n in range(9)]), tools=[step],
                     middleware=[LosslessMiddleware(engine)])
agent.invoke({{"messages": [("user", "go")]}}, {{"configurable": {{"thread_id": "t"}}}})
"""
    done = prepared().run(program, folder=tmp_path)
    assert done.code == 9, done.err
    with Engine(f"sqlite:///{tmp_path / 'a.db'}") as engine:
        assert [message.text for message in engine.thread("t").messages() if message.role == "tool"] == [
            f"fine {n}" for n in range(3)
        ]
        assert engine.verify().ok


def test_an_agent_works_on_postgresql(postgres_url: str) -> None:
    with Engine(postgres_url, window=9_000) as engine:
        agent = create_agent(
            ScriptedModel(script=looking(12)), tools=[look], middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver()
        )
        state = agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))["messages"]
        assert_all_kept(engine, "t", state)


def test_a_run_that_fails_keeps_what_was_said_once(engine: Engine) -> None:
    model = ScriptedModel(script=[ConnectionError("down"), "hello again"])
    agent = create_agent(model, middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    assert [message.text for message in stored(engine, "t")] == ["hi"]
    state = agent.invoke(None, config("t"))["messages"]
    assert [message.text for message in stored(engine, "t")] == ["hi", "hello again"]
    assert_all_kept(engine, "t", state)


def test_system_prompt_and_tools_are_within_the_window_too(engine: Engine) -> None:
    @tool(description=WORDS * 100)
    def big(number: int) -> str:
        return "x"

    model = ScriptedModel(script=looking(40))
    prompt = WORDS * 200
    agent = create_agent(
        model, tools=[look, big], middleware=[LosslessMiddleware(engine)], system_prompt=prompt, checkpointer=InMemorySaver()
    )
    agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    assert engine.budget is not None
    room = engine.budget.window * 3 // 4
    beside = engine.counter.count(WORDS * 100) + 500
    for shown in model.seen:
        assert shown[0].text == prompt
        assert beside + sum(engine.counter.count(str(message.content)) + 10 for message in shown) <= room


def test_langchains_own_error_for_a_context_that_is_too_long_is_known(engine: Engine) -> None:
    from langchain_core.exceptions import ContextOverflowError

    def script(messages: list[BaseMessage]) -> AIMessage:
        if len(model.seen) == 20:
            raise ContextOverflowError("no")
        return turns(messages)

    turns = looking(25)
    model = ScriptedModel(script=script)
    agent = create_agent(model, tools=[look], middleware=[LosslessMiddleware(engine)])
    state = agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))["messages"]
    assert state[-1].text == "done"
    sizes = [sum(engine.counter.count(str(message.content)) for message in shown) for shown in model.seen]
    assert sizes[20] < sizes[19] * 2 // 3


def test_the_middleware_can_be_called_outside_of_a_graph(engine: Engine) -> None:
    middleware = LosslessMiddleware(engine)
    given = HumanMessage("hi", id="h1")
    request = ModelRequest(model=ScriptedModel(script=["x"]), messages=[given], state={"messages": [given]})
    response = middleware.wrap_model_call(
        request, lambda shown: ModelResponse(result=[AIMessage(f"{len(shown.messages)} shown")])
    )
    assert isinstance(response, ExtendedModelResponse)
    (info,) = engine.threads()
    assert [message.text for message in stored(engine, info.id)] == ["hi", "1 shown"]


def test_a_call_that_could_not_be_parsed_has_one_answer_as_long_as_it_is_shown(engine: Engine) -> None:
    broken = {"name": "look", "args": "{", "id": "bad call", "error": "bad", "type": "invalid_tool_call"}
    turns = looking(60)
    model = ScriptedModel(script=[AIMessage("Let me see.", invalid_tool_calls=[broken])])
    agent = create_agent(model, tools=[look], middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    model.script = turns
    agent.invoke({"messages": [HumanMessage("well?")]}, config("t"))
    assert [message.type for message in model.seen[1]] == ["human", "ai", "tool", "human"]
    assert "malformed" in model.seen[1][2].text
    for shown in model.seen[1:]:
        asked = [each["id"] for m in shown if isinstance(m, AIMessage) for each in [*m.tool_calls, *m.invalid_tool_calls]]
        assert asked == [message.tool_call_id for message in shown if isinstance(message, ToolMessage)]


def test_a_thread_that_was_deleted_is_filled_again_from_the_state(engine: Engine) -> None:
    model = ScriptedModel(script=["one", "two", "three"])
    agent = create_agent(model, middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("a")]}, config("t"))
    engine.delete_thread("t")
    agent.invoke({"messages": [HumanMessage("b")]}, config("t"))
    assert [message.text for message in model.seen[-1]] == ["a", "one", "b"]
    state = agent.invoke({"messages": [HumanMessage("c")]}, config("t"))["messages"]
    assert [message.text for message in model.seen[-1]] == ["a", "one", "b", "two", "c"]
    assert {message.id for message in stored(engine, "t")} == {message.id for message in state}


def test_what_was_erased_is_shown_to_nobody_though_the_state_still_has_it(engine: Engine) -> None:
    model = ScriptedModel(script=["one", "two", "three"])
    agent = create_agent(model, middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
    first = agent.invoke({"messages": [HumanMessage("my secret is 4711")]}, config("t"))["messages"][0]
    engine.erase("t", [first.id], reason="asked")
    for _ in range(2):
        agent.invoke({"messages": [HumanMessage("more")]}, config("t"))
        assert "4711" not in str(model.seen[-1])
    (placeholder,) = decode_stored(engine.thread("t").messages()[0])
    assert (type(placeholder), placeholder.id) == (HumanMessage, first.id)
    assert len(stored(engine, "t")) == 6


def test_reused_call_ids_and_parallel_calls_make_valid_contexts_of_any_length(tmp_path: Path) -> None:
    chance = random.Random(3)
    count = itertools.count()

    def script(messages: list[BaseMessage]) -> AIMessage:
        if messages[-1].type == "tool" and chance.random() < 0.3:
            return AIMessage("fine " + WORDS * chance.randint(0, 3))
        asked = [call("look", f"c{chance.randint(0, 5)}_{n}", number=next(count)) for n in range(chance.randint(1, 3))]
        return calling(*asked, text=chance.choice(["", "thinking"]))

    model = ScriptedModel(script=script)
    with Engine(f"sqlite:///{tmp_path / 'b.db'}", window=6_000, durability="normal") as engine:
        agent = create_agent(model, tools=[look], middleware=[LosslessMiddleware(engine)], checkpointer=InMemorySaver())
        for turn in range(10):
            request = HumanMessage(f"request {turn} " + WORDS * chance.randint(0, 6))
            state = agent.invoke({"messages": [request]}, config("t"))["messages"]
            assert {message.id for message in stored(engine, "t")} == {message.id for message in state}
            assert any(message.content == request.content for message in model.seen[-1])
        assert engine.verify().ok
    for shown in model.seen:
        waiting: list[str | None] = []
        used: list[str | None] = []
        for message in shown:
            if isinstance(message, ToolMessage):
                assert waiting.pop(0) == message.tool_call_id
                continue
            assert not waiting
            waiting = [each["id"] for each in message.tool_calls] if isinstance(message, AIMessage) else []
            used += waiting
        assert not waiting
        assert len(set(used)) == len(used)
