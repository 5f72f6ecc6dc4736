"""What LlamaIndex's own memories do, ours does too; and its ``Memory`` does the same over our store as over its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import ChatMemoryBuffer, InsertMethod, Memory, StaticMemoryBlock
from llama_index.core.memory.types import BaseMemory
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from lossless_llamaindex import LosslessAsyncChatStore, LosslessMemory
from lossless_llamaindex_models import answer, call

LIMIT = 600


def user(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, content=text)


def result(id: str, text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.TOOL, content=text, additional_kwargs={"tool_call_id": id})


def turn(n: int) -> list[ChatMessage]:
    """Give a request, a call, its result and the answer."""
    asked = [user(f"question {n} " + "word " * 20), call("look", f"c{n}", word=str(n))]
    return [*asked, result(f"c{n}", f"found {n} " + "word " * 20), answer(f"answer {n}")]


def stock_store(folder: Path) -> SQLAlchemyChatStore:
    """The stock store, which leaves no connection open."""
    engine = create_async_engine(f"sqlite+aiosqlite:///{folder / 'stock.db'}", poolclass=NullPool)
    return SQLAlchemyChatStore(table_name="t", async_database_uri=str(engine.url), async_engine=engine)


STORES: dict[str, Callable[[Path], AsyncDBChatStore]] = {
    "lossless": lambda folder: LosslessAsyncChatStore(url=f"sqlite:///{folder / 'ours.db'}"),
    "stock": stock_store,
}
MEMORIES: dict[str, Callable[..., BaseMemory]] = {
    "lossless": lambda folder, **given: LosslessMemory.from_defaults(
        url=f"sqlite:///{folder / 'ours.db'}", session_id="s", token_limit=LIMIT, **given
    ),
    "stock, buffer": lambda folder, **given: ChatMemoryBuffer.from_defaults(token_limit=LIMIT, **given),
    "stock, Memory": lambda folder, **given: Memory.from_defaults(
        session_id="s", token_limit=LIMIT, token_flush_size=100, chat_store=stock_store(folder), **given
    ),
}


@pytest.fixture(params=list(MEMORIES))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., BaseMemory]:
    return lambda **given: MEMORIES[request.param](tmp_path, **given)


def test_what_is_put_is_shown_in_order_until_it_is_set_or_reset(make: Callable[..., BaseMemory]) -> None:
    async def lived(memory: BaseMemory) -> None:
        await memory.aput(user("a"))
        await memory.aput_messages([answer("b"), user("c"), user("c")])
        assert await memory.aget() == await memory.aget_all() == [user("a"), answer("b"), user("c"), user("c")]
        await memory.aset([user("x"), answer("y")])
        assert await memory.aget_all() == [user("x"), answer("y")]
        await memory.areset()
        assert await memory.aget() == await memory.aget_all() == []

    memory = make()
    asyncio.run(lived(memory))
    memory.put(user("d"))
    memory.put_messages([answer("e")])
    assert memory.get("anything") == memory.get_all() == [user("d"), answer("e")], "also from other event loops"
    memory.set([user("f")])
    assert memory.get_all() == [user("f")]
    memory.reset()
    assert memory.get_all() == []


def test_over_the_limit_the_newest_turns_are_shown_beginning_with_a_request(make: Callable[..., BaseMemory]) -> None:
    memory = make()
    for n in range(12):
        memory.put_messages(turn(n))
        shown = memory.get()
        assert shown[0].role == MessageRole.USER
        assert shown[-1] == answer(f"answer {n}")
        calls = [message.additional_kwargs["tool_call_id"] for message in shown if message.role == MessageRole.TOOL]
        assert calls == [block.tool_call_id for message in shown for block in message.blocks if block.block_type == "tool_call"]
    assert len(shown) < 48


def test_a_memory_can_begin_with_a_history(make: Callable[..., BaseMemory]) -> None:
    assert make(chat_history=[user("a"), answer("b")]).get() == [user("a"), answer("b")]


def test_puts_at_once_are_all_there(make: Callable[..., BaseMemory]) -> None:
    async def at_once(memory: BaseMemory) -> list[str]:
        await memory.aput(user("first"))
        await asyncio.gather(*(memory.aput(user(str(n))) for n in range(12)))
        return [str(message.content) for message in await memory.aget_all()]

    assert sorted(asyncio.run(at_once(make()))) == sorted(["first", *map(str, range(12))])


@pytest.mark.parametrize("method", list(InsertMethod), ids=lambda method: method.value)
def test_memory_lives_the_same_over_either_store_with_calls_and_blocks(tmp_path: Path, method: InsertMethod) -> None:
    async def lived(store: AsyncDBChatStore) -> list[Any]:
        static = StaticMemoryBlock(name="fixed", static_content="The office is closed on Fridays.", priority=0)
        seen: list[Any] = []
        memory = Memory.from_defaults(
            session_id="s", token_limit=300, token_flush_size=50, chat_store=store, memory_blocks=[static], insert_method=method
        )
        for n in range(6):
            for message in turn(n):
                await memory.aput(message)
                seen.append(await memory.aget())
        seen.append(await memory.aget_all(status=None))
        await memory.aset([result("c9", "found alone"), answer("on its own")])
        return [*seen, await memory.aget(), await memory.aget_all(status=None)]

    ours, stock = [asyncio.run(lived(make(tmp_path))) for make in STORES.values()]
    assert ours == stock
    assert any(len(shown) < 20 for shown in ours[20:24]), "some were archived"
