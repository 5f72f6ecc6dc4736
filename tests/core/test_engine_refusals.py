"""Bad input: a clear error with a hint, and nothing that was stored is lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lossless import Budget, Engine, LosslessError, OpenAISummarizer, Thread
from lossless.errors import (
    ClosedError,
    ConfigError,
    CorruptError,
    MessageError,
    NotFoundError,
    QueryError,
    StoreBusyError,
    StoreOpenError,
)
from lossless.policies import SourceFirst
from lossless_children import message, opened


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with opened(f"sqlite:///{tmp_path / 'a.db'}", window=8_000) as engine:
        yield engine


@pytest.fixture
def thread(engine: Engine) -> Thread:
    thread = engine.thread("t")
    thread.append([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "good day"}])
    return thread


# Opening


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://localhost/a", "mysql"),
        ("redis://localhost", "redis"),
        ("a.db", "URL"),
        ("", None),
        ("sqlite:////nowhere/at/all/a.db", "/nowhere/at/all"),
        ("://", "URL"),
        ("sqlite://agent.db", "SQLite"),
        ("sqlite://me:secret@host/a.db", "SQLite"),
        ("sqlite:///a.db?mode=ro", "SQLite"),
        ("sqlite:///\0.db", None),
    ],
)
def test_a_url_that_leads_nowhere_is_refused(url: str, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if not url:
        monkeypatch.setenv("LOSSLESS_URL", "nothing://at all")
    with pytest.raises(StoreOpenError) as caught:
        opened(url)
    assert caught.value.hint
    assert said is None or said in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_password_never_shows(tmp_path: Path) -> None:
    for url in ("mysql://me:hunter2@host/a", "postgresql+nodriver://me:hunter2@host/a", "sqlite+wrong://me:hunter2@/x"):
        with pytest.raises(LosslessError) as caught:
            opened(url)
        assert "hunter2" not in f"{caught.value!r} {caught.value} {caught.value.hint}"


def test_a_directory_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreOpenError, match="directory"):
        opened(f"sqlite:///{tmp_path}")


def test_an_absent_database_is_not_made_where_it_must_not_be(tmp_path: Path) -> None:
    with pytest.raises(StoreOpenError, match="no database"):
        opened(f"sqlite:///{tmp_path / 'absent.db'}", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_can_not_be_written_is_refused(tmp_path: Path) -> None:
    readonly = Path("/proc/self/fd") if not os.access("/proc/version", os.W_OK) else Path("/sys/kernel")
    with pytest.raises(StoreOpenError) as caught:
        opened(f"sqlite:///{readonly / 'a.db'}")
    assert caught.value.hint


def test_a_database_that_another_writer_holds_is_busy_and_that_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lossless.store.sqlite.BUSY_TIMEOUT_SECONDS", 0.2)
    path = tmp_path / "a.db"
    with opened(f"sqlite:///{path}") as engine:
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "before"})
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError) as caught:
            thread.append({"role": "user", "content": "refused"})
        assert caught.value.retryable
        assert [found.text for found in thread.messages()] == ["before"]
        holder.execute("ROLLBACK")
        holder.close()
        thread.append({"role": "user", "content": "after"})
        assert [found.text for found in thread.messages()] == ["before", "after"]
        assert engine.verify().ok


# Settings


@pytest.mark.parametrize(
    "options",
    [
        {"durability": "most"},
        {"policy": "nothing"},
        {"policy": object()},
        {"policy": SourceFirst},
        {"summarizer": "gpt-5.2"},
        {"summarizer": OpenAISummarizer},
        {"model": "model-of-tomorrow"},
        {"window": 0},
        {"window": -1},
        {"window": 9_000, "budget": Budget(window=9_000)},
        {"plugins": [object]},
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        opened(f"sqlite:///{tmp_path / 'a.db'}", **options)
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_context_without_a_window_is_refused_and_storing_is_not(tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path / 'a.db'}") as engine:
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "hello"})
        for ask in (thread.context, thread.compact):
            with pytest.raises(ConfigError) as caught:
                ask()
            assert "window" in caught.value.hint
        assert len(thread.grep("hello")) == 1


@pytest.mark.parametrize("options", [{"profile": "parrot"}, {"format": "parrot"}, {"format": "openai/99"}])
def test_an_unknown_profile_or_format_is_refused(thread: Thread, options: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        thread.context(**options)  # type: ignore[arg-type]
    assert caught.value.hint


# Names


NAMES = ["", "a\0b", "\ud800", "x" * 513, 5, None, b"t"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_no_database_keeps_is_refused(engine: Engine, name: Any, tmp_path: Path) -> None:
    with pytest.raises(LosslessError) as caught:
        engine.thread(name)
    assert caught.value.hint
    with pytest.raises(LosslessError):
        opened(f"sqlite:///{tmp_path / 'b.db'}", namespace=name)
    if name is not None:
        with pytest.raises(MessageError):
            engine.thread("t").append({"role": "user", "content": "hello", "id": name})
    assert engine.threads().items == []


@pytest.mark.parametrize("name", ["a/b", "..", "'; DROP TABLE x; --", "名前", " ", "%", "a\nb", "x" * 512])
def test_any_other_name_is_fine(engine: Engine, name: str) -> None:
    thread = engine.thread(name)
    thread.append({"role": "user", "content": "hello", "id": name})
    assert [found.id for found in thread.messages()] == [name]
    assert [listed.id for listed in engine.threads()] == [name]
    assert thread.expand(name)[0].text == "hello"
    assert len(thread.grep("hello")) == 1


# Messages


def cyclic() -> dict[str, Any]:
    payload: dict[str, Any] = {"role": "user", "content": "x"}
    payload["self"] = payload
    return payload


def deep() -> dict[str, Any]:
    value: Any = "x"
    for _ in range(5_000):
        value = [value]
    return {"role": "user", "content": "x", "deep": value}


BAD = [
    {},
    {"role": "user"},
    {"content": "no role"},
    {"role": "wizard", "content": "x"},
    {"role": None, "content": "x"},
    {"role": ["user"], "content": "x"},
    {"role": "user", "content": 5},
    {"role": "user", "content": [5]},
    {"role": "user", "content": "x", "when": object()},
    {"role": "user", "content": "x", "call": lambda: None},
    cyclic(),
    deep(),
    5,
    None,
    "hello",
    b"hello",
    ["hello"],
    [("role", "user")],
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: type(bad).__name__)
def test_what_is_no_message_is_refused_with_everything_beside_it(thread: Thread, bad: Any) -> None:
    good = {"role": "user", "content": "good"}
    for batch in (bad, [good, bad]) if not isinstance(bad, list) else (bad,):
        with pytest.raises(MessageError) as caught:
            thread.append(batch)
        assert caught.value.hint
    if not isinstance(bad, list):
        assert caught.value.index == 1
    assert [found.text for found in thread.messages()] == ["hello", "good day"]


@pytest.mark.parametrize("nothing", [[], (), iter(())])
def test_appending_nothing_stores_nothing(engine: Engine, nothing: Any) -> None:
    assert engine.thread("new").append(nothing) == []
    assert engine.thread("new").sync(nothing) == []
    assert engine.threads().items == []


def test_an_unknown_format_is_refused(thread: Thread) -> None:
    with pytest.raises(MessageError, match="cobol"):
        thread.append({"role": "user", "content": "x"}, format="cobol")


def test_a_result_without_its_call_is_stored_and_not_shown(thread: Thread) -> None:
    thread.append({"role": "tool", "tool_call_id": "never", "content": "orphan-text"})
    assert thread.messages()[-1].text == "orphan-text"
    context = thread.context()
    assert all(shown.get("role") != "tool" for shown in context.messages)
    assert any(repair.kind == "orphan_result" for repair in context.repairs)


@pytest.mark.parametrize(
    "content",
    ["", " ", "\0", "\ud800", "\udfff" * 10, "<|endoftext|>", "x" * 3_000_000, "\u202eevil", "\n" * 100_000, "🚀" * 10_000],
    ids=lambda content: repr(content[:4]),
)
def test_any_text_is_stored_counted_searched_and_shown(engine: Engine, content: str) -> None:
    thread = engine.thread("odd")
    thread.append([{"role": "user", "content": content}, {"role": "user", "content": "next"}])
    assert thread.messages()[0].payload["content"] == content
    assert thread.context().status in ("ok", "exhausted")
    assert engine.verify().ok
    if content.strip():
        assert len(thread.grep(content[:3])) >= 1


# Asking for what is not there


def test_what_is_not_there_is_named(engine: Engine, thread: Thread) -> None:
    for ask in (
        lambda: thread.expand("m_99"),
        lambda: thread.describe("sum_0000000000000000"),
        lambda: thread.delete(["m_1", "m_99"]),
        lambda: engine.verify("absent"),
        lambda: engine.thread("absent").compact(),
        lambda: engine.thread("absent").delete("m_1"),
    ):
        with pytest.raises(NotFoundError) as caught:
            ask()
        assert caught.value.hint
    assert len(thread.messages()) == 2


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_what_no_name_can_hold_is_refused_where_it_is_asked_for(url: str, name: str) -> None:
    with opened(url, window=8_000) as engine:
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "hello"})
        for ask in (
            lambda: thread.expand(name),
            lambda: thread.describe(name),
            lambda: thread.restore(name),
            lambda: thread.branch(name),
            lambda: thread.delete(name),
            lambda: engine.verify(name),
            lambda: engine.erase("t", [name], reason="asked for"),
            lambda: engine.delete_thread(name),
        ):
            with pytest.raises((MessageError, NotFoundError)) as caught:
                ask()
            assert caught.value.hint
        assert list(thread.grep("hello", tool=name)) == []
        assert [message.text for message in thread.messages()] == ["hello"]
        assert engine.verify().ok


@pytest.mark.parametrize("limit", [-(10**30), -2, 0, 1, 2**63, 10**30])
def test_any_number_of_entries_can_be_asked_for(url: str, limit: int) -> None:
    with opened(url, window=8_000) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": "hello"}, {"role": "user", "content": "hello again"}])
        thread.delete("m_1")
        assert len(engine.threads(limit)) == len(thread.grep("again", limit=limit)) == 1
        assert len(thread.views(limit)) == min(max(0, limit), len(thread.views()))
        assert engine.removals(limit) == []


def test_looking_creates_nothing(engine: Engine) -> None:
    absent = engine.thread("absent")
    assert absent.messages() == []
    assert absent.context().messages == []
    assert absent.views() == []
    assert absent.undo() is False
    assert list(absent.grep("x")) == []
    assert absent.wait(1)
    assert engine.threads().items == []


@pytest.mark.parametrize("start", [None, -(10**30), 0, 1, 2, 3, 10**30])
@pytest.mark.parametrize("stop", [None, -(10**30), 0, 1, 2, 3, 10**30])
def test_any_range_of_messages_can_be_asked_for(thread: Thread, start: int | None, stop: int | None) -> None:
    every = thread.messages()
    low, high = max(1, start or 1), 3 if stop is None else stop
    assert thread.messages(start, stop) == [found for found in every if low <= found.seq < high]


@pytest.mark.parametrize(("offset", "limit"), [(0, None), (-5, 10**30), (10**30, None), (1, 0), (0, -1)])
def test_any_page_of_an_expansion_can_be_asked_for(thread: Thread, offset: int, limit: int | None) -> None:
    assert len(thread.expand("m_1", offset=offset, limit=limit)) <= 1


@pytest.mark.parametrize("cursor", ["x", "W10", 5])
def test_a_foreign_cursor_of_threads_is_refused(engine: Engine, cursor: Any) -> None:
    with pytest.raises(QueryError):
        engine.threads(cursor=cursor)


# Closed, forked


def test_a_closed_engine_says_so(tmp_path: Path) -> None:
    engine = opened(f"sqlite:///{tmp_path / 'a.db'}", window=8_000)
    thread = engine.thread("t")
    thread.append({"role": "user", "content": "hello"})
    engine.close()
    engine.close()
    for ask in (
        lambda: thread.append({"role": "user", "content": "late"}),
        thread.messages,
        thread.context,
        thread.compact,
        lambda: thread.grep("x"),
        engine.threads,
        engine.verify,
    ):
        with pytest.raises(ClosedError) as caught:
            ask()
        assert caught.value.hint


def test_an_engine_in_memory_goes_with_its_closing() -> None:
    engine = opened("sqlite://", window=8_000)
    engine.thread("t").append({"role": "user", "content": "hello"})
    engine.close()
    with pytest.raises(ClosedError):
        engine.thread("t").messages()


def test_a_forked_child_goes_on_and_harms_nothing(tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path / 'a.db'}", window=2_000) as engine:
        stop = threading.Event()

        def keep_writing() -> None:
            number = 0
            while not stop.wait(0.001):
                engine.thread("busy").append(message("parent", number))
                number += 1

        writer = threading.Thread(target=keep_writing)
        writer.start()
        children = []
        for number in range(4):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                try:
                    for each in range(5):
                        engine.thread(f"child {number}").append(message("child", each))
                        engine.thread(f"child {number}").context()
                    engine.close()
                finally:
                    os._exit(0 if len(opened(engine.url).thread(f"child {number}").messages()) == 5 else 1)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        stop.set()
        writer.join()
        assert codes == [0, 0, 0, 0]
        assert engine.verify().ok
        engine.thread("busy").append(message("parent", 0))


# Damage


def damage(path: Path, statement: str, *values: object) -> None:
    """Change what must not be changed, behind the triggers' back."""
    with sqlite3.connect(path, isolation_level=None) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _sql in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        assert connection.execute(statement, values).rowcount > 0
        for _name, sql in triggers:
            connection.execute(sql)
    connection.close()


MASSAGED = """
    UPDATE lossless_blob SET data = CAST(replace(CAST(data AS TEXT), 'bad message 3', 'bad massage 3') AS BLOB)
    WHERE CAST(data AS TEXT) LIKE '%bad message 3%'
"""


@pytest.fixture
def damaged(tmp_path: Path) -> tuple[Path, str]:
    path = tmp_path / "a.db"
    with opened(f"sqlite:///{path}", window=8_000) as engine:
        for name in ("good", "bad"):
            engine.thread(name).append([{"role": "user", "content": f"{name} message {n}"} for n in range(5)])
    return path, f"sqlite:///{path}"


def test_a_changed_payload_is_named_and_never_given_out(damaged: tuple[Path, str]) -> None:
    path, url = damaged
    damage(path, MASSAGED)
    with opened(url, window=8_000) as engine:
        bad = engine.thread("bad")
        report = engine.verify()
        assert not report.ok
        assert any("m_4" in problem and "bad" in problem for problem in report.problems)
        for ask in (bad.messages, bad.context, lambda: bad.expand("m_4"), lambda: bad.grep("massage")):
            with pytest.raises(CorruptError) as caught:
                ask()
            assert "m_4" in caught.value.message
        assert [found.text for found in bad.expand("m_3")] == ["bad message 2"]
        good = engine.thread("good")
        assert engine.verify("good").ok
        assert len(good.messages()) == len(good.context().messages) == 5
        bad.append({"role": "user", "content": "life goes on"})
        assert bad.expand("m_6")[0].text == "life goes on"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE lossless_message SET role = 'assistant' WHERE thread_id = 'bad' AND seq = 2", "m_2"),
        ("UPDATE lossless_message SET created_at = created_at - 1 WHERE thread_id = 'bad' AND seq = 2", "m_2"),
        ("UPDATE lossless_message SET id = 'x' WHERE thread_id = 'bad' AND seq = 2", "x"),
        ("UPDATE lossless_message SET total_tokens = 9 WHERE thread_id = 'bad' AND seq = 2", "m_2"),
        ("UPDATE lossless_message SET tokens = 9000 WHERE thread_id = 'bad' AND seq = 2", "m_2"),
        ("UPDATE lossless_message SET salt = zeroblob(16) WHERE thread_id = 'bad' AND seq = 2", "m_2"),
        ("DELETE FROM lossless_message WHERE thread_id = 'bad' AND seq = 2", "seq 2"),
        ("DELETE FROM lossless_message WHERE thread_id = 'bad' AND seq = 5", "head"),
        ("UPDATE lossless_head SET next_seq = 9 WHERE thread_id = 'bad'", "head"),
        ("UPDATE lossless_head SET chain = zeroblob(32) WHERE thread_id = 'bad'", "head"),
        (
            "UPDATE lossless_head SET view = (SELECT digest FROM lossless_node LIMIT 1), generation = 7 WHERE thread_id = 'bad'",
            "log",
        ),
        ("DELETE FROM lossless_search_doc WHERE thread_id = 'bad' AND seq = 3", "m_3"),
        ("DELETE FROM lossless_blob WHERE CAST(data AS TEXT) LIKE '%bad message 1%'", "m_2"),
        ('UPDATE lossless_node SET data = CAST(\'{"leaf":[["tail",3,0]]}\' AS BLOB)', "view"),
    ],
)
def test_any_change_behind_the_stores_back_is_found(damaged: tuple[Path, str], statement: str, said: str) -> None:
    path, url = damaged
    damage(path, statement)
    with opened(url, window=8_000) as engine:
        report = engine.verify()
        assert not report.ok
        assert any(said in problem for problem in report.problems), report.problems


def test_an_append_does_not_fail_because_a_compaction_does(damaged: tuple[Path, str]) -> None:
    path, url = damaged
    damage(path, MASSAGED)
    with opened(url, window=400, background=False) as engine:
        thread = engine.thread("bad")
        for number in range(40):
            assert len(thread.append({"role": "user", "content": f"number {number} " + "and some words " * 10})) == 1
        assert [found.seq for found in thread.expand("m_45")] == [45]
