"""Runs of an agent that do not go straight on: early ends, people who are waited for, cancellations, odd calls; their cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from workflows.errors import WorkflowCancelledByUser

from lossless import Engine
from lossless.errors import StoreBusyError
from lossless_llamaindex import LosslessFunctionAgent, LosslessMemory, LosslessReActAgent
from lossless_llamaindex.agent.prompts import count_messages
from lossless_llamaindex.usage import usage_of
from lossless_llamaindex_models import ScriptedLLM, answer, call

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

LIMIT = 2_000


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("sqlite://", background=False) as engine:
        yield engine


@pytest.fixture
def memory(engine: Engine) -> LosslessMemory:
    return LosslessMemory(engine, session_id="s", token_limit=LIMIT)


def look(word: str) -> str:
    """Look a word up."""
    return f"{word} is found"


def calling(*ends: str) -> ScriptedLLM:
    """An LLM that calls a tool again and again, but answers a prompt whose last message holds one of some words."""

    def script(messages: list[ChatMessage]) -> ChatMessage:
        if any(end in str(messages[-1].content) for end in ends):
            return answer("Stopped.")
        return call("look", f"c{len(llm.seen)}", word=str(len(llm.seen)))

    llm = ScriptedLLM(script=script)
    return llm


def roles(memory: LosslessMemory) -> list[str]:
    return [message.role.value for message in memory.get_all()]


async def run(agent: Any, **given: Any) -> Any:
    return await agent.run(**given)


@pytest.mark.parametrize("within", ["an agent", "a workflow"])
def test_the_state_of_a_run_is_counted_into_the_limit(memory: LosslessMemory, within: str) -> None:
    for n in range(40):
        memory.put_messages([ChatMessage(content=f"question {n} " + "word " * 20), answer(f"answer {n}")])
    llm = ScriptedLLM(script=[answer("Done.")])
    state = {"notes": "noted " * 800}
    agent: Any = LosslessFunctionAgent(llm=llm, tools=[look], initial_state=state)
    if within == "a workflow":
        agent = AgentWorkflow(agents=[LosslessFunctionAgent(llm=llm, tools=[look])], initial_state=state)
    asyncio.run(run(agent, user_msg="Read K42.", memory=memory))
    (prompt,) = llm.seen
    assert "noted noted" in str(prompt[-1].content)
    assert "K42" in str(prompt[-1].content)
    assert count_messages(prompt) <= LIMIT
    assert len(memory.get_all()) == 82


@pytest.mark.parametrize("within", ["an agent", "a workflow"])
def test_what_a_run_is_asked_at_its_end_keeps_within_the_limit(memory: LosslessMemory, within: str) -> None:
    llm = calling("maximum number of iterations")
    agent: Any = LosslessFunctionAgent(llm=llm, tools=[look], system_prompt="You read. " * 100)
    if within == "a workflow":
        agent = AgentWorkflow(agents=[agent], early_stopping_method="generate")
    else:
        agent.early_stopping_method = "generate"
    request = "Read K42. " + "word " * 1_680
    done = asyncio.run(run(agent, user_msg=request, memory=memory, max_iterations=2))
    assert str(done) == "Stopped."
    assert len(llm.seen) == 3
    assert all(count_messages(prompt) <= LIMIT for prompt in llm.seen)
    assert roles(memory) == ["user", "assistant", "tool", "assistant", "assistant"], "the last call was not made, and is kept"
    assert memory.get_all()[0].content == request


def test_the_object_that_a_run_ends_with_is_made_of_what_leaves_it_room(memory: LosslessMemory) -> None:
    shown: list[list[ChatMessage]] = []

    def made(messages: list[ChatMessage]) -> Any:
        shown.append(messages)
        return {"words": ["K42"]}

    opening = "You read. " * 100
    agent = LosslessFunctionAgent(llm=ScriptedLLM(script=[answer("Done.")]), system_prompt=opening, structured_output_fn=made)
    done = asyncio.run(run(agent, user_msg="Read K42. " + "word " * 1_700, memory=memory))
    assert done.structured_response == {"words": ["K42"]}
    assert count_messages([ChatMessage(role="system", content=opening), *shown[0]]) <= LIMIT
    assert count_messages(memory.get(initial_token_count=0)) > count_messages(memory.get()), "whoever counts is believed"


@pytest.mark.parametrize("agent_class", [LosslessFunctionAgent, LosslessReActAgent])
def test_what_a_provider_charges_sets_how_much_is_kept_free(engine: Engine, memory: LosslessMemory, agent_class: Any) -> None:
    before = engine.margin
    llm = ScriptedLLM(script=[answer("Thought: Well.\nAnswer: Done.")], usage={"prompt_tokens": 100_000, "completion_tokens": 2})
    for _run in range(3):
        asyncio.run(run(agent_class(llm=llm, tools=[look]), user_msg="Read. " + "word " * 700, memory=memory))
    assert engine.margin > 0.5 > before
    assert count_messages(llm.seen[-1]) < count_messages(llm.seen[1])


@pytest.mark.parametrize("usage", [{"prompt_tokens": -5}, {"prompt_tokens": 5}])
def test_a_report_that_fails_or_says_nothing_fails_no_run(
    engine: Engine, memory: LosslessMemory, monkeypatch: pytest.MonkeyPatch, usage: dict[str, Any]
) -> None:
    def busy(*_given: Any) -> float:
        raise StoreBusyError("the database is busy")

    monkeypatch.setattr(engine.calibration, "report", busy)
    llm = ScriptedLLM(script=[answer("Done.")], usage=usage)
    assert str(asyncio.run(run(LosslessFunctionAgent(llm=llm), user_msg="Go.", memory=memory))) == "Done."
    assert roles(memory) == ["user", "assistant"]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}, (7, 0, 2)),
        ({"input_tokens": 7, "cache_read_input_tokens": 5, "cache_creation_input_tokens": None, "output_tokens": 2}, (12, 5, 2)),
        ({"input_tokens": 0, "cache_read_input_tokens": 5, "output_tokens": 2}, (5, 5, 2)),
        ({"inputTokens": 7, "outputTokens": 2}, (7, 0, 2)),
        ({"prompt_tokens": "7"}, None),
        ("unknown", None),
        (None, None),
    ],
)
def test_usage_is_read_as_each_provider_says_it(usage: Any, expected: Any) -> None:
    found = usage_of({"usage": usage})
    assert (found and (found.input_tokens, found.cached_tokens, found.output_tokens)) == expected
    assert usage_of({"usage_metadata": {"prompt_token_count": 7}}) == usage_of(None, {"prompt_tokens": 7})


def test_a_person_who_is_waited_for_is_heard_after_a_restart(memory: LosslessMemory) -> None:
    async def ask(ctx: Context, question: str) -> str:
        """Ask a person."""
        said = await ctx.wait_for_event(
            HumanResponseEvent,
            waiter_id=question,
            waiter_event=InputRequiredEvent(prefix=question),  # type: ignore[call-arg]
        )
        return f"They said {said.response}."

    ask.__annotations__["ctx"] = Context  # LlamaIndex looks for the class itself, no text

    def script(messages: list[ChatMessage]) -> ChatMessage:
        return answer("Thanks.") if messages[-1].role == MessageRole.TOOL else call("ask", "c1", question="Who?")

    async def interrupted() -> Any:
        agent = LosslessFunctionAgent(llm=ScriptedLLM(script=script), tools=[ask])
        ctx: Any = Context(agent)
        handler = agent.run(user_msg="Ask.", memory=memory, ctx=ctx)
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                break
        written = json.loads(json.dumps(ctx.to_dict()))
        await handler.cancel_run()
        return written

    async def resumed(written: Any) -> str:
        agent = LosslessFunctionAgent(llm=ScriptedLLM(script=script), tools=[ask])
        ctx: Any = Context.from_dict(agent, written)
        handler = agent.run(ctx=ctx)
        ctx.send_event(HumanResponseEvent(response="Ada"))  # type: ignore[call-arg]
        return str(await handler)

    written = asyncio.run(interrupted())
    assert roles(memory) == ["user", "assistant"]
    assert asyncio.run(resumed(written)) == "Thanks."
    assert roles(memory) == ["user", "assistant", "tool", "assistant"]
    assert memory.get_all()[2].content == "They said Ada."


def test_a_run_that_is_cancelled_within_a_tool_goes_on_with_the_next_request(memory: LosslessMemory) -> None:
    begun = asyncio.Event()

    async def slow(word: str) -> str:
        """Take long."""
        begun.set()
        await asyncio.sleep(60)
        return word

    llm = ScriptedLLM(script=[call("slow", "c1", word="x"), answer("Fine.")])

    async def cancelled() -> str:
        agent = LosslessFunctionAgent(llm=llm, tools=[slow])
        handler = agent.run(user_msg="Go.", memory=memory)
        await begun.wait()
        await handler.cancel_run()
        with pytest.raises(WorkflowCancelledByUser):
            await handler
        return str(await agent.run(user_msg="Go on.", memory=memory))

    assert asyncio.run(cancelled()) == "Fine."
    assert [message.role.value for message in llm.seen[-1]] == ["user", "assistant", "tool", "user"]
    assert "interrupted" in str(llm.seen[-1][2].content)
    assert roles(memory) == ["user", "assistant", "user", "assistant"], "what was not said is not stored"


@pytest.mark.parametrize("at_once", [True, False])
def test_calls_of_one_step_are_answered_each_however_they_end(memory: LosslessMemory, at_once: bool) -> None:
    async def late(word: str) -> str:
        """Answer late."""
        await asyncio.sleep(0.05)
        return f"late {word}"

    def broken(word: str) -> str:
        """Fail."""
        raise RuntimeError("it is broken")

    asked = call("late", "c1", word="x")
    for name, id in (("nowhere", "c2"), ("broken", "c3"), ("look", "c4")):
        asked.blocks.append(ToolCallBlock(tool_call_id=id, tool_name=name, tool_kwargs={"word": "x"}))
    tools: list[Any] = [late, look, FunctionTool.from_defaults(broken)]
    llm = ScriptedLLM(script=[asked, answer("Done.")])
    agent = LosslessFunctionAgent(llm=llm, tools=tools, allow_parallel_tool_calls=at_once)
    assert str(asyncio.run(run(agent, user_msg="Go.", memory=memory))) == "Done."
    told = [message.content for message in llm.seen[1] if message.role == MessageRole.TOOL]
    assert told == ["late x", "Tool nowhere not found. Please select a tool that is available.", "it is broken", "x is found"]
    assert len(memory.get_all()) == 7


def test_runs_at_once_in_one_session_keep_every_call_with_its_result(memory: LosslessMemory) -> None:
    def agent(name: str) -> LosslessFunctionAgent:
        def script(messages: list[ChatMessage]) -> ChatMessage:
            made = len(llm.seen)
            return answer(f"Done {name}.") if made > 2 else call("look", f"{name}{made}", word=name)

        llm = ScriptedLLM(script=script)
        return LosslessFunctionAgent(llm=llm, tools=[look])

    async def all_of(agents: list[LosslessFunctionAgent]) -> list[str]:
        return [str(done) for done in await asyncio.gather(*(run(each, user_msg="Go.", memory=memory) for each in agents))]

    agents = [agent(name) for name in "abc"]
    assert asyncio.run(all_of(agents)) == [f"Done {name}." for name in "abc"]
    assert len(memory.get_all()) == 18
    for each in agents:
        for prompt in each.llm.seen:  # type: ignore[attr-defined]
            calls = [block.tool_call_id for message in prompt for block in message.blocks if isinstance(block, ToolCallBlock)]
            assert calls == [each.additional_kwargs["tool_call_id"] for each in prompt if each.role == MessageRole.TOOL]


class Away(LosslessMemory):
    """A memory whose database is away as often as is said."""

    times: ClassVar[int] = 0

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Fail, or put messages."""
        Away.times -= 1
        if Away.times >= 0:
            raise StoreBusyError("the database is away")
        await super().aput_messages(messages)


def test_an_answer_that_could_not_be_stored_is_stored_when_the_run_goes_on(engine: Engine) -> None:
    memory, Away.times = Away(engine, session_id="s", token_limit=LIMIT), 2
    llm = ScriptedLLM(script=[answer("It is seven."), answer("Yes.")])

    async def going_on() -> str:
        agent = LosslessFunctionAgent(llm=llm)
        ctx: Any = Context(agent)
        for request in ("How many?", "Sorry?"):
            with pytest.raises(StoreBusyError):
                await agent.run(user_msg=request, memory=memory, ctx=ctx)
        return str(await agent.run(user_msg="Sure?", ctx=ctx))

    assert asyncio.run(going_on()) == "Yes."
    assert [message.content for message in memory.get_all()] == ["How many?", "Sorry?", "Sure?", "It is seven.", "Yes."]


@pytest.mark.parametrize("fails", [False, True])
def test_a_thinker_whose_tool_ends_the_run_ends_it_as_the_stock_one_does(memory: LosslessMemory, fails: bool) -> None:
    def last(word: str) -> str:
        """End the run."""
        if fails:
            raise ValueError("it can't be said")
        return f"The last word is {word}."

    async def lived(agent_class: Any, given: Any) -> tuple[str, list[str]]:
        acts = answer('Thought: I end it.\nAction: last\nAction Input: {"word": "x"}\n')
        llm = ScriptedLLM(script=[acts, answer("Thought: Well.\nAnswer: Done.")])
        handler = agent_class(llm=llm, tools=[FunctionTool.from_defaults(last, return_direct=True)]).run("Go.", memory=given)
        events = [type(event).__name__ async for event in handler.stream_events()]
        return str(await handler), events

    stock = asyncio.run(lived(ReActAgent, ChatMemoryBuffer.from_defaults()))
    assert asyncio.run(lived(LosslessReActAgent, memory)) == stock
    assert roles(memory) == ["user", "assistant", "tool", "assistant"]
    assert str(memory.get_all()[2].content) == ("it can't be said" if fails else "The last word is x.")
