"""The memory of classic chains: in place of each stock memory, within its limit, nothing lost."""

from __future__ import annotations

import asyncio
import copy
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_classic.chains import ConversationalRetrievalChain, ConversationChain, LLMChain
from langchain_classic.memory import CombinedMemory, ReadOnlySharedMemory, SimpleMemory
from langchain_core.agents import AgentAction
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool

from lossless import Engine, Thread
from lossless.errors import ConfigError
from lossless.messages import LangChainFormat
from lossless.tokens import count_parts
from lossless_langchain import LosslessChatMessageHistory, LosslessMemory
from lossless_langchain.codec import encode_message
from lossless_langchain_models import ScriptedModel, call, calling
from lossless_prepared import prepared

HISTORY_PROMPT = PromptTemplate.from_template("{history}\nHuman: {input}\nAI:")


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("sqlite://") as engine:
        yield engine


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Let the stock chains say that they are deprecated; what our own code warns of stays an error."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"The class `(LLMChain|Conversation|InMemoryChat)", category=Warning)
        yield


def told(memory: LosslessMemory, turns: int, words: int = 30) -> None:
    for number in range(turns):
        memory.save_context({"input": f"Fact {number}. " + "word " * words}, {"output": f"Noted {number}."})


def cost(engine: Engine, loaded: Any) -> int:
    if isinstance(loaded, str):
        return engine.counter.count(loaded)
    return sum(count_parts(LangChainFormat().read(encode_message(message)), engine.counter) for message in loaded)


def test_a_turn_is_loaded_as_text_or_as_messages(engine: Engine) -> None:
    memory = LosslessMemory(engine)
    assert memory.load_memory_variables({}) == {"history": ""}
    memory.save_context({"input": "hi"}, {"output": "hello"})
    assert memory.memory_variables == ["history"]
    assert memory.load_memory_variables({}) == {"history": "Human: hi\nAI: hello"}
    assert memory.buffer == memory.buffer_as_str == "Human: hi\nAI: hello"
    messages = LosslessMemory(engine, return_messages=True, memory_key="chat_history", human_prefix="Ann", ai_prefix="Bot")
    assert messages.load_memory_variables({}) == {"chat_history": [HumanMessage("hi"), AIMessage("hello")]}
    assert messages.buffer == messages.buffer_as_messages
    assert messages.buffer_as_str == "Ann: hi\nBot: hello"
    assert messages.chat_memory.messages == [HumanMessage("hi"), AIMessage("hello")]


def test_async_is_the_same(engine: Engine) -> None:
    async def use() -> tuple[Any, ...]:
        memory = LosslessMemory(engine, return_messages=True)
        await memory.asave_context({"input": "hi"}, {"output": "hello"})
        found = await memory.aload_memory_variables({})
        rest = await memory.abuffer(), await memory.abuffer_as_messages(), await memory.abuffer_as_str()
        await memory.aprune()
        summary = await memory.apredict_new_summary([HumanMessage("The limit is 40 EUR.")], "")
        await memory.aclear()
        return found, *rest, summary, memory.buffer

    both = [HumanMessage("hi"), AIMessage("hello")]
    found = asyncio.run(use())
    assert found[:4] == ({"history": both}, both, both, "Human: hi\nAI: hello")
    assert "40 EUR" in found[4]
    assert found[5] == []


def test_what_was_said_survives_a_restart(url: str) -> None:
    with Engine(url) as engine:
        told(LosslessMemory(engine, session_id="s", max_token_limit=1_000), 40)
    with Engine(url) as engine:
        memory = LosslessMemory(engine, session_id="s", max_token_limit=1_000, return_messages=True)
        assert memory.buffer[-1] == AIMessage("Noted 39.")
        assert memory.moving_summary_buffer
        assert len(memory.thread.messages()) == 80
        assert engine.verify().ok


def test_without_arguments_the_environment_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLESS_URL", f"sqlite:///{tmp_path / 'm.db'}")
    LosslessMemory().save_context({"input": "hi"}, {"output": "hello"})
    assert LosslessMemory().buffer == "Human: hi\nAI: hello"
    assert LosslessMemory(url=f"sqlite:///{tmp_path / 'm.db'}", session_id="other").buffer == ""


@pytest.mark.parametrize(
    ("inputs", "outputs", "said"),
    [
        ({"input": "a", "context": "x"}, {"output": "b"}, ("a", "b")),
        ({"question": "a", "context": "x"}, {"answer": "b", "source_documents": []}, ("a", "b")),
        ({"whatever": "a", "history": "old", "stop": ["x"]}, {"thing": "b"}, ("a", "b")),
        ({"input": HumanMessage("a")}, {"output": AIMessage("b")}, ("a", "b")),
        ({"input": [HumanMessage("a")]}, {"output": {"answer": 7}}, ("a", '{"answer": 7}')),
        ({"input": "a"}, {"text": "b", "other": "c"}, ("a", "b")),
        (
            {"input": [("odd", "a")]},
            {"output": [{"role": "odd", "content": "b"}]},
            ('[["odd", "a"]]', '[{"role": "odd", "content": "b"}]'),
        ),
        ({"input": "a"}, {"answer": "x", "output": "b", "result": "c"}, ("a", "x")),
    ],
)
def test_input_and_output_are_found(engine: Engine, inputs: Any, outputs: Any, said: tuple[str, str]) -> None:
    memory = LosslessMemory(engine, return_messages=True)
    memory.save_context(inputs, outputs)
    assert memory.buffer == [HumanMessage(said[0]), AIMessage(said[1])]


@pytest.mark.parametrize(
    ("fields", "inputs", "outputs", "words"),
    [
        ({}, {"a": "1", "b": "2"}, {"output": "x"}, "one input key is needed: there are 'a', 'b'"),
        ({}, {"input": "1"}, {"x": "1", "y": "2"}, "one output key is needed: there are 'x', 'y'"),
        ({"output_key": "z"}, {"input": "1"}, {"x": "1"}, "no output key 'z': there are 'x'"),
        ({"input_key": "z"}, {"input": "1"}, {"x": "1"}, "no input key 'z': there are 'input'"),
        ({}, {}, {"x": "1"}, "there are none"),
    ],
)
def test_keys_that_cant_be_told_are_named(engine: Engine, fields: Any, inputs: Any, outputs: Any, words: str) -> None:
    memory = LosslessMemory(engine, **fields)
    with pytest.raises(ConfigError, match=words):
        memory.save_context(inputs, outputs)
    assert memory.buffer == ""


@pytest.mark.parametrize("limit", [1, 10, 19, 100, 150, 500, 2_000])
@pytest.mark.parametrize("as_messages", [True, False])
def test_what_is_loaded_is_within_the_limit(engine: Engine, limit: int, as_messages: bool) -> None:
    memory = LosslessMemory(engine, max_token_limit=limit, return_messages=as_messages)
    for turn in range(12):
        memory.save_context({"input": f"Fact {turn}. " + "word " * (3 ** (turn % 6))}, {"output": f"Noted {turn}."})
        assert cost(engine, memory.load_memory_variables({})["history"]) <= limit
    assert len(memory.thread.messages()) == 24
    if limit >= 500:
        assert "Fact 11." in str(memory.buffer)


@pytest.mark.parametrize("as_messages", [True, False])
def test_how_many_messages_are_not_shown_is_said_truly(engine: Engine, as_messages: bool) -> None:
    memory = LosslessMemory(engine, max_token_limit=50, return_messages=as_messages)
    told(memory, 20, words=10)
    memory.thread.delete([memory.thread.refs()[-1].id])
    loaded = memory.buffer
    note, said = (message.text for message in loaded) if as_messages else str(loaded).splitlines()
    assert re.search(r"\[38 .*not shown", note)
    assert "Fact 19." in said


@settings(max_examples=10, deadline=None)
@given(st.lists(st.text(max_size=300), min_size=1, max_size=8), st.integers(1, 400), st.booleans())
def test_any_text_is_loaded_within_any_limit(texts: list[str], limit: int, as_messages: bool) -> None:
    with Engine("sqlite://", background=False) as engine:
        memory = LosslessMemory(engine, max_token_limit=limit, return_messages=as_messages)
        for text in texts:
            memory.save_context({"input": text}, {"output": text})
        assert cost(engine, memory.buffer) <= limit
        assert [message.text for message in memory.thread.messages()] == [text for text in texts for _ in range(2)]


def test_sixty_facts_are_found_and_expanded(engine: Engine) -> None:
    memory = LosslessMemory(engine, max_token_limit=4_000, return_messages=True)
    told(memory, 60, words=300)
    assert len(memory.buffer) < 120
    for number in range(60):
        (hit,) = memory.thread.grep(f"Fact {number}.").items
        (message,) = memory.thread.expand(hit.message_id)
        assert message.text.startswith(f"Fact {number}. word")


def test_a_window_of_turns(engine: Engine) -> None:
    told(LosslessMemory(engine), 5, words=1)
    memory = LosslessMemory(engine, k=2, return_messages=True)
    assert [message.text for message in memory.buffer] == ["Fact 3. word ", "Noted 3.", "Fact 4. word ", "Noted 4."]
    assert LosslessMemory(engine, k=0).buffer == ""


def test_a_turn_of_the_window_is_whole_with_its_steps(engine: Engine) -> None:
    memory = LosslessMemory(engine, k=2, return_messages=True)
    steps = [(AgentAction("look", {"n": n}, "I look."), f"found {n}") for n in range(2)]
    memory.chat_memory.add_ai_message("Welcome.")
    memory.save_context({"input": "a"}, {"output": "b", "intermediate_steps": steps})
    assert [message.text for message in memory.buffer][:2] == ["Welcome.", "a"]
    memory.save_context({"input": "c"}, {"output": "d"})
    kinds = ["human", "ai", "tool", "ai", "tool", "ai", "human", "ai"]
    assert [message.type for message in memory.buffer] == kinds
    memory.save_context({"input": "e"}, {"output": "f", "intermediate_steps": steps})
    assert [message.type for message in memory.buffer] == [*kinds[-2:], *kinds[:-2]]


def test_a_window_of_turns_is_read_without_the_rest(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = LosslessMemory(engine, k=2, return_messages=True)
    memory.chat_memory.add_messages([message for n in range(300) for message in (HumanMessage(f"a {n}"), AIMessage(f"b {n}"))])
    memory.thread.delete([each.id for each in memory.thread.refs()[-4:]])
    read: list[int] = []
    plain = Thread.messages

    def counting(thread: Thread, *given: Any, **which: Any) -> Any:
        found = plain(thread, *given, **which)
        read.append(len(found))
        return found

    monkeypatch.setattr(Thread, "messages", counting)
    assert [message.text for message in memory.buffer] == ["a 296", "b 296", "a 297", "b 297"]
    assert sum(read) <= 40


def test_two_databases_for_one_memory_are_refused(engine: Engine) -> None:
    with pytest.raises(ConfigError, match="several connections"):
        LosslessMemory(engine, url="sqlite://")


def test_the_model_writes_the_summaries(engine: Engine) -> None:
    model = ScriptedModel(script=["The user told facts that are numbered from zero."])
    memory = LosslessMemory(engine, llm=model, max_token_limit=1_000, summary_message_cls=SystemMessage, return_messages=True)
    told(memory, 40)
    memory.prune()
    assert "numbered from zero" in memory.moving_summary_buffer
    assert isinstance(memory.buffer[0], SystemMessage)
    assert "numbered from zero" in memory.buffer[0].text
    assert model.seen


def test_the_users_prompt_writes_the_summaries(engine: Engine) -> None:
    prompt = PromptTemplate.from_template("Before: {summary}\nNow: {new_lines}\nIn French, please:")
    model = ScriptedModel(script=["Des faits, de zéro à trente-neuf."])
    memory = LosslessMemory(engine, llm=model, prompt=prompt, max_token_limit=1_000)
    told(memory, 40)
    memory.prune()
    assert "Des faits" in memory.moving_summary_buffer
    assert model.seen[0][0].text.endswith("In French, please:")
    assert memory.predict_new_summary([HumanMessage("Fact 41")], "so far") == "Des faits, de zéro à trente-neuf."
    assert model.seen[-1][0].text == "Before: so far\nNow: Human: Fact 41\nIn French, please:"
    with pytest.raises(ConfigError, match="has the variables text"):
        LosslessMemory(engine, prompt=PromptTemplate.from_template("{text}"))


def test_a_model_that_is_no_chat_model_and_has_no_token_counts_does(engine: Engine) -> None:
    memory = LosslessMemory(engine, llm=FakeListLLM(responses=["Facts from zero."]), max_token_limit=1_000)
    told(memory, 40)
    memory.prune()
    assert "Facts from zero." in memory.moving_summary_buffer


def test_a_stock_history_stays_the_users_and_is_mirrored(engine: Engine) -> None:
    history = InMemoryChatMessageHistory()
    history.add_user_message("a")
    memory = LosslessMemory(engine, chat_memory=history, return_messages=True)
    memory.save_context({"input": "b"}, {"output": "c"})
    history.add_ai_message("d")
    assert [message.text for message in memory.buffer] == [message.text for message in history.messages] == ["a", "b", "c", "d"]
    assert LosslessMemory(engine, chat_memory=InMemoryChatMessageHistory()).buffer == ""
    memory.clear()
    assert (history.messages, memory.buffer) == ([], [])
    assert len(memory.thread.messages(deleted=True)) == 4


def test_a_history_of_ours_is_the_session(engine: Engine) -> None:
    history = LosslessChatMessageHistory("s", engine)
    history.add_messages([HumanMessage("a"), AIMessage("b")])
    memory = LosslessMemory.from_messages(None, history, max_token_limit=500)
    assert (memory.session_id, memory.engine, memory.buffer) == ("s", engine, "Human: a\nAI: b")
    assert copy.deepcopy(memory).buffer == memory.buffer


def test_a_session_may_begin_with_a_summary(engine: Engine) -> None:
    for _ in range(2):
        memory = LosslessMemory(engine, moving_summary_buffer="The user is Ann.")
    assert memory.buffer == "System: The user is Ann."


def test_chains_of_the_classic_kind(engine: Engine) -> None:
    model = ScriptedModel(script=lambda messages: f"{messages[-1].text.count('Human:')} said")
    chain = LLMChain(llm=model, prompt=HISTORY_PROMPT, memory=LosslessMemory(engine, session_id="llm"))
    assert chain.predict(input="a") == "1 said"
    assert chain.predict(input="b") == "2 said"
    conversation = ConversationChain(llm=model, memory=LosslessMemory(engine, session_id="c", max_token_limit=2_000))
    assert conversation.predict(input="a") == "1 said"
    assert asyncio.run(conversation.apredict(input="b")) == "2 said"
    combined = CombinedMemory(
        memories=[LosslessMemory(engine, session_id="k", input_key="input"), SimpleMemory(memories={"x": "y"})]
    )
    assert LLMChain(llm=model, prompt=HISTORY_PROMPT, memory=combined).predict(input="a") == "1 said"
    shared = ReadOnlySharedMemory(memory=LosslessMemory(engine, session_id="llm"))
    assert LLMChain(llm=model, prompt=HISTORY_PROMPT, memory=shared).predict(input="c") == "3 said"


class Shelf(BaseRetriever):
    """Finds the same document for every question."""

    def _get_relevant_documents(self, query: str, **_others: Any) -> list[Document]:
        return [Document(page_content="The limit is 40 EUR.")]


def test_a_retrieval_chain_with_sources(engine: Engine) -> None:
    memory = LosslessMemory(engine, memory_key="chat_history", return_messages=True)
    chain = ConversationalRetrievalChain.from_llm(
        ScriptedModel(script=["40 EUR"]), retriever=Shelf(), memory=memory, return_source_documents=True
    )
    assert chain.invoke({"question": "What is the limit?"})["answer"] == "40 EUR"
    assert chain.invoke({"question": "And again?"})["answer"] == "40 EUR"
    assert [message.text for message in memory.buffer] == ["What is the limit?", "40 EUR", "And again?", "40 EUR"]


@tool
def look(place: str) -> str:
    """Look somewhere."""
    return f"Nothing in {place}."


def test_an_agent_keeps_its_steps(engine: Engine) -> None:
    model = ScriptedModel(script=[calling(call("look", "c1", place="the box")), "There is nothing in it."])
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("chat_history"), ("human", "{input}"), MessagesPlaceholder("agent_scratchpad")]
    )
    memory = LosslessMemory(engine, memory_key="chat_history", return_messages=True)
    agent = create_tool_calling_agent(model, [look], prompt)
    executor = AgentExecutor(agent=agent, tools=[look], memory=memory, return_intermediate_steps=True)
    assert executor.invoke({"input": "What is in the box?"})["output"] == "There is nothing in it."
    asked, called, result, answered = memory.buffer
    assert (asked.text, answered.text) == ("What is in the box?", "There is nothing in it.")
    assert isinstance(called, AIMessage)
    assert isinstance(result, ToolMessage)
    assert called.tool_calls[0]["id"] == result.tool_call_id == "c1"
    assert result.text == "Nothing in the box."
    assert executor.invoke({"input": "Sure?"})["output"]


def test_lcel_loads_it(engine: Engine) -> None:
    memory = LosslessMemory(engine, return_messages=True)
    memory.save_context({"input": "a"}, {"output": "b"})
    load = RunnableLambda(memory.load_memory_variables, afunc=memory.aload_memory_variables) | itemgetter("history")
    chain = RunnablePassthrough.assign(history=load) | RunnableLambda(lambda given: len(given["history"]))
    assert chain.invoke({"question": "c", "more": 1}) == asyncio.run(chain.ainvoke({"question": "c"})) == 2


def test_messages_of_every_class_are_written_as_text(engine: Engine) -> None:
    class Critic(BaseMessage):
        type: str = "critic"

    memory = LosslessMemory(engine)
    memory.chat_memory.add_messages([Critic(content="weak"), ToolMessage("x", tool_call_id="1")])
    assert memory.buffer.splitlines()[0] == "critic: weak"


BLOCKED = """
import sys
sys.modules["langchain_classic"] = None
import lossless_langchain
try:
    lossless_langchain.LosslessMemory
except ImportError as error:
    print(error)
from lossless_langchain import LosslessRunnableWithMessageHistory
"""


def test_without_the_extra_the_line_to_install_is_named(tmp_path: Path) -> None:
    done = prepared().run(BLOCKED, folder=tmp_path)
    assert done.err == ""
    assert "pip install 'lossless-langchain[classic]'" in done.out


def test_our_imports_warn_of_nothing() -> None:
    modules = ["codec", "lcel", "middleware", "models", "plugin", "running", "summarizer", "tools"]
    each = "".join(f"import lossless_langchain.{name}\n" for name in modules)
    names = "LosslessMemory, LosslessChatMessageHistory, LosslessRunnableWithMessageHistory, history_factory"
    use = "LosslessMemory('sqlite://').save_context({'input': 'a'}, {'output': 'b'})"
    code = f"{each}from lossless_langchain import {names}\n{use}\nLosslessRunnableWithMessageHistory(lambda x: x, history_factory('sqlite://'))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
