"""The agent: its steps are stored as they happen, its prompts keep within the limit. And the recall tools."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context

from lossless import Engine
from lossless_llamaindex import (
    LosslessAsyncChatStore,
    LosslessCodeActAgent,
    LosslessFunctionAgent,
    LosslessMemory,
    LosslessReActAgent,
    lossless_tools,
)
from lossless_llamaindex.agent.prompts import count_messages
from lossless_llamaindex_models import ScriptedLLM, answer, call
from lossless_prepared import prepared
from lossless_sources import ROOT

# Workflows look at every attribute of an agent, also at those that pydantic has given up.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

LIMIT = 2_000


def page(number: int) -> str:
    """Look a page up."""
    return f"page {number}: " + " ".join(f"fact{number}x{n}" if n % 50 == 0 else "word" for n in range(3_000))


def reader(pages: int) -> ScriptedLLM:
    """An LLM that looks up one page after the other."""
    taken = iter(range(1, pages + 1))

    def script(messages: list[ChatMessage]) -> ChatMessage:
        number = next(taken, None)
        return answer("All read.") if number is None else call("page", f"call_{number}", number=number)

    return ScriptedLLM(script=script)


async def run(agent: Any, **given: Any) -> tuple[Any, list[str]]:
    handler = agent.run(**given)
    events = [type(event).__name__ async for event in handler.stream_events()]
    return await handler, events


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("sqlite://", background=False) as engine:
        yield engine


def memories(engine: Engine) -> dict[str, Any]:
    return {
        "LosslessMemory": LosslessMemory(engine, session_id="s", token_limit=LIMIT),
        "ChatMemoryBuffer": ChatMemoryBuffer.from_defaults(token_limit=LIMIT),
        "Memory": Memory.from_defaults(session_id="m", token_limit=LIMIT, chat_store=LosslessAsyncChatStore(engine)),
    }


@pytest.mark.parametrize("kind", ["LosslessMemory", "ChatMemoryBuffer", "Memory"])
def test_no_prompt_is_over_the_limit_and_every_step_is_kept(engine: Engine, kind: str) -> None:
    memory, llm = memories(engine)[kind], reader(8)
    agent = LosslessFunctionAgent(llm=llm, tools=[page], system_prompt="You read pages.")
    done, _events = asyncio.run(run(agent, user_msg="Read all eight pages for K42.", memory=memory))
    assert str(done) == "All read."
    assert len(llm.seen) == 9
    for prompt, tools in zip(llm.seen, llm.schemas, strict=True):
        assert count_messages(prompt) + len(json.dumps(tools)) // 3 <= LIMIT
        assert prompt[0].content == "You read pages."
        assert any("K42" in (message.content or "") for message in prompt), "the request is always there"
        calls = [block.tool_call_id for message in prompt for block in message.blocks if isinstance(block, ToolCallBlock)]
        results = [message.additional_kwargs["tool_call_id"] for message in prompt if message.role == MessageRole.TOOL]
        assert calls == results
    for number, prompt in enumerate(llm.seen[1:], 1):
        assert f"page {number}: fact{number}x0" in (prompt[-1].content or "")
    kept = memory.get_all()
    assert [message.content for message in kept if message.role == MessageRole.TOOL] == [page(n) for n in range(1, 9)]
    assert len(kept) == 18


def test_events_and_results_are_those_of_the_stock_agent(engine: Engine) -> None:
    memory = LosslessMemory(engine, session_id="s", token_limit=50_000)
    found = []
    for cls, given in ((FunctionAgent, ChatMemoryBuffer.from_defaults()), (LosslessFunctionAgent, memory)):
        llm = reader(2)
        done, events = asyncio.run(run(cls(llm=llm, tools=[page], streaming=True), user_msg="Read two.", memory=given))
        found.append((str(done), [each.tool_name for each in done.tool_calls], events, llm.seen))
    assert found[0] == found[1]


def test_a_step_is_stored_before_the_next_one_begins(engine: Engine) -> None:
    memory = LosslessMemory(engine, session_id="s", token_limit=LIMIT)
    seen: list[int] = []

    def counted(number: int) -> str:
        """Count what is stored when a tool runs."""
        seen.append(engine.thread("s").count())
        return page(number)

    llm = reader(3)
    tool = FunctionTool.from_defaults(counted, name="page")
    asyncio.run(run(LosslessFunctionAgent(llm=llm, tools=[tool]), user_msg="Go.", memory=memory))
    assert seen == [2, 4, 6]


def test_a_run_that_fails_has_lost_nothing_and_goes_on(engine: Engine) -> None:
    memory = LosslessMemory(engine, session_id="s", token_limit=LIMIT)
    script: list[Any] = [call("page", "c1", number=1), call("page", "c2", number=2), None]

    def failing(messages: list[ChatMessage]) -> ChatMessage:
        said = script.pop(0)
        if said is None:
            raise ConnectionError("the provider is away")
        assert isinstance(said, ChatMessage)
        return said

    agent = LosslessFunctionAgent(llm=ScriptedLLM(script=failing), tools=[page])
    with pytest.raises(Exception, match="provider is away"):
        asyncio.run(run(agent, user_msg="Go.", memory=memory))
    assert [message.role.value for message in memory.get_all()] == ["user", "assistant", "tool", "assistant", "tool"]
    llm = ScriptedLLM(script=[answer("Done.")])
    again = LosslessFunctionAgent(llm=llm, tools=[page])
    done, _ = asyncio.run(run(again, chat_history=memory.get_all(), memory=memory))
    assert str(done) == "Done."
    assert "page 2:" in (llm.seen[0][-1].content or "")
    assert [message.role.value for message in memory.get_all()] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]


KILLED = """
import asyncio, json, os, pickle, sys, warnings
warnings.simplefilter("ignore")
from lossless_llamaindex import LosslessFunctionAgent, LosslessMemory
from lossless_llamaindex_models import ScriptedLLM, call
step = 0
def script(messages):
    global step
    step += 1
    if step == 4:
        os._exit(9)
    return call("page", f"call_{step}", number=step)
def page(number: int) -> str:
    "Look a page up."
    return f"page {number}: " + "word " * 3000
memory = LosslessMemory(url=sys.argv[1], session_id="s", token_limit=2000)
written = json.dumps({"dict": memory.to_dict(), "pickle": pickle.dumps(memory).hex()})
async def main():
    print(written, flush=True)
    await LosslessFunctionAgent(llm=ScriptedLLM(script=script), tools=[page]).run("Read.", memory=memory)
asyncio.run(main())
"""


def test_a_run_that_is_killed_at_its_third_step_has_all_its_units(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'killed.db'}"
    done = prepared().run(KILLED, url, folder=tmp_path, path=[ROOT / "tests" / "support"])
    assert done.code == 9, done.err
    written = json.loads(done.out)
    with Engine(url) as engine:
        memory = LosslessMemory(engine, session_id="s", token_limit=LIMIT)
        kept = memory.get_all()
        assert [message.role.value for message in kept] == ["user", *["assistant", "tool"] * 3]
        for again in (LosslessMemory.from_dict(written["dict"]), pickle.loads(bytes.fromhex(written["pickle"]))):
            assert (again.session_id, again.token_limit, again.get_all()) == ("s", LIMIT, kept)
        again.engine.close()
        assert [(message.content or "")[:7] for message in kept if message.role == MessageRole.TOOL] == [
            "page 1:",
            "page 2:",
            "page 3:",
        ]
        llm = ScriptedLLM(script=[answer("Resumed.")])
        agent = LosslessFunctionAgent(llm=llm, tools=[page])
        assert str(asyncio.run(run(agent, user_msg="Go on.", memory=memory))[0]) == "Resumed."
        assert count_messages(llm.seen[0]) <= LIMIT
        assert engine.verify().ok


def test_parallel_results_are_all_kept_also_where_one_ends_the_run(engine: Engine) -> None:
    two = call("page", "c1", number=1)
    two.blocks.append(ToolCallBlock(tool_call_id="c2", tool_name="last", tool_kwargs={"word": "x"}))

    def last(word: str) -> str:
        """End the run."""
        return f"The last word is {word}."

    tools: list[Any] = [FunctionTool.from_defaults(last, return_direct=True), page]
    memory = LosslessMemory(engine, session_id="s", token_limit=LIMIT)
    agent = LosslessFunctionAgent(llm=ScriptedLLM(script=[two]), tools=tools)
    done, _ = asyncio.run(run(agent, user_msg="Go.", memory=memory))
    assert str(done) == "The last word is x."
    kept = memory.get_all()
    assert [message.role.value for message in kept] == ["user", "assistant", "tool", "tool", "assistant"]
    assert kept[-1].content == "The last word is x."


def test_a_tool_that_fails_is_answered_and_kept(engine: Engine) -> None:
    def broken(number: int) -> str:
        """Fail."""
        raise ValueError(f"there is no page {number}")

    llm = ScriptedLLM(script=[call("page", "c1", number=7), answer("Sorry.")])
    memory = LosslessMemory(engine, session_id="s", token_limit=LIMIT)
    agent = LosslessFunctionAgent(llm=llm, tools=[FunctionTool.from_defaults(broken, name="page")])
    assert str(asyncio.run(run(agent, user_msg="Go.", memory=memory))[0]) == "Sorry."
    assert "there is no page 7" in str(memory.get_all()[2].content)


def test_agents_hand_over_within_a_workflow(engine: Engine) -> None:
    memory = LosslessMemory(engine, session_id="s", token_limit=4_000)
    first = LosslessFunctionAgent(
        name="first",
        description="reads",
        system_prompt="You are the first.",
        tools=[page],
        llm=ScriptedLLM(
            script=[call("page", "c1", number=1), call("handoff", "c2", to_agent="second", reason="It writes better.")]
        ),
    )
    llm = ScriptedLLM(script=[answer("Written.")])
    second = LosslessFunctionAgent(name="second", description="writes", system_prompt="You are the second.", llm=llm)
    workflow = AgentWorkflow(agents=[first, second], root_agent="first", initial_state={"mood": "calm"})
    done, _ = asyncio.run(run(workflow, user_msg="Read, then write.", memory=memory))
    assert str(done) == "Written."
    assert llm.seen[0][0].content == "You are the second."
    assert [message.role.value for message in memory.get_all()] == ["user", *["assistant", "tool"] * 2, "assistant"]
    opening = first.llm.seen[0]  # type: ignore[attr-defined]
    assert "calm" in str(opening[-1].content), "the workflow's state is shown"
    assert "calm" not in str(memory.get_all()[0].content)


def test_agents_that_call_tools_in_words_hand_over_too(engine: Engine) -> None:
    memory = LosslessMemory(engine, session_id="s", token_limit=50_000)
    over = 'Thought: She codes.\nAction: handoff\nAction Input: {"to_agent": "coder", "reason": "It codes."}\n'
    thinker = LosslessReActAgent(name="thinker", description="thinks", llm=ScriptedLLM(script=[answer(over)]), tools=[page])
    back = call("handoff", "h2", to_agent="writer", reason="It writes.")
    coder = LosslessCodeActAgent(
        name="coder", description="codes", llm=ScriptedLLM(script=[coding(1).script([]), back]), code_execute_fn=execute
    )
    writer = LosslessFunctionAgent(name="writer", description="writes", llm=ScriptedLLM(script=[answer("Written.")]))
    workflow = AgentWorkflow(agents=[thinker, coder, writer], root_agent="thinker")
    done, _ = asyncio.run(run(workflow, user_msg="Think, code, write.", memory=memory))
    assert str(done) == "Written."
    assert [message.role.value for message in memory.get_all()] == ["user", *["assistant", "tool"] * 3, "assistant"]
    told = [message.content or "" for message in coder.llm.seen[0]]  # type: ignore[attr-defined]
    assert "She codes." in told[2]
    assert "It codes." in told[3]
    (shown,) = writer.llm.seen  # type: ignore[attr-defined]
    calls = [block.tool_call_id for message in shown for block in message.blocks if isinstance(block, ToolCallBlock)]
    assert calls == [each.additional_kwargs["tool_call_id"] for each in shown if each.role == MessageRole.TOOL]
    assert len(set(calls)) == 3


def test_a_context_that_is_written_and_read_goes_on(engine: Engine) -> None:
    memory = LosslessMemory(engine, session_id="s", token_limit=LIMIT)

    async def twice() -> str:
        agent = LosslessFunctionAgent(llm=ScriptedLLM(script=[answer("One."), answer("Two.")]))
        ctx: Any = Context(agent)
        await agent.run("First.", ctx=ctx, memory=memory)
        again: Any = Context.from_dict(agent, json.loads(json.dumps(ctx.to_dict())))
        return str(await agent.run("Second.", ctx=again))

    assert asyncio.run(twice()) == "Two."
    assert [message.content for message in memory.get_all()] == ["First.", "One.", "Second.", "Two."]


def thinking(pages: int) -> ScriptedLLM:
    """An LLM that says in words that it looks up one page after the other."""
    taken = iter(range(1, pages + 1))

    def script(messages: list[ChatMessage]) -> ChatMessage:
        number = next(taken, None)
        acts = f'Thought: I read.\nAction: page\nAction Input: {{"number": {number}}}\n'
        return answer("Thought: I can answer.\nAnswer: All read." if number is None else acts)

    return ScriptedLLM(script=script)


def coding(pages: int) -> ScriptedLLM:
    """An LLM that writes code that looks up one page after the other."""
    taken = iter(range(1, pages + 1))

    def script(messages: list[ChatMessage]) -> ChatMessage:
        number = next(taken, None)
        return answer("All read." if number is None else f"I read.\n<execute>\nprint(page({number}))\n</execute>")

    return ScriptedLLM(script=script)


async def execute(code: str) -> str:
    """Run code."""
    return page(int(code.split("(")[2].rstrip(")")))


AGENTS: dict[str, tuple[Any, Any, Any]] = {
    "thinking": (ReActAgent, LosslessReActAgent, thinking),
    "coding": (CodeActAgent, LosslessCodeActAgent, coding),
}


def agent_of(cls: Any, llm: ScriptedLLM, **given: Any) -> Any:
    code = {"code_execute_fn": execute} if issubclass(cls, CodeActAgent) else {}
    return cls(llm=llm, tools=[page], system_prompt="You read pages.", **code, **given)


@pytest.mark.parametrize("kind", list(AGENTS))
def test_agents_that_call_tools_in_words_are_shown_what_the_stock_ones_are(engine: Engine, kind: str) -> None:
    stock, ours, script = AGENTS[kind]
    memory = LosslessMemory(engine, session_id="s", token_limit=50_000)
    found = []
    for cls, given in ((stock, ChatMemoryBuffer.from_defaults(token_limit=50_000)), (ours, memory)):
        llm = script(2)
        done, events = asyncio.run(run(agent_of(cls, llm), user_msg="Read two.", memory=given))
        found.append((str(done), [each.tool_name for each in done.tool_calls], events, llm.seen))
    assert found[0] == found[1]
    assert [message.role.value for message in memory.get_all()] == ["user", *["assistant", "tool"] * 2, "assistant"]
    assert [message.content for message in memory.get_all()[2::2]] == [page(1), page(2)]


@pytest.mark.parametrize("kind", list(AGENTS))
def test_agents_that_call_tools_in_words_keep_within_the_limit_and_keep_every_step(engine: Engine, kind: str) -> None:
    _stock, ours, script = AGENTS[kind]
    memory, llm, seen = LosslessMemory(engine, session_id="s", token_limit=LIMIT), script(8), []
    agent = agent_of(ours, llm, token_limit=LIMIT + 500)

    def failing(messages: list[ChatMessage], script: Any = llm.script) -> ChatMessage:
        seen.append(memory.get_all())
        if len(seen) == 5:
            raise ConnectionError("the provider is away")
        said = script(messages)
        assert isinstance(said, ChatMessage)
        return said

    llm.script = failing
    with pytest.raises(Exception, match="provider is away"):
        asyncio.run(run(agent, user_msg="Read all eight pages for K42.", memory=memory))
    assert [len(each) for each in seen] == [1, 3, 5, 7, 9]
    assert memory.get_all() == seen[-1]
    done, _ = asyncio.run(run(agent, chat_history=memory.get_all(), memory=memory))
    assert str(done) == "All read."
    assert len(memory.get_all()) == 18
    for prompt in llm.seen:
        assert count_messages(prompt) <= LIMIT + 500
        assert prompt[0].role == MessageRole.SYSTEM
        assert "page" in str(prompt[0].content)
        assert any("K42" in (message.content or "") for message in prompt), "the request is always there"
        assert all(message.role != MessageRole.TOOL for message in prompt)
    assert engine.verify().ok


def test_an_answer_that_can_not_be_read_is_asked_for_again_and_not_kept(engine: Engine) -> None:
    memory = LosslessMemory(engine, session_id="s", token_limit=LIMIT)
    llm = ScriptedLLM(script=[answer("Action: page\nAction Input: {"), answer(""), answer("Thought: Well.\nAnswer: Seven.")])
    assert str(asyncio.run(run(LosslessReActAgent(llm=llm, tools=[page]), user_msg="How many?", memory=memory))[0]) == "Seven."
    assert "Error while parsing" in str(llm.seen[1][-1].content)
    assert [message.content for message in llm.seen[2] if "parsing" in str(message.content)] == []
    assert "was empty" in str(llm.seen[2][-1].content)
    assert [message.content for message in memory.get_all()] == ["How many?", "Thought: Well.\nAnswer: Seven."]


def test_agents_of_several_kinds_go_on_in_one_memory(engine: Engine) -> None:
    memory = LosslessMemory(engine, session_id="s", token_limit=50_000)
    agents = [
        LosslessFunctionAgent(llm=reader(1), tools=[page]),
        agent_of(LosslessReActAgent, thinking(1)),
        agent_of(LosslessCodeActAgent, coding(1)),
        LosslessFunctionAgent(llm=reader(0), tools=[page]),
    ]
    for agent in agents:
        assert str(asyncio.run(run(agent, user_msg="Read.", memory=memory))[0]) == "All read."
    thought, coded, called = (agent.llm.seen[-1] for agent in agents[1:])
    assert "Action: page\nAction Input: {'number': 1}" in [message.content for message in thought]
    assert f"Observation: {page(1)}" in [message.content for message in thought]
    assert [message.role for message in coded].count(MessageRole.SYSTEM) == 1
    assert [message.role.value for message in called] == [*["user", "assistant", "tool", "assistant"] * 3, "user"]


def test_a_limit_below_all_that_must_be_sent_shows_the_request_alone(engine: Engine) -> None:
    memory = LosslessMemory(engine, session_id="s", token_limit=50)
    llm = ScriptedLLM(script=[call("page", "c1", number=1), answer("Done.")])
    agent = LosslessFunctionAgent(llm=llm, tools=[page], system_prompt="You read pages. " * 20)
    assert str(asyncio.run(run(agent, user_msg="Read K42.", memory=memory))[0]) == "Done."
    assert all("Read K42." in [message.content for message in prompt] for prompt in llm.seen)
    assert len(memory.get_all()) == 4


# The recall tools


def test_an_agent_looks_into_the_session_of_its_memory(engine: Engine) -> None:
    memory = LosslessMemory(engine, session_id="s", token_limit=LIMIT)
    memory.put_messages([ChatMessage(content="The gate is B42. " + "word " * 40) for _ in range(60)])
    llm = ScriptedLLM(script=[call("lcm_grep", "c1", pattern="gate is"), answer("It is B42.")])
    agent = LosslessFunctionAgent(llm=llm, tools=[*lossless_tools(engine)])
    assert str(asyncio.run(run(agent, user_msg="Which gate?", memory=memory))[0]) == "It is B42."
    assert "B42" in str(llm.seen[1][-1].content)
    assert {schema["function"]["name"] for schema in llm.schemas[0]} >= {"lcm_grep", "lcm_describe", "lcm_expand"}


@pytest.mark.parametrize(
    "arguments", [{}, {"pattern": 7}, {"nothing": "x"}, {"pattern": "(", "mode": "regex"}, {"pattern": "x", "limit": -1}]
)
def test_bad_arguments_are_answered_in_words(engine: Engine, arguments: dict[str, Any]) -> None:
    engine.thread("t").append({"role": "user", "content": "hello"})
    tool = next(tool for tool in lossless_tools(engine, "t") if tool.metadata.name == "lcm_grep")
    said = str(tool.call(**arguments))
    assert said == str(asyncio.run(tool.acall(**arguments)))
    assert not asyncio.run(tool.acall(**arguments)).is_error
    assert len(said) > 10


def test_tools_work_outside_of_agents_and_are_described(engine: Engine) -> None:
    engine.thread("t").append({"role": "user", "content": "hello"})
    tool = next(tool for tool in lossless_tools(engine, engine.thread("t")) if tool.metadata.name == "lcm_grep")
    assert "hello" in str(tool("hello"))
    assert "hello" in str(tool.call(pattern="hello"))
    lost = lossless_tools(engine)[0]
    assert "belongs to no thread" in str(lost.call(pattern="x"))
    assert "belongs to no thread" in str(asyncio.run(lost.acall(pattern="x")))
    described = tool.metadata.to_openai_tool()["function"]["parameters"]
    assert described["required"] == ["pattern"]
    assert set(tool.metadata.fn_schema.model_json_schema()["properties"]) == set(described["properties"])  # type: ignore[union-attr]
