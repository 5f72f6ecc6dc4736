"""The memory: what fits, of all that was said; and the block that recalls inside LlamaIndex's own memory."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import Memory
from llama_index.core.utils import get_tokenizer
from llama_index.core.workflow import Context, StartEvent, StopEvent, Workflow, step

from lossless import Engine, Message
from lossless.errors import ConfigError, LosslessError, MessageError
from lossless_faults import Faults
from lossless_llamaindex import (
    LLMSummarizer,
    LosslessAsyncChatStore,
    LosslessChatStore,
    LosslessMemory,
    LosslessMemoryBlock,
    memory_block,
)
from lossless_llamaindex.agent.prompts import count_messages
from lossless_llamaindex.stores.async_chat_store import is_archived
from lossless_llamaindex_cases import CASES, same
from lossless_llamaindex_models import ScriptedLLM, answer, call

TOKENS = get_tokenizer()


def user(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, content=text)


def long_talk(memory: LosslessMemory, turns: int = 40) -> None:
    for n in range(turns):
        memory.put_messages([user(f"Invoice {n} is over {n * 11} EUR. " + "word " * 20), answer(f"Noted: {n}.")])


def size(messages: list[ChatMessage]) -> int:
    return sum(len(TOKENS(message.content or "")) + 4 for message in messages)


@pytest.fixture
def memory(url: str) -> LosslessMemory:
    return LosslessMemory(url=url, session_id="s", token_limit=1_000)


def test_what_was_put_is_shown_and_kept(memory: LosslessMemory) -> None:
    memory.put(user("hello"))
    memory.put_messages([answer("hi"), user("bye")])
    assert memory.get() == memory.get_all() == [user("hello"), answer("hi"), user("bye")]
    memory.set([user("anew")])
    assert memory.get() == [user("anew")]
    memory.reset()
    assert memory.get() == memory.get_all() == []
    assert [message.text for message in memory.thread().messages(deleted=True)] == ["hello", "hi", "bye", "anew"]


def test_every_message_is_kept_equal(url: str) -> None:
    memory = LosslessMemory(url=url)
    memory.put_messages(list(CASES.values()))
    assert all(same(a, b) for a, b in zip(memory.get_all(), CASES.values(), strict=True))


def test_what_is_shown_keeps_within_the_limit_and_nothing_is_lost(memory: LosslessMemory) -> None:
    long_talk(memory)
    shown = memory.get()
    assert size(shown) <= 1_000
    assert shown[-1] == answer("Noted: 39.")
    assert shown[0].role == MessageRole.USER
    assert "<summary" in (shown[0].content or "")
    assert len(memory.get_all()) == 80
    assert memory.context().status == "ok"
    assert memory.context().represented == 80


@pytest.mark.parametrize("initial", [0, 300, 900, 999, 1_000, 5_000])
def test_a_large_prompt_around_it_shrinks_what_is_shown(memory: LosslessMemory, initial: int) -> None:
    long_talk(memory)
    shown = memory.get("What was invoice 3?", initial_token_count=initial)
    context = memory.context(overhead=initial)
    assert size(shown) <= max(1_000 - initial, 0) or context.status == "exhausted"
    assert any("Invoice 39" in (message.content or "") for message in shown), "the newest request is always there"


def test_a_session_goes_on_after_a_restart(url: str) -> None:
    with Engine(url) as engine:
        memory = LosslessMemory(engine, session_id="s", token_limit=1_000)
        long_talk(memory)
        assert memory.thread().wait(30)
        before = memory.get()
    with Engine(url) as engine:
        again = LosslessMemory.from_defaults(engine=engine, session_id="s", token_limit=1_000)
        assert again.get() == before
        assert LosslessMemory(engine).get() == [], "another session shares nothing"


def test_it_is_written_and_pickled_as_where_it_is(memory: LosslessMemory) -> None:
    memory.put(user("hello"))
    written = json.loads(json.dumps(memory.to_dict()))
    assert "hello" not in str(written)
    for again in (LosslessMemory.from_dict(written), pickle.loads(pickle.dumps(memory)), memory.model_copy(deep=True)):
        assert (again.session_id, again.token_limit, again.get()) == ("s", 1_000, [user("hello")])
    memory.engine.close()
    assert LosslessMemory.from_dict(written).get() == [user("hello")]


def test_a_password_is_never_written() -> None:
    memory = LosslessMemory(Engine("sqlite://"))
    assert "secret" not in str(memory.to_dict())
    with pytest.raises(LosslessError) as caught:
        LosslessMemory(url="postgresql://someone:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)


def test_on_an_engine_without_a_window_all_is_shown() -> None:
    with Engine("sqlite://") as engine:
        memory = LosslessMemory(engine)
        long_talk(memory, 100)
        assert memory.get() == memory.get_all()
        assert len(memory.get()) == 200


def test_it_is_made_with_the_arguments_of_stock_memories(url: str) -> None:
    store = LosslessChatStore(url=url)
    llm = ScriptedLLM(script=[answer("x")], window=4_000)
    made = LosslessMemory.from_defaults(
        chat_history=[user("a")], llm=llm, chat_store=store, chat_store_key="k", tokenizer_fn=len, session_id=None
    )
    assert (made.session_id, made.token_limit, made.get()) == ("k", 3_000, [user("a")])
    assert store.get_messages("k") == [user("a")]
    with pytest.raises(ValueError, match="token_limit"):
        LosslessMemory(store.engine, token_limit=0)
    with pytest.raises(ConfigError, match="profile"):
        LosslessMemory(store.engine, session_id="k", profile="nobody").get()


def test_calls_and_results_are_shown_whole_for_every_provider(memory: LosslessMemory) -> None:
    memory.put_messages([answer("Hello, I am here."), user("Look it up."), call("find", "c1", word="x")])
    shown = LosslessMemory(memory.engine, session_id="s", token_limit=1_000, profile="anthropic").get()
    assert shown[0].role == MessageRole.USER
    assert all(message.role != MessageRole.TOOL for message in memory.get()) or len(memory.get()) > 3
    memory.put(ChatMessage(role=MessageRole.TOOL, content="found", additional_kwargs={"tool_call_id": "c1"}))
    assert [message.role.value for message in memory.get()] == ["assistant", "user", "assistant", "tool"]


def test_a_bad_message_is_refused_and_stores_nothing(memory: LosslessMemory) -> None:
    bad: Any = [user("a"), "b"]
    with pytest.raises(MessageError, match="message 1"):
        memory.put_messages(bad)
    memory.put_messages([])
    assert memory.get_all() == []


def test_puts_from_threads_and_loops_lose_nothing(memory: LosslessMemory) -> None:
    async def put(name: str) -> None:
        for n in range(4):
            await memory.aput(user(f"{name}{n}"))

    workers = [threading.Thread(target=asyncio.run, args=(put(name),)) for name in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = [message.content for message in asyncio.run(memory.aget_all())]
    assert sorted(map(str, found)) == sorted(f"{name}{n}" for name in "abc" for n in range(4))


def test_a_chat_engine_talks_with_it(memory: LosslessMemory) -> None:
    llm = ScriptedLLM(script=lambda messages: answer(f"seen {len(messages)}"))
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory, system_prompt="Be brief.")
    assert str(engine.chat("one")) == "seen 2"
    assert str(asyncio.run(engine.achat("two"))) == "seen 4"
    assert len(memory.get_all()) == 4
    for n in range(30):
        engine.chat(f"turn {n} " + "word " * 60)
    assert all(size(seen) <= 1_000 for seen in llm.seen)
    engine.reset()
    assert memory.get_all() == []


async def asked(chat: SimpleChatEngine, way: str, request: str) -> str:
    """Ask in one of its ways, and wait until the answer is in the memory."""
    if way == "chat":
        return str(chat.chat(request))
    if way == "achat":
        return str(await chat.achat(request))
    if way == "stream_chat":
        return "".join(chat.stream_chat(request).response_gen)
    pieces = (await chat.astream_chat(request)).async_response_gen()
    return "".join([piece async for piece in pieces])


@pytest.mark.parametrize("way", ["chat", "achat", "stream_chat", "astream_chat"])
def test_a_chat_engine_counts_its_own_messages_into_the_limit(way: str) -> None:
    llm = ScriptedLLM(script=[answer("Yes.")])
    with Engine("sqlite://", background=False) as engine:
        memory = LosslessMemory(engine, token_limit=1_000)
        memory.put_messages([user(f"question {n} " + "word " * 20) for n in range(35)])
        chat = SimpleChatEngine.from_defaults(llm=llm, memory=memory, system_prompt="Be brief. " * 100)
        assert asyncio.run(asked(chat, way, "Which one?")) == "Yes."
        (prompt,) = llm.seen
        assert prompt[0].content == "Be brief. " * 100
        assert prompt[-1].content == "Which one?"
        assert count_messages(prompt) <= 1_000


class Remembering(Workflow):
    """Keeps a memory in its context."""

    @step
    async def remember(self, ctx: Context, ev: StartEvent) -> StopEvent:
        """Put what was said into the memory of the context, or into the one that was given."""
        memory = await ctx.store.get("memory", default=None) or ev.memory
        await memory.aput(user(ev.said))
        await ctx.store.set("memory", memory)
        return StopEvent(result=[message.content for message in await memory.aget()])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_context_of_a_workflow_takes_it_along(memory: LosslessMemory) -> None:
    async def run() -> Any:
        workflow = Remembering()
        ctx: Any = Context(workflow)
        await workflow.run(ctx=ctx, said="one", memory=memory)
        written = json.loads(json.dumps(ctx.to_dict()))
        return await workflow.run(ctx=Context.from_dict(workflow, written), said="two")

    assert asyncio.run(run()) == ["one", "two"]


def test_an_llm_writes_the_summaries() -> None:
    llm = ScriptedLLM(script=lambda messages: answer("Invoices were noted. " + "Invoice 3 is over 33 EUR."))
    failing = ScriptedLLM(script=lambda messages: 1 / 0)
    with Engine("sqlite://", summarizer=LLMSummarizer(failing, fallbacks=[llm]), background=False) as engine:
        memory = LosslessMemory(engine, token_limit=2_000)
        long_talk(memory, 60)
        assert llm.seen
        assert failing.seen
        assert engine.spent().input_tokens >= 10
        assert any("Invoices were noted." in (message.content or "") for message in memory.get())
    with pytest.raises(ConfigError, match="is no LLM"):
        LLMSummarizer("gpt")  # type: ignore[arg-type]


@pytest.mark.parametrize("ours", [True, False])
def test_a_block_recalls_what_left_the_queue(ours: bool) -> None:
    async def run() -> None:
        with Engine("sqlite://", background=False) as engine:
            block = LosslessMemoryBlock(engine, token_limit=500)
            store: Any = LosslessAsyncChatStore(engine if ours else Engine("sqlite://"))
            memory = Memory.from_defaults(
                session_id="s", chat_store=store, token_limit=1_200, token_flush_size=100, memory_blocks=[block]
            )
            for n in range(60):
                await memory.aput_messages(
                    [user(f"Invoice K{n}77 is over {n * 11} EUR. " + "word " * 12), answer(f"Noted: {n}.")]
                )
            await memory.aput(user("How much was invoice K377?"))
            shown = await memory.aget()
            recalled = str(shown[0].content)
            assert shown[0].role == MessageRole.SYSTEM
            assert "Invoice K377 is over 33 EUR" in recalled
            found = [line for line in recalled.split("\n") if line.startswith("[m_")]
            assert len(found) == len(set(found)), "each hit once"
            assert len(TOKENS(recalled)) <= 700
            stored = [message.text for message in engine.thread("s").messages()]
            assert len(stored) == len(set(stored)), "each message once"
            assert "session_id" not in str([message.payload for message in engine.thread("s").messages()])

    asyncio.run(run())


def test_a_block_is_truncated_line_by_line_and_is_empty_at_first() -> None:
    with Engine("sqlite://") as engine:
        block = LosslessMemoryBlock(engine, session_id="own", priority=1)
        assert asyncio.run(block.aget([user("hello there")])) == ""
        asyncio.run(block.aput([user("The gate is B42."), answer("Noted.")], session_id="other"))
        assert "The gate is B42." in asyncio.run(block.aget([user("Which gate?")]))
        assert engine.thread("own").count() == 2
        assert asyncio.run(block.atruncate("one\ntwo\nthree", 2)) == "two\nthree"
        assert asyncio.run(block.atruncate("one", 9)) is None
        assert pickle.loads(pickle.dumps(block)).session_id == "own"


def test_a_block_looks_at_what_was_archived_last_however_long_the_session_is(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def looking(message: Message) -> bool:
        looked.append(message.seq)
        return is_archived(message)

    monkeypatch.setattr(memory_block, "is_archived", looking)
    monkeypatch.setattr(memory_block, "_MEANWHILE", 4)

    async def run(engine: Engine) -> None:
        queue, block = LosslessAsyncChatStore(engine), LosslessMemoryBlock(engine)
        await queue.add_messages("s", [user(f"message {n}") for n in range(100)])
        for _flush in range(3):
            flushed = await queue.archive_oldest_messages("s", 5)
            await queue.add_messages("s", [user("meanwhile"), user("meanwhile")])
            looked.clear()
            await block.aput(flushed, session_id="s")
            assert len(looked) <= 2 * len(flushed) + 5
        await block.aput([user("from elsewhere")], session_id="s")

    with Engine("sqlite://", background=False) as engine:
        asyncio.run(run(engine))
        stored = [message.text for message in engine.thread("s").messages()]
        assert sorted(stored) == sorted([*(f"message {n}" for n in range(100)), *["meanwhile"] * 6, "from elsewhere"])


@pytest.mark.parametrize(
    ("said", "request_"),
    [
        ("登机口在二号航站楼。", "我的登机口在哪里?"),
        ("搭乗口は二階です。", "私の搭乗口はどこですか"),
        ("Der Flugsteig ist B4.", "Guten Tag, " + "ich wollte nur noch einmal kurz nachfragen " * 3 + "was ist an B4?"),
        ("The gate is at Zürich.", "which gate, ZURICH?"),
    ],
)
def test_a_block_recalls_in_every_script_and_by_the_words_that_tell_most(said: str, request_: str) -> None:
    async def run(engine: Engine) -> str:
        block = LosslessMemoryBlock(engine, session_id="s", token_limit=300)
        await block.aput([user(said), *(user(f"其他的话 something else {n}") for n in range(60))])
        return await block.aget([user(request_)])

    with Engine("sqlite://", background=False) as engine:
        assert said in asyncio.run(run(engine))


def test_a_put_costs_no_more_statements_in_a_long_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults, costs = Faults().install(monkeypatch), []
    with Engine(f"sqlite:///{tmp_path / 'm.db'}", window=1_000_000, background=False) as engine:
        for turns in (10, 300):
            memory = LosslessMemory(engine)
            memory.put_messages([user(f"Invoice {n} is over {n * 11} EUR.") for n in range(turns)])
            memory.put(user("one more"))
            with faults.at_statement(0):
                memory.put(user("one more"))
            costs.append(faults.seen)
    assert 0 < costs[0] == costs[1]
