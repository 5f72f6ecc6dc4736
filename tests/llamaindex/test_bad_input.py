"""Odd arguments: what can be understood is, all else is refused in words and changes nothing."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.storage.chat_store import SimpleChatStore

from lossless import Engine
from lossless.errors import ConfigError, LosslessError, MessageError, StoreOpenError
from lossless_llamaindex import (
    LLMSummarizer,
    LosslessAsyncChatStore,
    LosslessChatStore,
    LosslessCodeActAgent,
    LosslessMemory,
    LosslessMemoryBlock,
    import_chat_store,
    import_chat_table,
    lossless_tools,
)
from lossless_llamaindex_models import ScriptedLLM

NO_NUMBERS = ["1", 1.0, [1], object()]
NO_LISTS = [None, 7, "abc", {"role": "user"}, ChatMessage(content="x"), [None], [{"role": "user", "content": "x"}]]
LLM = ScriptedLLM(script=[])


def said(*texts: str) -> list[ChatMessage]:
    return [ChatMessage(role=MessageRole.USER, content=text) for text in texts]


def done(found: Any) -> Any:
    """Give a result, also of a call that has to be awaited."""
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("sqlite://", background=False) as engine:
        engine.thread("k").append([{"role": "user", "blocks": [{"block_type": "text", "text": "a"}]}], format="llamaindex")
        yield engine


CALLS: dict[str, Callable[[Engine, Any], Any]] = {
    "add_message": lambda engine, bad: LosslessChatStore(engine).add_message("k", said("b")[0], idx=bad),
    "delete_message": lambda engine, bad: LosslessChatStore(engine).delete_message("k", bad),
    "delete_message of a queue": lambda engine, bad: LosslessAsyncChatStore(engine).delete_message("k", bad),
    "limit": lambda engine, bad: LosslessAsyncChatStore(engine).get_messages("k", limit=bad),
    "offset": lambda engine, bad: LosslessAsyncChatStore(engine).get_messages("k", offset=bad),
    "archive": lambda engine, bad: LosslessAsyncChatStore(engine).archive_oldest_messages("k", bad),
    "delete_oldest": lambda engine, bad: LosslessAsyncChatStore(engine).delete_oldest_messages("k", bad),
    "token_limit": lambda engine, bad: LosslessMemory(engine, session_id="k").context(token_limit=bad),
    "token_limit of an agent": lambda engine, bad: LosslessCodeActAgent(llm=LLM, code_execute_fn=print, token_limit=bad),
}


@pytest.mark.parametrize("call", list(CALLS))
@pytest.mark.parametrize("bad", NO_NUMBERS, ids=lambda bad: type(bad).__name__)
def test_a_position_or_limit_that_is_no_whole_number_is_refused_in_words(engine: Engine, call: str, bad: Any) -> None:
    with pytest.raises(ConfigError, match="must be a whole number"):
        done(CALLS[call](engine, bad))
    assert [message.text for message in engine.thread("k").messages()] == ["a"]


@pytest.mark.parametrize("far", [10**30, -(10**30)])
def test_a_position_beyond_any_list_is_one_of_its_ends(engine: Engine, far: int) -> None:
    store, queue = LosslessChatStore(engine), LosslessAsyncChatStore(engine)
    assert store.delete_message("k", far) is done(queue.delete_message("k", far)) is None
    assert done(queue.get_messages("k", limit=far)) == (said("a") if far > 0 else [])
    assert done(queue.get_messages("k", offset=far)) == ([] if far > 0 else said("a"))
    store.add_message("k", said("b")[0], idx=far)
    assert store.get_messages("k") == (said("a", "b") if far > 0 else said("b", "a"))


@pytest.mark.parametrize("status", ["nonsense", "", 7, ["active"]])
def test_a_status_that_is_none_reads_and_deletes_nothing(engine: Engine, status: Any) -> None:
    queue = LosslessAsyncChatStore(engine)
    done(queue.archive_oldest_messages("k", 1))
    for call in (
        lambda: queue.get_messages("k", status=status),
        lambda: queue.count_messages("k", status=status),
        lambda: queue.delete_messages("k", status=status),
        lambda: queue.add_message("k", said("b")[0], status=status),
        lambda: queue.set_messages("k", said("b"), status=status),
    ):
        with pytest.raises(ConfigError, match="there is no status"):
            done(call())
    assert done(queue.get_messages("k", status="archived")) == said("a"), "its word will do"


@pytest.mark.parametrize("bad", NO_LISTS, ids=lambda bad: type(bad).__name__)
def test_what_is_no_list_of_messages_is_refused_in_words(engine: Engine, bad: Any) -> None:
    store, queue, memory = LosslessChatStore(engine), LosslessAsyncChatStore(engine), LosslessMemory(engine, session_id="k")
    block = LosslessMemoryBlock(engine, session_id="k")
    for call in (
        lambda: store.set_messages("k", bad),
        lambda: queue.add_messages("k", bad),
        lambda: queue.set_messages("k", bad),
        lambda: memory.put_messages(bad),
        lambda: memory.set(bad),
        lambda: block.aput(bad),
    ):
        with pytest.raises(MessageError, match=r"must be a list of ChatMessages|is no ChatMessage"):
            done(call())
    assert store.get_messages("k") == said("a")
    memory.put_messages(each for each in said("b"))  # type: ignore[arg-type]
    assert store.get_messages("k") == said("a", "b"), "any iterable will do"


@pytest.mark.parametrize("count", [None, -5, 0.5, True])
def test_a_count_of_tokens_may_be_unknown_negative_or_estimated(engine: Engine, count: Any) -> None:
    memory = LosslessMemory(engine, session_id="k", token_limit=100)
    assert memory.get(initial_token_count=count) == asyncio.run(memory.aget(initial_token_count=count)) == said("a")


@pytest.mark.parametrize("count", ["5", math.nan, math.inf, [5]])
def test_a_count_of_tokens_that_is_no_number_is_refused_in_words(engine: Engine, count: Any) -> None:
    memory = LosslessMemory(engine, session_id="k", token_limit=100)
    with pytest.raises(ConfigError, match="must be a number of tokens"):
        memory.get(initial_token_count=count)


def test_an_engine_is_given_as_itself_or_by_its_url(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'chat.db'}"
    assert import_chat_store({"store": {"k": said("hello there")}}, url) == {"k": 1}
    assert "hello there" in str(lossless_tools(url, "k")[0].call(pattern="hello"))
    for bad in (None, 7, ""):
        for call in (lossless_tools, lambda bad: import_chat_store({"store": {}}, bad), lambda bad: import_chat_table(url, bad)):
            with pytest.raises(ConfigError, match="is no engine"):
                call(bad)
    with pytest.raises(StoreOpenError):
        lossless_tools("nonsense")


@pytest.mark.parametrize("source", [None, 7, b"x", ["x"]])
def test_what_is_no_chat_store_is_not_imported(engine: Engine, source: Any) -> None:
    with pytest.raises(ConfigError, match="is no chat store"):
        import_chat_store(source, engine)


def test_a_memory_is_not_made_of_what_it_can_not_use(engine: Engine) -> None:
    with pytest.raises(ConfigError, match="import_chat_store"):
        LosslessMemory.from_defaults(chat_store=SimpleChatStore())  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="is no LLM"):
        LosslessMemory.from_defaults(engine, llm="gpt")
    assert LosslessMemory.from_defaults(chat_store=LosslessAsyncChatStore(engine), session_id="k").get() == said("a")  # type: ignore[arg-type]
    assert LLMSummarizer(LLM, fallbacks=None).models == ("scripted",)


def test_a_closed_engine_says_so(engine: Engine) -> None:
    memory, store = LosslessMemory(engine, session_id="k"), LosslessChatStore(engine)
    engine.close()
    for call in (memory.get, lambda: memory.put(said("b")[0]), store.get_keys, lambda: store.get_messages("k")):
        with pytest.raises(LosslessError, match="closed"):
            call()


def test_a_message_that_was_made_without_checks_is_refused_in_words(engine: Engine) -> None:
    store = LosslessChatStore(engine)
    for bad in ({"role": "user", "blocks": None}, {"role": "nobody", "blocks": []}, {"role": "user", "blocks": [None]}):
        with pytest.raises(MessageError):
            store.add_message("k", ChatMessage.model_construct(**bad))
    assert store.get_messages("k") == said("a")
