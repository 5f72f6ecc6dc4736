"""Chat message histories: what is added comes back, once, whatever else happens."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from lossless import Engine
from lossless.errors import ConfigError, MessageError, StoreOpenError
from lossless.messages.parts import Call, Result
from lossless_langchain import LosslessChatMessageHistory, history_factory
from lossless_langchain_cases import CASES, same


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("sqlite://") as engine:
        yield engine


def texts(messages: Any) -> list[str]:
    return [message.text for message in messages]


def test_every_message_comes_back_equal_after_reopening(url: str) -> None:
    given = list(CASES.values())
    with Engine(url) as engine:
        LosslessChatMessageHistory("s", engine).add_messages(given)
    with Engine(url) as engine:
        found = LosslessChatMessageHistory("s", engine).messages
        assert len(found) == len(given)
        assert [message for message, before in zip(found, given, strict=True) if not same(message, before)] == []
        assert engine.verify().ok


def test_of_an_erased_message_a_placeholder_of_its_role_is_left(url: str) -> None:
    with Engine(url) as engine:
        history = LosslessChatMessageHistory("s", engine)
        history.add_messages(list(CASES.values()))
        before = engine.thread("s").messages()
        engine.erase("s", [message.id for message in before], reason="asked for")
        found = history.messages
        types = {"user": "human", "assistant": "ai", "system": "system", "developer": "system", "tool": "tool"}
        assert [message.id for message in found] == [message.id for message in before]
        for stored, message in zip(before, found, strict=True):
            assert message.type == types[stored.role] or (message.type, stored.role) == ("function", "tool")
            calls = [call["id"] for call in getattr(message, "tool_calls", ())]
            assert calls == [part.id for part in stored.parts if isinstance(part, Call)]
            assert "was erased]" in message.text or calls
            if isinstance(message, ToolMessage):
                assert [message.tool_call_id] == [part.call_id for part in stored.parts if isinstance(part, Result)]
        assert engine.verify().ok


def test_every_form_of_constructor_reaches_the_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'h.db'}"
    asynchronous = f"sqlite+aiosqlite:///{tmp_path / 'h.db'}"
    with Engine(url) as engine:
        forms = [
            LosslessChatMessageHistory("s", url),
            LosslessChatMessageHistory("s", connection=url),
            LosslessChatMessageHistory(session_id="s", connection_string=url),
            LosslessChatMessageHistory("s", "message_store", connection=url),
            LosslessChatMessageHistory("s", "message-store.v2", connection=url),
            LosslessChatMessageHistory("s", table_name="t", connection=asynchronous, async_mode=True, engine_args={}),
            LosslessChatMessageHistory("s", engine),
            LosslessChatMessageHistory("s", engine=engine),
            LosslessChatMessageHistory("s", url=url),
            LosslessChatMessageHistory("s", create_engine(url)),
            LosslessChatMessageHistory("s", connection=create_async_engine(asynchronous)),
        ]
        for number, history in enumerate(forms):
            history.add_user_message(str(number))
        assert all(texts(history.messages) == [str(number) for number in range(len(forms))] for history in forms)


def test_a_url_in_the_environment_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLESS_URL", f"sqlite:///{tmp_path / 'e.db'}")
    LosslessChatMessageHistory("s").add_user_message("a")
    assert texts(LosslessChatMessageHistory("s").messages) == ["a"]
    assert (tmp_path / "e.db").exists()


def test_an_engine_of_sqlalchemy_in_memory_is_one_database() -> None:
    source = create_engine("sqlite://")
    LosslessChatMessageHistory("s", source).add_user_message("a")
    assert texts(LosslessChatMessageHistory("s", source).messages) == ["a"]
    assert LosslessChatMessageHistory("s", create_engine("sqlite://")).messages == []


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: LosslessChatMessageHistory(connection="sqlite://"), ConfigError, "no session id"),
        (lambda: LosslessChatMessageHistory("", "sqlite://"), ConfigError, "no session id"),
        (lambda: LosslessChatMessageHistory("s", "no url:secret"), StoreOpenError, "can't be read"),
        (lambda: LosslessChatMessageHistory("s", connection=7), ConfigError, "can't be a int"),
        (lambda: LosslessChatMessageHistory("s", "memory.db"), StoreOpenError, "can't be read"),
        (lambda: LosslessChatMessageHistory("s", "data/memory"), StoreOpenError, "can't be read"),
        (lambda: LosslessChatMessageHistory("s", "sqlite://", url="sqlite://"), ConfigError, "several connections"),
        (lambda: LosslessChatMessageHistory("s", "sqlite://", tabel_name="x"), TypeError, "tabel_name"),
        (lambda: history_factory(object()), ConfigError, "can't be a object"),
    ],
)
def test_bad_arguments_are_named(make: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        make()
    assert "secret" not in str(caught.value)


def test_sync_and_async_work_on_one_object(engine: Engine) -> None:
    history = LosslessChatMessageHistory("s", engine)

    async def use() -> list[str]:
        await history.aadd_messages([HumanMessage("a")])
        history.add_ai_message("b")
        found = texts(await history.aget_messages())
        await history.aclear()
        return found

    assert asyncio.run(use()) == ["a", "b"]
    assert history.messages == []
    assert texts(history.thread.messages(deleted=True)) == ["a", "b"]


def test_what_is_read_is_a_copy(engine: Engine) -> None:
    for history in (LosslessChatMessageHistory("s", engine), history_factory(engine)("p")):
        history.add_messages([HumanMessage("a", additional_kwargs={"x": [1]})])
        shown = history.messages
        shown[0].content = "changed"
        shown[0].additional_kwargs["x"].append(2)
        shown.append(AIMessage("more"))
        assert history.messages == [HumanMessage("a", additional_kwargs={"x": [1]})]


def test_known_ids_add_nothing_and_other_content_revises(engine: Engine) -> None:
    history = LosslessChatMessageHistory("s", engine)
    history.add_messages([HumanMessage("a", id="1"), AIMessage("b", id="2")])
    history.add_messages([HumanMessage("a", id="1")])
    history.add_messages([AIMessage("B", id="2"), HumanMessage("c")])
    assert history.messages == [HumanMessage("a", id="1"), AIMessage("B", id="2"), HumanMessage("c")]


def test_an_echoed_beginning_adds_nothing_and_what_is_said_twice_is_kept_twice(engine: Engine) -> None:
    history = LosslessChatMessageHistory("s", engine)
    history.add_messages([HumanMessage("a"), AIMessage("b")])
    history.add_messages([*history.messages, HumanMessage("c"), AIMessage("d")])
    assert texts(history.messages) == ["a", "b", "c", "d"]
    history.add_messages([HumanMessage("c"), AIMessage("d")])
    history.add_messages([HumanMessage("a"), AIMessage("b"), HumanMessage("x")])
    assert texts(history.messages) == ["a", "b", "c", "d", "c", "d", "a", "b", "x"]
    other = LosslessChatMessageHistory("other", engine)
    other.add_user_message("a")
    other.add_messages([HumanMessage("a"), AIMessage("b"), HumanMessage("c")])
    assert texts(other.messages) == ["a", "a", "b", "c"]


def test_an_echo_of_a_compacted_context_adds_nothing() -> None:
    with Engine("sqlite://", window=2_000, background=False) as engine:
        history = LosslessChatMessageHistory("s", engine)
        for number in range(60):
            history.add_messages([HumanMessage(f"Question {number} " + "word " * 30), AIMessage("Answer " + "word " * 20)])
        shown = history.messages
        assert len(shown) < 120
        history.add_messages([*shown, HumanMessage("the end")])
        assert history.thread.count() == 121


def test_clearing_changes_the_view_and_the_same_text_shows_again(engine: Engine) -> None:
    history = LosslessChatMessageHistory("s", engine)
    history.clear()
    assert list(engine.threads()) == []
    history.add_messages([HumanMessage("a", id="1"), AIMessage("b")])
    history.clear()
    assert history.messages == []
    history.add_messages([HumanMessage("a", id="1"), AIMessage("b")])
    assert texts(history.messages) == ["a", "b"]
    assert len(history.thread.messages(deleted=True)) == 4
    history.messages = [SystemMessage("s")]
    assert texts(history.messages) == ["s"]


def test_a_list_with_a_non_message_stores_nothing(engine: Engine) -> None:
    history = LosslessChatMessageHistory("s", engine)
    bad: Any = [HumanMessage("a"), "b"]
    with pytest.raises(MessageError, match="message 1: a str is no message") as caught:
        history.add_messages(bad)
    assert caught.value.index == 1
    assert history.messages == []
    history.add_messages([])
    assert list(engine.threads()) == []


def test_a_factory_pins_the_view_until_its_object_adds(engine: Engine) -> None:
    get = history_factory(engine)
    first, second = get("s"), get("s")
    assert first is not second
    assert first.messages == []
    second.add_messages([HumanMessage("b"), AIMessage("c")])
    assert first.messages == []
    assert texts(get("s").messages) == ["b", "c"]
    first.add_messages([HumanMessage("d")])
    assert texts(first.messages) == ["b", "c", "d"]


def test_a_window_or_a_limit_bounds_what_is_shown() -> None:
    turns: list[BaseMessage] = [HumanMessage(f"Fact {n}. " + "word " * 300) for n in range(60)]
    with Engine("sqlite://", window=4_000, background=False) as engine:
        bounded = LosslessChatMessageHistory("s", engine)
        for turn in turns:
            bounded.add_messages([turn])
        assert len(bounded.messages) < 60
        assert bounded.messages[-1].text == turns[-1].text
        for n in range(60):
            found = engine.thread("s").grep(f"Fact {n}.").items
            assert len(found) == 1
            (message,) = engine.thread("s").expand(found[0].message_id)
            assert message.text == turns[n].text
    with Engine("sqlite://") as engine:
        limited = LosslessChatMessageHistory("s", engine, max_token_limit=2_000)
        limited.add_messages(turns)
        assert len(limited.messages) < 60
        assert len(LosslessChatMessageHistory("s", engine).messages) == 60


def test_copies_and_pickles_lead_to_the_same_session(tmp_path: Path) -> None:
    with Engine(f"sqlite:///{tmp_path / 'h.db'}") as engine:
        history = LosslessChatMessageHistory("s", engine)
        history.add_user_message("a")
        for made in (copy.copy(history), copy.deepcopy(history), pickle.loads(pickle.dumps(history))):
            assert texts(made.messages) == ["a"]
            assert made.engine is engine


def test_concurrent_callers_lose_and_repeat_nothing(url: str) -> None:
    with Engine(url) as engine:

        def say(name: int) -> None:
            history = LosslessChatMessageHistory("s", engine)
            for number in range(10):
                history.add_messages([HumanMessage(f"{name}-{number}"), AIMessage(f"re {name}-{number}")])

        workers = [threading.Thread(target=say, args=(name,)) for name in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        found = texts(LosslessChatMessageHistory("s", engine).messages)
        assert sorted(found[::2]) == sorted(f"{name}-{number}" for name in range(6) for number in range(10))
        assert found[1::2] == [f"re {text}" for text in found[::2]]
        assert engine.verify().ok


def test_a_history_reads_as_a_transcript(engine: Engine) -> None:
    history = LosslessChatMessageHistory("s", engine)
    history.add_messages([SystemMessage("system"), HumanMessage("human 1"), AIMessage("ai"), HumanMessage("human 2")])
    assert str(history) == "System: system\nHuman: human 1\nAI: ai\nHuman: human 2"
    assert repr(history) == "LosslessChatMessageHistory('s')"
