"""Deleting a thread: it is gone for whoever looks, and branches of it live on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lossless import Engine, Thread
from lossless.errors import NotFoundError


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with Engine(url, window=2_000, background=False, load_plugins=False) as opened:
        yield opened


def talk(thread: Thread, word: str, count: int = 40) -> None:
    said = [
        {"id": f"id-{n}", "role": "assistant" if n % 2 else "user", "content": f"{word} {n} " + "more words " * 12}
        for n in range(count)
    ]
    thread.append(said, compact=False)
    thread.compact(force=True)


def test_a_deleted_thread_is_gone_from_lists_views_and_search(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread, "walrus")
    thread.snapshot("s")
    summary = next(item.id for item in thread.context().items if item.kind == "summary")
    engine.delete_thread("t")
    assert [each.id for each in engine.threads()] == []
    assert thread.messages() == []
    assert thread.messages(deleted=True) == []
    assert thread.context().messages == []
    assert thread.snapshots() == []
    for mode in ("exact", "words", "regex"):
        assert not engine.grep("walrus", mode=mode).items  # type: ignore[arg-type]
        assert not thread.grep("walrus", mode=mode).items  # type: ignore[arg-type]
    for id in ("id-3", summary, "s"):
        with pytest.raises(NotFoundError):
            thread.expand(id)
        with pytest.raises(NotFoundError):
            thread.describe(id)
    with pytest.raises(NotFoundError):
        engine.delete_thread("t")
    with pytest.raises(NotFoundError):
        thread.branch()
    assert engine.verify().problems == ()
    assert [(removal.kind, removal.thread_id, removal.rows) for removal in engine.removals()] == [("delete", "t", 40)]


def test_branches_of_a_deleted_thread_live_on(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread, "walrus")
    branch = thread.branch(at="id-30", thread_id="b")
    before = branch.context().messages
    engine.delete_thread("t")
    assert branch.context().messages == before
    assert len(branch.messages()) == 31
    assert branch.grep("walrus 7 ").items
    branch.append({"role": "user", "content": "and on"})
    assert engine.verify().problems == ()


def test_an_append_begins_a_deleted_thread_again(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread, "walrus")
    thread.snapshot("s")
    engine.delete_thread("t")
    refs = thread.append([{"id": "id-3", "role": "user", "content": "penguin"}, {"role": "assistant", "content": "yes?"}])
    assert [ref.seq for ref in refs] == [41, 42]
    assert [m.text for m in thread.messages(deleted=True)] == ["penguin", "yes?"]
    assert [m["content"] for m in thread.context().messages] == ["penguin", "yes?"]
    assert not engine.grep("walrus").items
    assert not thread.grep("walrus", mode="words").items
    assert [hit.message_id for hit in engine.grep("penguin")] == ["id-3"]
    assert thread.expand("id-3")[0].text == "penguin"
    with pytest.raises(NotFoundError):
        thread.expand("id-5")
    assert thread.undo() is False
    assert [(each.id, each.messages) for each in engine.threads()] == [("t", 2)]
    thread.snapshot("s")
    child = thread.branch(thread_id="child")
    assert [m.text for m in child.messages()] == ["penguin", "yes?"]
    assert not child.grep("walrus").items
    talk(thread, "ostrich")
    assert thread.sync([m.payload for m in thread.messages()]) == []
    assert engine.verify().problems == ()
    engine.delete_thread("t")
    assert [m.text for m in child.messages()] == ["penguin", "yes?"]
    assert engine.verify().problems == ()


def test_a_deleted_thread_can_be_erased(engine: Engine) -> None:
    talk(engine.thread("t"), "walrus")
    branch = engine.thread("t").branch(at="id-20", thread_id="b")
    engine.delete_thread("t")
    assert len(engine.erase("t", reason="for good")) == 40
    assert all(m.erased for m in branch.messages())
    assert engine.verify().problems == ()


def test_another_engine_sees_that_it_is_gone(url: str, engine: Engine) -> None:
    talk(engine.thread("t"), "walrus")
    with Engine(url, window=2_000, background=False, load_plugins=False) as other:
        assert other.thread("t").grep("walrus").items
        engine.delete_thread("t")
        engine.thread("t").append({"id": "id-1", "role": "user", "content": "new"})
        assert not other.thread("t").grep("walrus").items
        assert [m.text for m in other.thread("t").messages()] == ["new"]
        other.thread("t").append({"id": "id-2", "role": "user", "content": "newer"})
        assert [m.text for m in engine.thread("t").messages()] == ["new", "newer"]
    assert engine.verify().problems == ()


@pytest.mark.parametrize("collected", [False, True])
@pytest.mark.parametrize("branched", [False, True])
def test_an_engine_that_knew_a_thread_from_before_goes_on_with_what_it_is_now(
    url: str, engine: Engine, branched: bool, collected: bool
) -> None:
    talk(engine.thread("p"), "walrus", 6)
    if branched:
        engine.thread("p").branch(thread_id="t")
    engine.thread("t").append({"role": "user", "content": "before"})
    with Engine(url, window=2_000, background=False, load_plugins=False) as other:
        assert other.thread("t").messages()
        engine.delete_thread("t")
        assert engine.thread("t").messages() == []
        if collected:
            assert other.collect_garbage().threads == ("t",)
        assert engine.thread("t").append({"role": "user", "content": "begun again"})
        for each in (other, engine):
            assert [m.text for m in each.thread("t").messages()] == ["begun again"]
            assert each.thread("t").messages(deleted=True) == each.thread("t").messages()
            assert not each.thread("t").grep("walrus").items
        assert other.thread("t").append({"role": "user", "content": "and on"})
        assert [m.text for m in engine.thread("t").messages(deleted=True)] == ["begun again", "and on"]
    assert engine.verify().problems == ()


def test_the_first_read_after_a_thread_was_begun_again_elsewhere_shows_nothing_from_before(url: str, engine: Engine) -> None:
    talk(engine.thread("t"), "walrus", 6)
    with Engine(url, window=2_000, background=False, load_plugins=False) as other:
        assert other.thread("t").expand("id-3")
        engine.delete_thread("t")
        engine.thread("t").append({"role": "user", "content": "begun again"})
        with pytest.raises(NotFoundError):
            other.thread("t").expand("id-3")
        engine.delete_thread("t")
        engine.thread("t").append({"role": "user", "content": "and again"})
        assert [m.text for m in other.thread("t").messages(deleted=True)] == ["and again"]


def test_a_thread_without_messages_can_be_deleted(engine: Engine) -> None:
    engine.thread("t").snapshot("empty")
    engine.delete_thread("t")
    assert [each.id for each in engine.threads()] == []
    engine.thread("t").append({"role": "user", "content": "hello"})
    assert [m.seq for m in engine.thread("t").messages()] == [1]
    assert engine.verify().problems == ()
