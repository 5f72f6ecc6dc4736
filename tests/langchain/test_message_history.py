"""Chains with a message history: every turn is kept once, however it ends."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.agents import AgentAction
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import (
    ConfigurableFieldSpec,
    RunnableConfig,
    RunnableGenerator,
    RunnableLambda,
    RunnableWithMessageHistory,
)

from lossless import Engine
from lossless.errors import ConfigError
from lossless_langchain import LosslessChatMessageHistory, LosslessRunnableWithMessageHistory, history_factory
from lossless_langchain_models import ScriptedModel, call, calling

CONFIG: RunnableConfig = {"configurable": {"session_id": "s"}}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("sqlite://") as engine:
        yield engine


def shown(engine: Engine, session: str = "s") -> list[BaseMessage]:
    return LosslessChatMessageHistory(session, engine).messages


def texts(engine: Engine, session: str = "s") -> list[str]:
    return [message.text for message in shown(engine, session)]


def echo(given: Any) -> AIMessage:
    return AIMessage(f"{len(given)} shown")


def test_messages_in_messages_out(engine: Engine) -> None:
    chain = LosslessRunnableWithMessageHistory(RunnableLambda(echo), history_factory(engine))
    assert isinstance(chain, RunnableWithMessageHistory)
    assert chain.invoke([HumanMessage("a")], CONFIG).text == "1 shown"
    assert chain.invoke(HumanMessage("b"), CONFIG).text == "3 shown"
    assert asyncio.run(chain.ainvoke("c", CONFIG)).text == "5 shown"
    assert texts(engine) == ["a", "1 shown", "b", "3 shown", "c", "5 shown"]


def test_a_prompt_with_a_history_key_and_a_chat_model(engine: Engine) -> None:
    model = ScriptedModel(script=lambda messages: AIMessage(f"{len(messages)} shown", id=f"run-{len(messages)}"))
    prompt = ChatPromptTemplate.from_messages([("system", "Be kind."), MessagesPlaceholder("history"), ("human", "{question}")])
    chain = LosslessRunnableWithMessageHistory(
        prompt | model, history_factory(engine), input_messages_key="question", history_messages_key="history"
    )
    assert chain.invoke({"question": "a"}, CONFIG).text == "2 shown"
    assert "".join(chunk.text for chunk in chain.stream({"question": "b"}, CONFIG)) == "4 shown"
    assert texts(engine) == ["a", "2 shown", "b", "4 shown"]
    assert [type(message) for message in shown(engine)] == [HumanMessage, AIMessage, HumanMessage, AIMessage]
    assert [message.text for message in model.seen[1]] == ["Be kind.", "a", "2 shown", "b"]


@pytest.mark.parametrize(
    ("keys", "given", "answer"),
    [
        ({"input_messages_key": "input", "output_messages_key": "answer"}, {"input": "a"}, {"answer": "b", "source": [1]}),
        ({"input_messages_key": "input"}, {"input": [HumanMessage("a")]}, {"output": [AIMessage("b")], "more": 1}),
        ({"history_messages_key": "h", "input_messages_key": "input"}, {"input": "a", "lang": "en"}, "b"),
        ({}, "a", AIMessage("b")),
        ({}, [("user", "a")], "b"),
        ({}, [{"role": "user", "content": "a"}], [{"role": "assistant", "content": "b"}]),
    ],
)
def test_inputs_and_outputs_of_every_shape(engine: Engine, keys: dict[str, str], given: Any, answer: Any) -> None:
    chain = LosslessRunnableWithMessageHistory(RunnableLambda(lambda _given: answer), history_factory(engine), **keys)
    assert chain.invoke(given, CONFIG) == answer
    assert shown(engine) == [HumanMessage("a"), AIMessage("b")]
    assert chain.get_input_schema() is not None
    assert chain.get_output_schema() is not None
    assert [spec.id for spec in chain.config_specs] == ["session_id"]


def test_messages_of_every_class_are_kept(engine: Engine) -> None:
    chain = LosslessRunnableWithMessageHistory(
        RunnableLambda(lambda _given: ChatMessage("b", role="critic")), history_factory(engine)
    )
    chain.invoke([ChatMessage("a", role="guest")], CONFIG)
    assert shown(engine) == [ChatMessage("a", role="guest"), ChatMessage("b", role="critic")]


def test_a_config_of_several_keys_names_the_history(engine: Engine) -> None:
    def history(*, user_id: str, thread_id: str) -> LosslessChatMessageHistory:
        return history_factory(engine)(f"{user_id}/{thread_id}")

    specs = [ConfigurableFieldSpec(id=name, annotation=str) for name in ("user_id", "thread_id")]
    chain = LosslessRunnableWithMessageHistory(RunnableLambda(echo), history, history_factory_config=specs)
    chain.invoke([HumanMessage("a")], {"configurable": {"user_id": "u", "thread_id": "t"}})
    assert texts(engine, "u/t") == ["a", "1 shown"]
    with pytest.raises(ValueError, match="Missing keys"):
        chain.invoke([HumanMessage("a")], {"configurable": {"user_id": "u"}})


def test_a_run_without_a_session_says_so(engine: Engine) -> None:
    chain = LosslessRunnableWithMessageHistory(RunnableLambda(echo), history_factory(engine))
    with pytest.raises(ValueError, match="session_id"):
        chain.invoke([HumanMessage("a")])
    with pytest.raises(ConfigError, match="no session id"):
        chain.invoke([HumanMessage("a")], {"configurable": {"session_id": ""}})


def test_a_turn_that_fails_is_kept_and_marked(engine: Engine) -> None:
    def fail(_given: Any) -> AIMessage:
        raise ValueError("the key is sk-secret")

    chain = LosslessRunnableWithMessageHistory(RunnableLambda(fail), history_factory(engine))
    for run in (chain.invoke, lambda *each: asyncio.run(chain.ainvoke(*each)), lambda *each: list(chain.stream(*each))):
        with pytest.raises(ValueError, match="sk-secret"):
            run([HumanMessage("a")], CONFIG)  # type: ignore[operator]
    found = shown(engine)
    assert [message.text for message in found[::2]] == ["a"] * 3
    assert [message.additional_kwargs for message in found[1::2]] == [{"lossless_turn": "failed", "error": "ValueError"}] * 3
    assert "sk-secret" not in str(found)


def test_an_aborted_stream_is_kept_with_what_was_said(engine: Engine) -> None:
    model = ScriptedModel(script=["one two three four"])
    chain = LosslessRunnableWithMessageHistory(model, history_factory(engine))
    stream = chain.stream([HumanMessage("a")], CONFIG)
    assert next(stream).text == "one "
    stream.close()  # type: ignore[attr-defined]
    assert [message.text for message in shown(engine)[:2]] == ["a", "one "]
    assert shown(engine)[2].additional_kwargs == {"lossless_turn": "aborted"}

    async def abort() -> None:
        stream = chain.astream([HumanMessage("b")], CONFIG)
        async for _chunk in stream:
            break
        await stream.aclose()  # type: ignore[attr-defined]

    asyncio.run(abort())
    assert [message.text for message in shown(engine)[3:5]] == ["b", "one "]
    assert shown(engine)[5].additional_kwargs == {"lossless_turn": "aborted"}
    assert len(shown(engine)) == 6


def test_a_cancelled_call_is_kept(engine: Engine) -> None:
    async def slow(_given: Any) -> AIMessage:
        await asyncio.sleep(60)
        return AIMessage("never")

    chain: Any = LosslessRunnableWithMessageHistory(RunnableLambda(echo, afunc=slow), history_factory(engine))

    async def cancel() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(chain.ainvoke([HumanMessage("a")], CONFIG), 0.2)

    asyncio.run(cancel())
    assert shown(engine)[0].text == "a"
    assert shown(engine)[1].additional_kwargs == {"lossless_turn": "aborted"}


def test_a_stream_that_fails_midway_keeps_what_was_said(engine: Engine) -> None:
    def half(_given: Iterator[Any]) -> Iterator[str]:
        yield "one "
        raise RuntimeError("gone")

    chain = LosslessRunnableWithMessageHistory(RunnableGenerator(half), history_factory(engine))
    with pytest.raises(RuntimeError, match="gone"):
        list(chain.stream([HumanMessage("a")], CONFIG))
    assert texts(engine)[:2] == ["a", "one "]
    assert shown(engine)[2].additional_kwargs == {"lossless_turn": "failed", "error": "RuntimeError"}


def test_tool_calls_of_a_streamed_answer_are_whole(engine: Engine) -> None:
    answer = calling(call("look", "c1", place="x"), text="I look")
    chain = LosslessRunnableWithMessageHistory(ScriptedModel(script=[answer]), history_factory(engine))
    list(chain.stream([HumanMessage("a")], CONFIG))
    stored = shown(engine)[1]
    assert isinstance(stored, AIMessage)
    assert (stored.text, stored.tool_calls) == ("I look", answer.tool_calls)


def test_the_steps_of_an_agent_are_kept(engine: Engine) -> None:
    steps = [(AgentAction("look", {"place": "x"}, "I look"), {"found": 3})]
    chain = LosslessRunnableWithMessageHistory(
        RunnableLambda(lambda _given: {"output": "done", "intermediate_steps": steps}),
        history_factory(engine),
        input_messages_key="input",
        history_messages_key="history",
    )
    chain.invoke({"input": "a"}, CONFIG)
    asked, called, result, answered = shown(engine)
    assert (asked.text, answered.text) == ("a", "done")
    assert isinstance(called, AIMessage)
    assert isinstance(result, ToolMessage)
    assert called.tool_calls[0]["id"] == result.tool_call_id
    assert (result.text, result.artifact) == ('{"found": 3}', {"found": 3})


def test_an_output_whose_key_is_unknown_names_the_keys_and_keeps_the_turn(engine: Engine) -> None:
    chain = LosslessRunnableWithMessageHistory(RunnableLambda(lambda _given: {"x": 1, "y": 2}), history_factory(engine))
    with pytest.raises(ConfigError, match="there are 'x', 'y'"):
        chain.invoke([HumanMessage("a")], CONFIG)
    assert shown(engine)[0].text == "a"
    assert shown(engine)[1].additional_kwargs["lossless_turn"] == "failed"


def test_a_history_that_changes_during_a_call_loses_and_repeats_nothing() -> None:
    with Engine("sqlite://", window=2_000, background=False) as engine:

        def meddle(given: list[BaseMessage]) -> AIMessage:
            other = LosslessChatMessageHistory("s", engine)
            other.add_messages([HumanMessage("meanwhile " + "word " * 100) for _ in range(20)])
            engine.thread("s").compact(force=True)
            return AIMessage(f"answer to {given[-1].text}")

        chain = LosslessRunnableWithMessageHistory(RunnableLambda(meddle), history_factory(engine))
        for number in range(3):
            chain.invoke([HumanMessage(f"question {number}")], CONFIG)
        stored = [message.text for message in engine.thread("s").messages()]
        assert len(stored) == 3 * 22
        for number in range(3):
            assert stored.count(f"question {number}") == 1
            assert stored.count(f"answer to question {number}") == 1


def test_concurrent_and_failing_runs_keep_every_message_once(engine: Engine) -> None:
    def answer(given: list[BaseMessage]) -> AIMessage:
        text = given[-1].text
        if text.endswith("3"):
            raise ValueError(text)
        return AIMessage(f"re {text}")

    chain = LosslessRunnableWithMessageHistory(RunnableLambda(answer), history_factory(engine))

    def say(name: int) -> None:
        for number in range(5):
            with contextlib.suppress(ValueError):
                chain.invoke([HumanMessage(f"{name}-{number}")], CONFIG)

    workers = [threading.Thread(target=say, args=(name,)) for name in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = texts(engine)
    assert sorted(found[::2]) == sorted(f"{name}-{number}" for name in range(4) for number in range(5))
    assert all(after == f"re {said}" or said.endswith("3") for said, after in zip(found[::2], found[1::2], strict=True))


def test_batches_keep_each_turn_in_its_session(engine: Engine) -> None:
    chain = LosslessRunnableWithMessageHistory(RunnableLambda(echo), history_factory(engine))
    configs: list[RunnableConfig] = [{"configurable": {"session_id": name}} for name in "ab"]
    chain.batch([[HumanMessage("x")], [HumanMessage("y")]], configs)
    assert (texts(engine, "a"), texts(engine, "b")) == (["x", "1 shown"], ["y", "1 shown"])


def test_events_of_the_chain_reach_its_listeners(engine: Engine) -> None:
    chain = LosslessRunnableWithMessageHistory(ScriptedModel(script=["b"]), history_factory(engine))

    async def names() -> list[str]:
        return [event["name"] async for event in chain.astream_events([HumanMessage("a")], CONFIG, version="v2")]

    assert {"RunnableWithMessageHistory", "ScriptedModel"} <= set(asyncio.run(names()))
    assert texts(engine) == ["a", "b"]


def test_stock_chains_take_the_factory_too(engine: Engine) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain = RunnableWithMessageHistory(RunnableLambda(echo), history_factory(engine))
    chain.invoke([HumanMessage("a")], CONFIG)
    chain.invoke([HumanMessage("b")], CONFIG)
    assert texts(engine) == ["a", "1 shown", "b", "3 shown"]
