"""Retention and the collection of garbage: what nothing leads to goes, and no lineage breaks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, insert, text

from lossless import Engine, Thread
from lossless.dag.heads import create_thread
from lossless.erasure.collecting import Garbage, remove_garbage
from lossless.erasure.retaining import expired
from lossless.errors import ConfigError
from lossless.store.erasures import removing
from lossless.store.keys import ThreadKey
from lossless.store.tables import METADATA


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with Engine(url, window=2_000, background=False, load_plugins=False) as opened:
        yield opened


def talk(thread: Thread, word: str, count: int = 30) -> None:
    said = [
        {"id": f"id-{n}", "role": "assistant" if n % 2 else "user", "content": f"{word} {n} " + "more words " * 12}
        for n in range(count)
    ]
    thread.append(said, compact=False)
    thread.compact(force=True)


def counts(engine: Engine) -> dict[str, int]:
    names = ("thread", "message", "blob", "node", "summary", "head_log", "snapshot", "search_doc")
    with engine.database.read() as connection:
        return {name: connection.execute(text(f"SELECT count(*) FROM lossless_{name}")).scalar() or 0 for name in names}


def test_nothing_is_collected_of_what_somebody_can_see(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread, "walrus")
    thread.snapshot("s")
    thread.undo()
    thread.branch(at="id-20", thread_id="b").append({"role": "user", "content": "on"})
    before, shown = counts(engine), thread.context().messages
    assert engine.collect_garbage(dry_run=True).total == 0
    assert engine.collect_garbage().total == 0
    assert counts(engine) == before
    assert thread.context().messages == shown
    assert thread.restore("s") is True
    assert engine.verify().problems == ()


def test_a_deleted_thread_is_collected_when_no_branch_needs_it(engine: Engine) -> None:
    talk(engine.thread("stays"), "penguin")
    before = counts(engine)
    talk(engine.thread("t"), "walrus")
    child = engine.thread("t").branch(at="id-20", thread_id="b")
    engine.delete_thread("t")
    assert engine.collect_garbage().threads == ()
    assert len(child.messages()) == 21
    engine.delete_thread("b")
    planned = engine.collect_garbage(dry_run=True)
    assert planned.threads == ("b", "t")
    done = engine.collect_garbage()
    assert (done.threads, done.rows) == (planned.threads, planned.rows)
    assert counts(engine) == before
    assert not engine.grep("walrus").items
    assert engine.verify().problems == ()
    engine.thread("t").append({"role": "user", "content": "new"})
    assert [m.seq for m in engine.thread("t").messages()] == [1]
    assert engine.verify().problems == ()


def test_what_others_say_too_stays(engine: Engine) -> None:
    for name in ("a", "b"):
        talk(engine.thread(name), "walrus")
    shown = engine.thread("b").context().messages
    engine.delete_thread("a")
    engine.collect_garbage()
    assert engine.thread("b").context().messages == shown
    assert len(engine.thread("b").messages()) == 30
    assert engine.verify().problems == ()


def test_erased_ids_stay_known(engine: Engine) -> None:
    talk(engine.thread("t"), "walrus")
    engine.erase("t", ["id-3"])
    engine.delete_thread("t")
    assert engine.collect_garbage().threads == ()


def test_retention_by_age_and_by_thread(engine: Engine) -> None:
    for name in ("a", "b", "c"):
        talk(engine.thread(name), name * 5)
    engine.thread("b").branch(at="id-10", thread_id="b2")
    assert engine.retain(older_than=timedelta(days=1), dry_run=True).threads == ()
    planned = engine.retain(["a", "b"], older_than=datetime.now(UTC) + timedelta(seconds=1), dry_run=True)
    assert planned.threads == ("a", "b")
    assert planned.kept == {"b": "b2"}
    assert planned.collected.threads == ("a",)
    assert sorted(each.id for each in engine.threads()) == ["a", "b", "b2", "c"]
    done = engine.retain(["a", "b"], older_than=timedelta(0))
    assert (done.threads, done.kept, done.collected.threads) == (planned.threads, planned.kept, planned.collected.threads)
    assert sorted(each.id for each in engine.threads()) == ["b2", "c"]
    assert len(engine.thread("b2").messages()) == 11
    assert engine.verify().problems == ()
    with pytest.raises(ConfigError):
        engine.retain()


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_line_of_a_thousand_branches_goes_as_a_whole(engine: Engine) -> None:
    lines = [(str(number), str(number - 1) if number else None) for number in range(1_200)]
    same = {"namespace": "default", "format": "openai/1", "part_of": None, "cut": 0, "created_at": 0}

    def job(connection: Connection) -> None:
        threads = METADATA.tables["lossless_thread"]
        connection.execute(insert(threads), [{**same, "thread_id": name, "parent": parent} for name, parent in lines])
        with removing(connection, "default", "collect", thread_id=None, who="", reason="", now=0):
            remove_garbage(connection, "default", Garbage(tuple(name for name, _parent in lines)), engine.plugins.formats)

    engine.database.write(job)
    assert counts(engine)["thread"] == 0


def test_a_collection_beside_appends_loses_nothing(engine: Engine) -> None:
    same = [{"role": "user", "content": f"the same in all threads {n % 7}"} for n in range(40)]
    ended = threading.Event()
    stored = {"n": 0}

    def append() -> None:
        while not ended.is_set():
            engine.thread("stays").append(same[stored["n"] % 40])
            stored["n"] += 1

    other = threading.Thread(target=append)
    other.start()
    for n in range(6):
        engine.thread(f"t{n}").append(same)
        engine.delete_thread(f"t{n}")
        assert f"t{n}" in engine.collect_garbage().threads
    ended.set()
    other.join(30)
    assert len(engine.thread("stays").messages()) == stored["n"]
    assert engine.verify().problems == ()


def test_a_thread_that_is_appended_to_while_retention_looks_stays(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        talk(engine.thread(name), name * 5)

    def found_and_then_appended_to(*given: Any) -> list[str]:
        found = expired(*given)
        engine.thread("a").append({"id": "late", "role": "user", "content": "I am back"})
        return found

    monkeypatch.setattr("lossless.removals.expired", found_and_then_appended_to)
    assert engine.retain(older_than=timedelta(0)).threads == ("b",)
    assert engine.thread("a").messages()[-1].id == "late"
    assert engine.verify().problems == ()


def test_the_parts_of_a_thread_go_with_it_and_not_before(engine: Engine) -> None:
    talk(engine.thread("t"), "walrus")
    key = ThreadKey(engine.namespace, "part")
    engine.database.write(lambda writing: create_thread(writing, key, engine.views, format="openai/1", now=1, part_of="t"))
    engine.thread("part").append({"role": "user", "content": "walrus of a graph within"})
    assert engine.retain(older_than=engine.threads().items[0].updated_at + timedelta(microseconds=1)).threads == ()
    engine.thread("t").append({"role": "user", "content": "go on"})
    assert engine.retain(older_than=engine.threads().items[0].updated_at).threads == ()
    assert engine.retain(["t"]).threads == ("part", "t")
    assert list(engine.grep("walrus")) == []
    assert engine.verify().problems == ()
