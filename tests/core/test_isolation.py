"""Tenants: every statement on their tables is bound to one namespace, and nothing of another one can be reached."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lossless import Engine
from lossless.errors import LosslessError, NotFoundError
from lossless_listening import Listener, unscoped

NAMESPACE = "tenant-of-the-test"


def talk(engine: Engine, thread_id: str, word: str, count: int = 40) -> None:
    said = [
        {"id": f"id-{n}", "role": "assistant" if n % 2 else "user", "content": f"{word} {n} " + "more words " * 12}
        for n in range(count)
    ]
    engine.thread(thread_id).append(said)


def use_everything(engine: Engine) -> None:
    """Call what an engine and its threads offer, by the public names.

    But for what looks after the database as a whole: ``verify``, ``doctor`` and ``purge`` hold the index against its entries, and
    write tables anew, for all tenants at once.
    """
    thread = engine.thread("t")
    talk(engine, "t", "walrus")
    thread.append({"role": "user", "content": "no id", "name": "eve"})
    thread.append({"id": "id-3", "role": "assistant", "content": "another content"})
    thread.sync([*[m.payload for m in thread.messages()][-10:], {"role": "user", "content": "more"}])
    thread.compact(force=True)
    thread.snapshot("s", tags=["x"])
    summary = next(item.id for item in thread.context().items if item.kind == "summary")
    for id in (summary, "id-5", "s"):
        thread.describe(id)
    thread.expand(summary, sources_only=True)
    thread.delete(["id-30"])
    thread.restore("id-30")
    thread.undo()
    thread.restore("s")
    thread.views()
    thread.snapshots()
    thread.messages(deleted=True)
    thread.context(profile="anthropic", format="anthropic")
    thread.wait(10)
    branch = thread.branch(at="id-20", thread_id="b")
    talk(engine, "b", "penguin")
    branch.compact(force=True)
    for mode in ("exact", "words", "regex"):
        engine.grep("walrus 1", mode=mode, limit=3)  # type: ignore[arg-type]
        branch.grep("more", mode=mode, role="user", limit=3)  # type: ignore[arg-type]
    engine.threads(limit=1)
    engine.erase("b", ["id-4"], purge=False)
    engine.tombstones("t")
    engine.removals()
    engine.delete_thread("b")
    engine.collect_garbage(dry_run=True)
    engine.collect_garbage()
    engine.thread("b").append({"role": "user", "content": "again"})
    engine.retain(["b"], older_than=timedelta(0))


def test_every_statement_on_a_tenants_table_is_bound_to_its_namespace(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = Listener().install(monkeypatch)
    with Engine(url, namespace="somebody else", window=2_000, background=False, load_plugins=False) as other:
        talk(other, "t", "walrus")
    with Engine(url, namespace=NAMESPACE, window=2_000, background=False, load_plugins=False) as engine, listener.listen():
        use_everything(engine)
    assert len(listener.heard) > 1_000
    problems = {problem for sql, values in listener.heard for problem in unscoped(sql, values, NAMESPACE)}
    assert sorted(problems) == []


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT text FROM lossless_summary WHERE id = ?", ("sum_1",)),
        ("SELECT m.id FROM lossless_message m JOIN lossless_blob b ON b.digest = m.digest WHERE m.namespace = ?", (NAMESPACE,)),
        ("SELECT id FROM lossless_message WHERE namespace = ?", ("somebody else",)),
        ("DELETE FROM lossless_head WHERE thread_id = %(t)s", {"t": "t"}),
        ("INSERT INTO lossless_node (namespace, digest, data) VALUES (?, ?, ?)", ("somebody else", b"", b"")),
    ],
)
def test_the_listener_hears_what_is_not_bound(sql: str, values: Any) -> None:
    assert unscoped(sql, values, NAMESPACE)


def test_what_is_out_of_reach_is_denied_alike(url: str) -> None:
    with Engine(url, namespace="one", window=2_000, background=False, load_plugins=False) as one:
        talk(one, "t", "walrus")
        one.thread("t").compact(force=True)
        one.thread("t").snapshot("s")
        one.thread("u").append({"id": "elsewhere", "role": "user", "content": "walrus of another thread"})
        summary = next(item.id for item in one.thread("t").context().items if item.kind == "summary")
        with Engine(url, namespace="two", window=2_000, background=False, load_plugins=False) as two:
            two.thread("t").append({"id": "own", "role": "user", "content": "penguin"})
            assert [each.id for each in two.threads()] == ["t"]
            for mode in ("exact", "words", "regex"):
                assert not two.grep("walrus", mode=mode).items  # type: ignore[arg-type]
                assert not two.thread("t").grep("walrus", mode=mode).items  # type: ignore[arg-type]
                assert not two.thread("u").grep("walrus", mode=mode).items  # type: ignore[arg-type]
            denied(two, ["id-3", summary, "s", "elsewhere"])
            assert two.thread("u").messages() == []
        denied(one, ["elsewhere"])
        assert not [hit for hit in one.thread("t").grep("walrus") if hit.message_id == "elsewhere"]
        assert one.verify().ok


def denied(engine: Engine, ids: list[str]) -> None:
    """Check that a thread can neither read nor change what it has not."""
    thread = engine.thread("t")
    for id in ids:
        attempts: list[Callable[[], object]] = [
            lambda id=id: thread.expand(id),
            lambda id=id: thread.expand(id, sources_only=True),
            lambda id=id: thread.describe(id),
            lambda id=id: thread.delete([id]),
            lambda id=id: thread.restore(id),
            lambda id=id: thread.branch(at=id),
            lambda id=id: engine.erase("t", [id]),
        ]
        for attempt in attempts:
            with pytest.raises(LosslessError) as caught:
                attempt()
            assert isinstance(caught.value, NotFoundError)
