"""Chat stores: what LlamaIndex expects of one, and what its own do otherwise."""

from __future__ import annotations

import asyncio
import copy
import functools
import json
import pickle
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import ChatMemoryBuffer, ChatSummaryMemoryBuffer, Memory
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.storage.chat_store.base import BaseChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from lossless import Engine, MessageRef, Shown
from lossless.errors import ConfigError, LosslessError, MessageError
from lossless_faults import Faults
from lossless_llamaindex import (
    LosslessAsyncChatStore,
    LosslessChatStore,
    LosslessMemory,
    LosslessMemoryBlock,
    import_chat_store,
    import_chat_table,
)
from lossless_llamaindex.stores.threads import take
from lossless_llamaindex_cases import CASES, same
from lossless_llamaindex_models import ScriptedLLM

ACTIVE, ARCHIVED = MessageStatus.ACTIVE, MessageStatus.ARCHIVED


def looped(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test in a loop of its own."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def said(*texts: str, role: str = "user") -> list[ChatMessage]:
    return [ChatMessage(role=MessageRole(role), content=text) for text in texts]


def texts(messages: Any) -> list[str]:
    return [message.content for message in messages]


STORES: dict[str, Callable[[str], BaseChatStore]] = {
    "lossless": lambda url: LosslessChatStore(url=url),
    "stock, in memory": lambda url: SimpleChatStore(),
}


@pytest.fixture(params=list(STORES))
def chat_store(request: pytest.FixtureRequest, tmp_path: Any) -> BaseChatStore:
    return STORES[request.param](f"sqlite:///{tmp_path / 'chat.db'}")


@pytest.fixture
def store(url: str) -> LosslessChatStore:
    return LosslessChatStore(url=url)


# What any chat store does


def test_messages_come_back_equal_and_in_order(chat_store: BaseChatStore) -> None:
    chat_store.set_messages("user1", said("a", "b"))
    chat_store.add_message("user1", said("c", role="assistant")[0])
    assert chat_store.get_messages("user1") == [*said("a", "b"), *said("c", role="assistant")]
    assert chat_store.get_messages("user2") == []


def test_setting_replaces_what_a_key_shows_and_nothing_of_others(chat_store: BaseChatStore) -> None:
    chat_store.set_messages("user1", said("a", "b"))
    chat_store.set_messages("user2", said("x"))
    chat_store.set_messages("user1", said("c"))
    assert texts(chat_store.get_messages("user1")) == ["c"]
    assert texts(chat_store.get_messages("user2")) == ["x"]


def test_keys_come_in_the_order_in_which_they_were_begun(chat_store: BaseChatStore) -> None:
    for key in ("user2", "user1", "user3"):
        chat_store.add_message(key, said("a")[0])
    chat_store.add_message("user2", said("b")[0])
    assert chat_store.get_keys() == ["user2", "user1", "user3"]
    chat_store.delete_messages("user1")
    assert chat_store.get_keys() == ["user2", "user3"]


def test_deleting_is_by_position(chat_store: BaseChatStore) -> None:
    chat_store.set_messages("k", said("a", "b", "c", "d"))
    deleted = chat_store.delete_message("k", 1)
    assert deleted == said("b")[0]
    assert chat_store.delete_last_message("k") == said("d")[0]
    assert texts(chat_store.get_messages("k")) == ["a", "c"]
    assert chat_store.delete_message("k", 2) is None
    assert chat_store.delete_message("nobody", 0) is None
    assert chat_store.delete_last_message("nobody") is None
    assert chat_store.delete_messages("nobody") is None
    assert texts(chat_store.delete_messages("k") or []) == ["a", "c"]
    assert chat_store.get_messages("k") == []


def test_a_message_can_be_put_at_a_position(chat_store: BaseChatStore) -> None:
    chat_store.set_messages("k", said("b", "c"))
    expected = ["b", "c"]
    for name, idx in (("a", 0), ("d", 9), ("e", 1), ("f", -1), ("g", -9)):
        chat_store.add_message("k", said(name)[0], idx=idx)  # type: ignore[call-arg]
        expected.insert(idx, name)
        assert texts(chat_store.get_messages("k")) == expected
    chat_store.add_message("new", said("a")[0], idx=3)  # type: ignore[call-arg]
    assert texts(chat_store.get_messages("new")) == ["a"]


@looped
async def test_every_method_has_an_async_one(chat_store: BaseChatStore) -> None:
    await chat_store.aset_messages("k", said("a", "b"))
    await chat_store.async_add_message("k", said("c")[0])
    assert texts(await chat_store.aget_messages("k")) == ["a", "b", "c"]
    assert await chat_store.adelete_message("k", 0) == said("a")[0]
    assert await chat_store.adelete_last_message("k") == said("c")[0]
    assert await chat_store.aget_keys() == ["k"]
    assert texts(await chat_store.adelete_messages("k") or []) == ["b"]
    assert await chat_store.adelete_messages("k") is None


# What ours does, and the stock ones do not


def test_every_message_comes_back_equal(store: LosslessChatStore) -> None:
    store.set_messages("k", list(CASES.values()))
    found = store.get_messages("k")
    assert len(found) == len(CASES)
    assert all(same(a, b) for a, b in zip(found, CASES.values(), strict=True))


def test_there_is_nothing_where_nothing_is_left(store: LosslessChatStore) -> None:
    store.set_messages("k", said("a"))
    assert store.delete_message("k", -1) is None
    assert store.delete_message("k", -2) is None
    assert store.delete_last_message("k") == said("a")[0]
    assert store.delete_last_message("k") is None
    assert store.delete_message("k", 0) is None
    assert store.delete_messages("k") is None
    assert store.get_keys() == []


def test_what_was_returned_or_given_can_be_changed_without_harm(store: LosslessChatStore) -> None:
    given = said("a")
    store.set_messages("k", given)
    given[0].additional_kwargs["x"] = 1
    given.append(said("b")[0])
    found = store.get_messages("k")
    found[0].blocks.clear()
    found.clear()
    assert store.get_messages("k") == said("a")


def test_what_was_deleted_stays_in_the_store(store: LosslessChatStore) -> None:
    store.set_messages("k", said("a", "b"))
    store.set_messages("k", said("c"))
    store.delete_last_message("k")
    store.add_message("k", said("a")[0])
    thread = store.engine.thread("k")
    assert [message.text for message in thread.messages()] == ["a"]
    assert [message.text for message in thread.messages(deleted=True)] == ["a", "b", "c", "a"]
    assert store.engine.verify().ok


def test_the_keys_are_found_by_one_query_however_many_there_are(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = Faults().install(monkeypatch)
    with Engine(f"sqlite:///{tmp_path / 'keys.db'}", background=False) as engine:
        store, costs = LosslessChatStore(engine), []
        for keys in (range(3), range(3, 30)):
            for n in keys:
                store.set_messages(f"k{n}", said("a", "b"))
                store.delete_last_message(f"k{n}")
            store.delete_messages(f"k{keys[1]}")
            store.get_keys()
            with faults.at_statement(0):
                found = store.get_keys()
            costs.append(faults.seen)
        assert found == [f"k{n}" for n in range(30) if n not in (1, 4)]
        assert costs[0] == costs[1]


def test_a_key_that_was_deleted_for_good_can_be_begun_again(store: LosslessChatStore) -> None:
    store.set_messages("k", said("a", "b"))
    store.add_message("other", said("x")[0])
    store.engine.delete_thread("k", reason="asked for")
    assert (store.get_messages("k"), store.get_keys()) == ([], ["other"])
    assert store.delete_message("k", 0) is store.delete_last_message("k") is store.delete_messages("k") is None
    store.add_message("k", said("c")[0], idx=7)
    store.add_message("k", said("c")[0])
    assert texts(store.get_messages("k")) == ["c", "c"], "what is said twice is kept twice"
    assert sorted(store.get_keys()) == ["k", "other"]
    assert store.engine.verify().ok


def test_a_bad_message_changes_nothing(store: LosslessChatStore) -> None:
    store.set_messages("k", said("a"))
    bad: Any = [said("b")[0], {"role": "user", "content": "c"}]
    with pytest.raises(MessageError, match="message 1: a dict is no ChatMessage"):
        store.set_messages("k", bad)
    with pytest.raises(MessageError):
        store.add_message("k", None)  # type: ignore[arg-type]
    assert store.get_messages("k") == said("a")
    store.set_messages("k", [])
    assert store.get_messages("k") == []


@pytest.mark.parametrize("key", ["", "x" * 600, 7])
def test_a_key_that_can_be_no_thread_is_refused_in_words(tmp_path: Any, key: Any) -> None:
    store = LosslessChatStore(url=f"sqlite:///{tmp_path / 'k.db'}")
    with pytest.raises(LosslessError):
        store.add_message(key, said("a")[0])
    assert store.get_keys() == []


def test_on_an_engine_with_a_window_what_is_shown_is_bounded() -> None:
    with Engine("sqlite://", window=2_000, background=False) as engine:
        store = LosslessChatStore(engine)
        for n in range(100):
            store.add_message("k", said(f"number {n} " + "word " * 30)[0])
        shown = store.get_messages("k")
        assert len(shown) < 50
        assert "<summary" in str(shown[0].content)
        assert store.delete_message("k", 0) is None, "a summary is no message"
        assert str(store.delete_last_message("k")).startswith("user: number 99 ")
        assert store.delete_message("k", len(store.get_messages("k")) - 1) is not None
        assert store.engine.thread("k").count() == 98


def test_a_store_connects_again_wherever_it_is_made_anew(store: LosslessChatStore) -> None:
    store.add_message("k", said("a")[0])
    for again in (
        pickle.loads(pickle.dumps(store)),
        copy.copy(store),
        copy.deepcopy(store),
        store.model_copy(),
        LosslessChatStore.from_dict(json.loads(json.dumps(store.to_dict()))),
        LosslessChatStore.model_validate(store.model_dump()),
    ):
        assert again.engine is store.engine
        assert again.get_messages("k") == said("a")
    store.engine.close()
    assert pickle.loads(pickle.dumps(store)).get_messages("k") == said("a")


def test_a_misspelt_argument_is_named(store: LosslessChatStore) -> None:
    for cls in (LosslessChatStore, LosslessAsyncChatStore, LosslessMemory, LosslessMemoryBlock):
        with pytest.raises(ConfigError, match="no argument 'tokenlimit'"):
            cls(store.engine, tokenlimit=5)


def test_a_memory_of_an_engine_that_is_gone_says_so() -> None:
    store = LosslessChatStore("sqlite://")
    written = store.to_dict()
    store.engine.close()
    with pytest.raises(ConfigError, match="in memory"):
        LosslessChatStore.from_dict(written)


def test_a_buffer_over_it_can_be_written_and_read_again(store: LosslessChatStore) -> None:
    memory = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="k", token_limit=4_000)
    memory.put_messages(said("a", "b"))
    assert ChatMemoryBuffer.from_string(memory.to_string()).get_all() == said("a", "b")
    assert pickle.loads(pickle.dumps(memory)).get() == said("a", "b")


def test_many_who_add_at_once_lose_nothing(url: str) -> None:
    def add(name: str) -> None:
        mine = LosslessChatStore(url=url)
        for n in range(5):
            mine.add_message("k", said(f"{name}{n}")[0])

    workers = [threading.Thread(target=add, args=(name,)) for name in "abcd"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = texts(LosslessChatStore(url=url).get_messages("k"))
    assert sorted(found) == sorted(f"{name}{n}" for name in "abcd" for n in range(5))
    assert all([text for text in found if text[0] == name] == [f"{name}{n}" for n in range(5)] for name in "abcd")


def test_a_summary_buffer_over_it_loses_nothing_of_what_it_sets_aside(store: LosslessChatStore) -> None:
    llm = ScriptedLLM(script=[ChatMessage(role=MessageRole.ASSISTANT, content="They counted.")])
    memory = ChatSummaryMemoryBuffer.from_defaults(
        llm=llm, chat_store=store, chat_store_key="k", token_limit=60, count_initial_tokens=True, tokenizer_fn=str.split
    )
    for n in range(12):
        memory.put(said(f"question {n} " + "word " * 8)[0])
        memory.put(said(f"answer {n}", role="assistant")[0])
    shown = memory.get(initial_token_count=5)
    assert "They counted." in str(shown[0].content)
    assert len(shown) == len(memory.get_all()) < 24, "what it shows it has set"
    kept = [message.text for message in store.engine.thread("k").messages(deleted=True)]
    assert all(any(text.startswith(f"question {n} ") for text in kept) for n in range(12))
    assert pickle.loads(pickle.dumps(store)).get_messages("k") == shown


def at_once(*jobs: Callable[[], Any]) -> list[Any]:
    """Run jobs in threads that start together, and give what they gave."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        return [each.result() for each in [pool.submit(job) for job in jobs]]


def test_positions_hold_while_others_insert_add_and_delete(url: str) -> None:
    store = LosslessChatStore(url=url)
    store.set_messages("k", said("first"))

    def insert(name: str) -> None:
        for n in range(4):
            LosslessChatStore(url=url).add_message("k", said(f"{name}{n}")[0], idx=1)
            store.add_message("k", said(f"{name}{n} at the end")[0])

    def delete(take: Callable[[], ChatMessage | None]) -> list[str]:
        return texts(filter(None, [take() for _ in range(5)]))

    takers = [lambda: delete(lambda: store.delete_message("k", 1)), lambda: delete(lambda: store.delete_last_message("k"))]
    found = at_once(*(functools.partial(insert, name) for name in "ab"), *takers, lambda: store.delete_messages("k"))
    taken = [*found[2], *found[3], *texts(found[4] or [])]
    put = [f"{name}{n}{end}" for name in "ab" for n in range(4) for end in ("", " at the end")]
    assert sorted([*taken, *texts(store.get_messages("k"))]) == sorted(["first", *put])
    assert store.engine.verify().ok


def test_the_oldest_are_archived_or_deleted_once_by_many(url: str) -> None:
    queue = LosslessAsyncChatStore(url=url)
    asyncio.run(queue.add_messages("k", said(*map(str, range(30)))))
    others = [LosslessAsyncChatStore(url=url) for _ in range(3)]
    archive = [lambda q=each: asyncio.run(q.archive_oldest_messages("k", 4)) for each in others]
    delete = [lambda q=each: asyncio.run(q.delete_oldest_messages("k", 3)) for each in others]
    found = [text for each in at_once(*archive, *delete) for text in texts(each)]
    assert sorted(found, key=int) == [str(n) for n in range(21)]
    assert texts(asyncio.run(queue.get_messages("k"))) == [str(n) for n in range(21, 30)]
    assert asyncio.run(queue.count_messages("k", ARCHIVED)) == 12
    assert queue.engine.verify().ok


# The queue of Memory


def stock_queue(url: str, table: str) -> SQLAlchemyChatStore:
    """The stock store, which leaves no connection open."""
    engine = create_async_engine(url.replace("sqlite", "sqlite+aiosqlite"), poolclass=NullPool)
    return SQLAlchemyChatStore(table_name=table, async_database_uri=str(engine.url), async_engine=engine)


QUEUES: dict[str, Callable[[str], AsyncDBChatStore]] = {
    "lossless": lambda url: LosslessAsyncChatStore(url=url),
    "stock": lambda url: stock_queue(url, "t"),
}


@pytest.fixture(params=list(QUEUES))
def queue(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncDBChatStore:
    return QUEUES[request.param](f"sqlite:///{tmp_path / 'queue.db'}")


@looped
async def test_a_queue_gives_pages_counts_and_keys(queue: AsyncDBChatStore) -> None:
    await queue.add_message("k", said("1")[0])
    await queue.add_messages("k", said("2", "3", "4", "5"))
    await queue.add_message("other", said("x")[0])
    assert texts(await queue.get_messages("k")) == ["1", "2", "3", "4", "5"]
    assert texts(await queue.get_messages("k", limit=2)) == ["1", "2"]
    assert texts(await queue.get_messages("k", limit=2, offset=1)) == ["2", "3"]
    assert await queue.count_messages("k") == 5
    assert await queue.count_messages("nobody") == 0
    assert await queue.get_messages("nobody") == []
    assert set(await queue.get_keys()) == {"k", "other"}


@looped
async def test_the_oldest_are_archived_or_deleted(queue: AsyncDBChatStore) -> None:
    await queue.add_messages("k", said("1", "2", "3", "4", "5"))
    assert texts(await queue.archive_oldest_messages("k", 2)) == ["1", "2"]
    assert texts(await queue.get_messages("k")) == ["3", "4", "5"]
    assert texts(await queue.get_messages("k", status=ARCHIVED)) == ["1", "2"]
    assert texts(await queue.get_messages("k", status=None)) == ["1", "2", "3", "4", "5"]
    assert texts(await queue.delete_oldest_messages("k", 1)) == ["3"]
    assert [await queue.count_messages("k", status) for status in (ACTIVE, ARCHIVED, None)] == [2, 2, 4]
    await queue.delete_messages("k", status=ARCHIVED)
    assert texts(await queue.get_messages("k", status=None)) == ["4", "5"]
    await queue.delete_messages("k")
    assert await queue.get_messages("k", status=None) == []


@looped
async def test_a_queue_of_ours_is_by_position_and_takes_nothing(url: str) -> None:
    queue = LosslessAsyncChatStore(url=url)
    await queue.add_messages("k", [])
    await queue.set_messages("k", [])
    assert await queue.get_keys() == []
    await queue.add_messages("k", said("old", "1", "2", "3"))
    await queue.archive_oldest_messages("k", 1)
    assert await queue.delete_message("k", 1) == said("2")[0]
    assert await queue.delete_message("k", 2) is None
    assert await queue.delete_message("k", -1) is None
    assert await queue.archive_oldest_messages("k", 0) == []
    await queue.add_message("k", said("aside")[0], status=ARCHIVED)
    assert texts(await queue.get_messages("k")) == ["1", "3"]
    await queue.set_messages("k", said("only"))
    assert texts(await queue.get_messages("k", status=None)) == ["only"]
    assert queue.engine.verify().ok
    kept = [message.text for message in queue.engine.thread("k").messages(deleted=True)]
    assert {"old", "1", "2", "3", "aside", "only"} <= set(kept)


@looped
async def test_messages_of_every_kind_can_be_archived(url: str) -> None:
    queue = LosslessAsyncChatStore(url=url)
    kept = list(CASES.values())
    await queue.add_messages("k", kept)
    await queue.archive_oldest_messages("k", len(kept))
    assert all(same(a, b) for a, b in zip(await queue.get_messages("k", status=ARCHIVED), kept, strict=True))


@looped
async def test_a_message_of_a_class_that_is_not_loaded_can_be_archived_and_added_again(url: str) -> None:
    queue = LosslessAsyncChatStore(url=url)
    blocks = [{"block_type": "text", "text": "hello"}]
    of_nobody = {"role": "user", "blocks": blocks, "class": "nobody:Nothing", "id": "m"}
    queue.engine.thread("k").append(of_nobody, format="llamaindex/1")
    await queue.archive_oldest_messages("k", 1)
    (old,) = await queue.get_messages("k", status=ARCHIVED)
    await queue.add_message("k", old)
    assert [await queue.count_messages("k", status) for status in (ACTIVE, ARCHIVED)] == [1, 1]
    assert (await queue.get_messages("k"))[0].content == old.content == "hello"


@looped
async def test_first_use_by_many_at_once_and_quick_puts_keep_their_order(url: str) -> None:
    queues = [LosslessAsyncChatStore(url=url) for _ in range(4)]
    await asyncio.gather(*(queue.add_messages(f"k{n}", said("a", "b")) for n, queue in enumerate(queues)))
    for n in range(20):
        await queues[n % 4].add_message("k0", said(str(n))[0])
    assert texts(await queues[3].get_messages("k0")) == ["a", "b", *map(str, range(20))]


def test_it_works_from_several_event_loops(url: str) -> None:
    queue = LosslessAsyncChatStore(url=url)
    for n in range(3):
        asyncio.run(queue.add_message("k", said(str(n))[0]))
    memory = Memory.from_defaults(session_id="k", chat_store=queue, token_limit=4_000)
    memory.put(said("3")[0])
    memory.put(said("4")[0])
    assert texts(memory.get()) == ["0", "1", "2", "3", "4"]


@looped
async def test_memory_keeps_its_queue_in_it(url: str) -> None:
    queue = LosslessAsyncChatStore(url=url)
    memory = Memory.from_defaults(session_id="k", chat_store=queue, token_limit=120, token_flush_size=20)
    for n in range(10):
        await memory.aput_messages([*said(f"question {n} " + "word " * 8), *said(f"answer {n}", role="assistant")])
    shown = await memory.aget()
    assert 0 < len(shown) < 20
    assert shown[0].role == MessageRole.USER
    everything = await memory.aget_all(status=None)
    assert len(everything) == 20
    assert everything[-len(shown) :] == shown
    assert [message.text for message in queue.engine.thread("k").messages()] == texts(everything)
    await memory.aput(said("after a restart")[0])
    again = Memory.from_defaults(session_id="k", chat_store=pickle.loads(pickle.dumps(queue)), token_limit=120)
    assert (await again.aget())[-1] == said("after a restart")[0]
    await memory.areset()
    assert await again.aget_all(status=None) == []


@looped
async def test_memory_behaves_the_same_over_either_store(tmp_path: Any) -> None:
    async def lived(queue: AsyncDBChatStore) -> list[list[str]]:
        memory = Memory.from_defaults(session_id="k", chat_store=queue, token_limit=100, token_flush_size=10)
        seen = []
        await memory.aset(said("first", "second"))
        for n in range(12):
            await memory.aput(said(f"{n} " + "word " * 10, role="user" if n % 3 else "assistant")[0])
            seen.append(texts(await memory.aget()))
        seen += [texts(await memory.aget_all(status)) for status in (ACTIVE, ARCHIVED, None)]
        await memory.aput_messages(said("a", "b", "c"))
        await memory.areset(status=ARCHIVED)
        seen.append(texts(await memory.aget_all(status=None)))
        await memory.aset(said("anew"))
        return [*seen, texts(await memory.aget_all(status=None)), texts(await memory.aget())]

    ours, stock = [await lived(make(f"sqlite:///{tmp_path / name}.db")) for name, make in QUEUES.items()]
    assert ours == stock
    assert any(len(each) < len(ours[14]) for each in ours[:12]), "some were archived"


# Taking over what stock stores hold


def test_the_file_of_a_simple_store_is_taken_over_once(tmp_path: Any, store: LosslessChatStore) -> None:
    old = {"store": {"u1": [message.model_dump(mode="json") for message in said("ä", "ä")], "u2": []}, "class_name": "x"}
    path = tmp_path / "old.json"
    path.write_text(json.dumps(json.dumps(old)), encoding="utf-8")
    assert import_chat_store(path, store.engine) == {"u1": 2, "u2": 0}
    assert import_chat_store(path, store.engine) == {"u1": 0, "u2": 0}
    assert store.get_messages("u1") == said("ä", "ä")
    simple = SimpleChatStore()
    simple.set_messages("u1", said("ä", "ä", "new"))
    assert import_chat_store(simple, store.engine) == {"u1": 1}
    store.persist(str(tmp_path / "none.json"))
    assert not (tmp_path / "none.json").exists()
    assert LosslessChatStore.from_persist_path(str(path), url=store.url).get_keys() == ["u1"]
    assert LosslessChatStore.from_persist_path(str(tmp_path / "none.json"), url=store.url).get_keys() == ["u1"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"store": 7}', '{"store": {"k": [7]}}', '{"store": {"k": [{"role": "nobody"}]}}']
)
def test_a_file_that_is_no_store_is_refused_in_words(tmp_path: Any, text: str) -> None:
    path = tmp_path / "old.json"
    path.write_text(text)
    with Engine("sqlite://") as engine, pytest.raises(MessageError):
        import_chat_store(path, engine)


@looped
async def test_the_table_of_an_sql_store_is_taken_over(tmp_path: Any) -> None:
    stock = stock_queue(f"sqlite:///{tmp_path / 'old.db'}", "mine")
    await stock.add_messages("u1", said("a", "b", "c"))
    await stock.archive_oldest_messages("u1", 1)
    with Engine("sqlite://") as engine:
        for expected in (3, 0):
            assert import_chat_table(stock.async_database_uri, engine, table="mine") == {"u1": expected}
        assert LosslessChatStore(engine).get_messages("u1") == said("a", "b", "c")
        queue = LosslessAsyncChatStore(engine)
        assert [await queue.get_messages("u1", status) for status in (ARCHIVED, ACTIVE)] == [said("a"), said("b", "c")]
        await stock.archive_oldest_messages("u1", 1)
        await stock.add_message("u1", said("d")[0])
        assert import_chat_table(stock.async_database_uri, engine, table="mine") == {"u1": 1}
        assert [await queue.get_messages("u1", status) for status in (ARCHIVED, ACTIVE)] == [said("a", "b"), said("c", "d")]
        with pytest.raises(ConfigError, match="no table"):
            import_chat_table(stock.async_database_uri, engine)
        with pytest.raises(ConfigError, match="can't be read"):
            import_chat_table("postgresql://nobody:secret@127.0.0.1:1/none", engine)


def test_a_table_that_can_not_be_taken_over_is_refused_in_words(tmp_path: Any) -> None:
    absent, odd = tmp_path / "absent.db", create_engine(f"sqlite:///{tmp_path / 'odd.db'}")
    with odd.begin() as connection:
        connection.execute(text("CREATE TABLE chatstore (id INTEGER PRIMARY KEY, key TEXT, value JSON)"))
    with Engine("sqlite://") as engine:
        for url in (f"sqlite:///{absent}", "nonsense://nobody:secret@127.0.0.1/none", "mysql://nobody:secret@127.0.0.1/none"):
            with pytest.raises(ConfigError, match="there is no") as caught:
                import_chat_table(url, engine)
            assert "secret" not in str(caught.value)
        assert not absent.exists(), "looking makes no database"
        for value in ("{broken", "7", '{"role": "nobody"}'):
            with odd.begin() as connection:
                connection.execute(text("DELETE FROM chatstore"))
                connection.execute(text("INSERT INTO chatstore (key, value) VALUES ('u', :v)"), {"v": value})
            with pytest.raises(MessageError, match="message 0 of 'u'"):
                import_chat_table(odd, engine, table="chatstore")
        assert list(engine.threads()) == []
        path = tmp_path / "binary.json"
        path.write_bytes(b"\xff\xfe")
        with pytest.raises(MessageError, match="is no JSON"):
            import_chat_store(path, engine)
    odd.dispose()


def test_the_tables_of_the_sqlite_and_postgresql_stores_are_taken_over(tmp_path: Any, postgres_url: str) -> None:
    rows = [message.model_dump_json() for message in said("a", "b")]
    lite, server = create_engine(f"sqlite:///{tmp_path / 'old.db'}"), create_engine(postgres_url)
    with lite.begin() as connection:
        connection.execute(text("CREATE TABLE chatstore (id INTEGER PRIMARY KEY, key TEXT, value JSON)"))
        connection.execute(text("INSERT INTO chatstore (key, value) VALUES ('u', :v)"), [{"v": row} for row in rows])
    with server.begin() as connection:
        connection.execute(text("CREATE TABLE data_chatstore (id serial PRIMARY KEY, key varchar, value json[])"))
        statement = text("INSERT INTO data_chatstore (key, value) VALUES ('u', CAST(:v AS json[]))")
        connection.execute(statement, {"v": rows})
    with Engine("sqlite://") as engine, Engine("sqlite://") as other:
        assert import_chat_table(lite, engine, table="chatstore") == {"u": 2}
        assert import_chat_table(server, other, table="data_chatstore") == {"u": 2}
        assert LosslessChatStore(other).get_messages("u") == LosslessChatStore(engine).get_messages("u") == said("a", "b")
    lite.dispose()
    server.dispose()


def test_what_is_taken_is_looked_through_once_however_much_it_is() -> None:
    class Counted(list[MessageRef]):
        looks = 0

        def __iter__(self) -> Iterator[MessageRef]:
            self.looks += 1
            return super().__iter__()

    with Engine("sqlite://", load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": f"message {n}"} for n in range(50)])
        chosen = Counted()

        def choose(shown: Shown) -> Counted:
            chosen[:] = shown.refs[:40]
            return chosen

        assert len(take(thread, choose)) == 40
        assert thread.count() == 10
        assert chosen.looks <= 3
