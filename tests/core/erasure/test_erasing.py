"""Erasing a message: it is forgotten wherever it was, and everything else stays valid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from lossless import Engine, Thread
from lossless.errors import NotFoundError
from lossless.messages import OPENAI, encode, problems
from lossless.store.blobs import unpack
from lossless.store.digests import commitment

SECRET = "zebraquux 555-0199-7744"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with Engine(url, window=2_000, background=False, load_plugins=False) as opened:
        yield opened


def talk(thread: Thread, count: int = 40, *, secret_at: int = 6) -> None:
    messages = []
    for number in range(count):
        said = (
            f"My number is {SECRET}." if number == secret_at else f"Message {number}: we talk about topic {number % 5} and go on."
        )
        role = "assistant" if number % 2 else "user"
        messages.append({"id": f"id-{number}", "role": role, "content": f"{said} " + "some filler words to count " * 6})
    thread.append(messages, compact=False)


def everything_shown(engine: Engine) -> str:
    """Give all that can be read of a namespace through the database, the search index aside."""
    with engine.database.read() as connection:
        found = []
        for table in ("message", "blob", "summary", "node", "head_log", "snapshot", "head", "tombstone"):
            for row in connection.execute(text(f"SELECT * FROM lossless_{table}")):
                found.append(" ".join(bytes(v).decode("latin-1") if isinstance(v, bytes) else str(v) for v in row))
        for row in connection.execute(text("SELECT codec, size, data FROM lossless_blob")):
            found.append(unpack(row.codec, row.size, row.data).decode("latin-1"))
    return "\n".join(found)


def test_an_erased_message_is_a_placeholder_with_id_and_role(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread)
    before = thread.messages()
    (tombstone,) = engine.erase("t", ["id-6"], reason="asked to")
    assert (tombstone.message_id, tombstone.reason, tombstone.seq) == ("id-6", "asked to", 7)
    after = thread.messages()
    assert [(m.id, m.seq, m.role) for m in after] == [(m.id, m.seq, m.role) for m in before]
    assert [m for m in after if m.id != "id-6"] == [m for m in before if m.id != "id-6"]
    assert after[6].erased
    assert SECRET not in after[6].text
    assert engine.verify().problems == ()
    assert engine.tombstones("t") == [tombstone]


def test_an_erased_message_is_found_by_no_search(engine: Engine) -> None:
    talk(engine.thread("t"))
    assert engine.grep("zebraquux").items
    engine.erase("t", ["id-6"])
    for mode in ("exact", "words", "regex"):
        assert not engine.grep("zebraquux", mode=mode).items  # type: ignore[arg-type]
        assert not engine.thread("t").grep("0199", mode=mode).items  # type: ignore[arg-type]


def test_summaries_above_are_made_again_from_what_is_left(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread, 60)
    assert thread.compact(force=True).changed
    assert any(SECRET in (item.text or "") for item in thread.context().items if item.kind == "summary")
    engine.erase("t", ["id-6"])
    items = thread.context().items
    assert any(item.kind == "summary" and item.first_seq <= 7 <= item.last_seq for item in items)
    assert SECRET not in str(thread.context().messages)
    assert engine.verify().problems == ()
    assert [m.seq for item in items if item.kind == "summary" for m in thread.expand(item.id)][:8] == list(range(1, 9))


def test_nothing_derived_from_it_is_left_in_the_database(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread, 60)
    thread.snapshot("raw")
    thread.compact(force=True)
    thread.snapshot("compacted")
    with engine.database.read() as connection:
        query = text("SELECT id FROM lossless_summary WHERE text LIKE :said")
        carrying = connection.execute(query, {"said": f"%{SECRET}%"}).scalars().all()
    assert carrying
    engine.erase("t", ["id-6"])
    shown = everything_shown(engine)
    assert SECRET not in shown
    assert [id for id in carrying if id in shown] == [], "a summary's id is made from its text"


def test_going_back_brings_nothing_back(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread, 60)
    thread.snapshot("raw")
    thread.compact(force=True)
    thread.snapshot("compacted")
    thread.compact(force=True)
    engine.erase("t", ["id-6"])
    for step in (thread.undo, lambda: thread.restore("compacted"), lambda: thread.restore("raw"), thread.undo):
        step()
        assert SECRET not in str(thread.context().messages)
        assert SECRET not in str([m.payload for m in thread.messages(deleted=True)])
        assert engine.verify().problems == ()


def test_an_erasure_reaches_branches_and_the_thread_that_a_branch_comes_from(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread, 60)
    thread.compact(force=True)
    branch = thread.branch(at="id-50", thread_id="b")
    deeper = branch.branch(at="id-30", thread_id="c")
    branch.append([{"id": f"later-{n}", "role": "user", "content": "more words " * 30} for n in range(20)])
    branch.compact(force=True)
    left = engine.erase("c", ["id-6"])
    assert left.threads == ("b", "c", "t")
    for each in (thread, branch, deeper):
        assert each.messages()[6].erased
        assert SECRET not in str(each.context().messages)
    assert engine.verify().problems == ()


def test_revisions_of_a_message_are_the_message_and_an_equal_message_is_not(engine: Engine) -> None:
    thread = engine.thread("t")
    same = {"role": "user", "content": SECRET}
    thread.append([{**same, "id": "one"}, {**same, "id": "two"}])
    thread.branch(thread_id="b").append({"id": "one", "role": "user", "content": SECRET + " again"})
    thread.append({"id": "one", "role": "user", "content": SECRET + " once more"})
    left = engine.erase("t", ["one"])
    assert len(left) == 3
    assert {tombstone.message_id for tombstone in left} == {"one"}
    assert [m.text for m in thread.messages() if not m.erased] == [SECRET]
    assert [hit.message_id for hit in engine.grep(SECRET)] == ["two"]
    assert engine.verify().problems == ()


def test_another_message_of_the_same_id_in_another_branch_stays(engine: Engine) -> None:
    thread = engine.thread("t")
    thread.append([{"id": f"id-{n}", "role": "user", "content": f"message {n}"} for n in range(4)])
    branch = thread.branch(at="id-1", thread_id="b")
    branch.append({"id": "id-3", "role": "user", "content": "an independent message"})
    engine.erase("t", ["id-3"])
    assert thread.messages()[3].erased
    assert branch.messages()[2].text == "an independent message"


def test_appending_an_erased_id_gives_what_is_left_of_it(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread)
    transcript = [m.payload for m in thread.messages()]
    engine.erase("t", ["id-6"])
    refs = thread.append([transcript[6], {**transcript[6], "content": SECRET + " changed"}, {"role": "user", "content": "new"}])
    assert [(ref.id, ref.seq) for ref in refs[:2]] == [("id-6", 7), ("id-6", 7)]
    assert thread.sync([*transcript, {"id": "new", "role": "user", "content": "another"}])[0].id == "new"
    branch = thread.branch(thread_id="b")
    branch.append(transcript[6])
    assert SECRET not in everything_shown(engine)
    assert len(thread.messages()) == 42
    assert engine.verify().problems == ()


def test_erasing_again_changes_nothing(engine: Engine) -> None:
    talk(engine.thread("t"))
    first = engine.erase("t", ["id-6"], reason="first")
    view = engine.thread("t").context().view
    again = engine.erase("t", ["id-6"], reason="second")
    assert again.tombstones == first.tombstones
    assert engine.thread("t").context().view == view


@pytest.mark.parametrize("ids", [["id-1", "absent"], ["absent"]])
def test_an_unknown_message_is_named_and_nothing_is_erased(engine: Engine, ids: list[str]) -> None:
    talk(engine.thread("t"))
    with pytest.raises(NotFoundError, match="absent"):
        engine.erase("t", ids)
    with pytest.raises(NotFoundError, match="nowhere"):
        engine.erase("nowhere")
    assert engine.tombstones("t") == []
    assert engine.removals() == []
    assert not any(m.erased for m in engine.thread("t").messages())


def test_a_whole_thread_can_be_erased(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread, 60)
    thread.compact(force=True)
    thread.snapshot("s")
    engine.thread("other").append({"role": "user", "content": "Message 3: we talk about topic 3 and go on. And more."})
    assert len(engine.erase("t", reason="all of it")) == 60
    assert all(m.erased for m in thread.messages())
    shown = everything_shown(engine)
    assert "topic 4" not in shown
    assert "topic 3" in shown
    thread.append({"role": "user", "content": "a new beginning"})
    assert thread.messages()[-1].text == "a new beginning"
    assert engine.verify().problems == ()


CALLS = [
    {"role": "user", "content": "look it up"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": f"call_{n}", "type": "function", "function": {"name": "look", "arguments": json.dumps({"q": SECRET})}}
            for n in range(2)
        ],
    },
    {"role": "tool", "tool_call_id": "call_0", "content": f"found {SECRET}"},
    {"role": "tool", "tool_call_id": "call_1", "content": "found nothing"},
    {"role": "assistant", "content": "done"},
    {"role": "user", "content": "thanks"},
]


@pytest.mark.parametrize("erased", [[1], [2], [3], [1, 2], [2, 3], [1, 2, 3]])
@pytest.mark.parametrize(("profile", "format"), [("openai", "openai"), ("anthropic", "anthropic"), ("gemini", "openai")])
def test_calls_and_results_stay_together(engine: Engine, erased: list[int], profile: str, format: str) -> None:
    thread = engine.thread("t")
    refs = thread.append(CALLS)
    engine.erase("t", [refs[number].id for number in erased])
    context = thread.context(profile=profile, format=format)
    if format == "openai" and profile == "openai":
        assert problems(context.messages, OPENAI) == []
    named = json.dumps(context.messages)
    assert named.count("call_0") == 2
    assert named.count("call_1") == 2
    shown: list[Any] = [payload["content"] for payload in thread.context().messages if payload["role"] == "tool"]
    assert len(shown) == 2
    assert ("found nothing" in named) is (3 not in erased)


def test_the_chain_still_runs_over_what_was_committed_to(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread)
    thread_payload = thread.messages()[6].payload
    columns = text("SELECT seq, chain, salt FROM lossless_message ORDER BY seq")
    with engine.database.read() as connection:
        before = connection.execute(columns).all()
    (tombstone,) = engine.erase("t", ["id-6"])
    with engine.database.read() as connection:
        after = connection.execute(columns).all()
    assert [(r.seq, bytes(r.chain)) for r in after] == [(r.seq, bytes(r.chain)) for r in before]
    assert [r.seq for r in after if r.salt is None] == [7]
    payload = encode(thread_payload)
    assert tombstone.hash == commitment(engine.secrets.make("default"), bytes(before[6].salt), payload).hex()
    assert engine.verify().ok


def test_who_why_and_when_is_recorded(engine: Engine) -> None:
    talk(engine.thread("t"))
    engine.erase("t", ["id-6"], "a request of 12 May", by="Ana")
    (removal,) = engine.removals()
    assert (removal.kind, removal.thread_id, removal.who, removal.reason, removal.rows) == (
        "erase",
        "t",
        "Ana",
        "a request of 12 May",
        1,
    )
    assert removal.purged_at is not None
    assert removal.purged_at >= removal.at


def test_another_engine_forgets_what_it_kept_in_memory(url: str, engine: Engine) -> None:
    talk(engine.thread("t"), 20)
    with Engine(url, window=2_000, load_plugins=False) as other:
        seen = other.thread("t")
        assert SECRET in str(seen.context().messages)
        assert SECRET in seen.expand("id-6")[0].text
        engine.erase("t", ["id-6"])
        assert SECRET not in str(seen.context().messages)
        assert SECRET not in seen.expand("id-6")[0].text
        assert SECRET not in str([m.payload for m in seen.messages()])


def test_the_async_twin_means_the_same(engine: Engine) -> None:
    talk(engine.thread("t"))
    left = asyncio.run(engine.aerase("t", "id-6"))
    assert [tombstone.message_id for tombstone in left] == ["id-6"]
    assert asyncio.run(engine.atombstones("t")) == list(left)


def test_reasoning_that_was_written_before_the_erasure_and_stands_after_it_is_not_shown(engine: Engine) -> None:
    thought = {"type": "thinking", "thinking": "I weigh it", "signature": "signed"}
    call = {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}
    thread = engine.thread("t")
    thread.append(
        [
            {"id": "first", "role": "user", "content": SECRET},
            {"role": "assistant", "content": [thought, call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "found"}]},
        ],
        format="anthropic",
    )
    assert "signed" in json.dumps(thread.context(format="anthropic").messages)
    engine.erase("t", ["first"])
    shown = json.dumps(thread.context(format="anthropic").messages)
    assert "signed" not in shown, "its signature covers what was erased"
    assert "call_1" in shown


def test_a_compaction_that_was_prepared_before_an_erasure_is_dropped(url: str) -> None:
    engines: list[Engine] = []

    def summarize(_request: object) -> str:
        if not engines[0].tombstones("t"):
            engines[1].erase("t", ["id-6"], purge=False)
        return f"They spoke of the number {SECRET}."

    with (
        Engine(url, window=2_000, background=False, load_plugins=False, summarizer=summarize) as one,
        Engine(url, window=2_000, background=False, load_plugins=False) as two,
    ):
        engines.extend([one, two])
        talk(one.thread("t"))
        result = one.thread("t").compact(force=True)
        assert not result.changed
        assert SECRET not in everything_shown(two)
        assert two.verify().problems == ()


def test_what_was_erased_and_then_summarised_can_be_erased_again(engine: Engine) -> None:
    thread = engine.thread("t")
    talk(thread)
    erased = engine.erase("t", ["id-6"])
    assert thread.compact(force=True).changed
    assert engine.erase("t", ["id-6"]) == erased
    assert [stone.message_id for stone in engine.erase("t", ["id-6", "id-7"])] == ["id-6", "id-7"]
    assert engine.verify().problems == ()
