"""The doctor makes again what can be derived, edits nothing that is immutable, and names the rest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lossless import Engine
from lossless.errors import CorruptError
from lossless_children import opened
from lossless_shares import shared_out
from lossless_tampering import tamper

OWN = "namespace = 'default' AND thread_id = 't'"
SHOWN_LEAF = f"(SELECT max(id) FROM lossless_summary WHERE {OWN} AND depth = 0)"
IMMUTABLE = ("thread", "blob", "message", "summary", "summary_message", "summary_child", "snapshot")

MENDABLE: dict[str, tuple[str, ...]] = {
    "next_seq": (f"UPDATE lossless_head SET next_seq = next_seq + 5 WHERE {OWN}",),
    "next_seq before the end": (f"UPDATE lossless_head SET next_seq = 3 WHERE {OWN}",),
    "the sum": (f"UPDATE lossless_head SET total_tokens = 1 WHERE {OWN}",),
    "the chain": (f"UPDATE lossless_head SET chain = view WHERE {OWN}",),
    "open calls": (f"UPDATE lossless_head SET open_calls = '[' WHERE {OWN}",),
    "the head": (f"DELETE FROM lossless_head WHERE {OWN}",),
    "the generation": (f"UPDATE lossless_head SET generation = 1 WHERE {OWN}",),
    "the head's view": (
        f"UPDATE lossless_head SET view = (SELECT view FROM lossless_head_log WHERE {OWN} AND generation = 0) WHERE {OWN}",
    ),
    "an index entry": (f"DELETE FROM lossless_search_doc WHERE {OWN} AND seq = 7",),
    "the last index entries": (f"DELETE FROM lossless_search_doc WHERE {OWN} AND seq > 80",),
    "all index entries": (f"DELETE FROM lossless_search_doc WHERE {OWN}",),
    "an index entry of another": (
        f"DELETE FROM lossless_search_doc WHERE {OWN} AND seq = 8",
        f"UPDATE lossless_search_doc SET seq = 8 WHERE {OWN} AND seq = 7",
    ),
    "an index entry of nothing": (f"UPDATE lossless_search_doc SET seq = 900 WHERE {OWN} AND seq = 7",),
}

# The view is rebuilt; what was damaged stays damaged in the store, and is named.
VIEWS: dict[str, tuple[str, ...]] = {
    "a summary's text": (f"UPDATE lossless_summary SET text = 'nothing happened' WHERE {OWN}",),
    "a summary": (f"DELETE FROM lossless_summary WHERE {OWN}",),
    "the sources": (f"DELETE FROM lossless_summary_message WHERE {OWN} AND ordinal = 1",),
    "the view": (f"DELETE FROM lossless_node WHERE digest = (SELECT view FROM lossless_head WHERE {OWN})",),
    "every view": ("DELETE FROM lossless_node",),
}


def contents(url: str) -> object:
    """Give what is immutable, as it is stored."""
    with opened(url) as engine, engine.database.read() as connection:
        return [sorted(map(repr, connection.exec_driver_sql(f"SELECT * FROM lossless_{table}"))) for table in IMMUTABLE]


def read(engine: Engine) -> object:
    found = [(message.seq, message.id, message.payload, message.deleted) for message in engine.thread("t").messages(deleted=True)]
    hits = [(hit.message_id, hit.seq) for hit in engine.grep("weighs", limit=200, thread="t")]
    return found, hits, [hit.seq for hit in engine.grep("word31", mode="words", thread="t")]


@pytest.mark.parametrize(("kind", "damage"), shared_out(MENDABLE, both=("the head", "all index entries")))
def test_what_is_derivable_is_made_again(full_url: str, damage: str) -> None:
    with opened(full_url) as engine:
        before = read(engine)
    tamper(full_url, *MENDABLE[damage])
    stored = contents(full_url)
    with opened(full_url) as engine:
        assert not engine.verify().ok
        dry = engine.doctor(dry_run=True)
        assert dry.dry_run
        assert dry.mended
        assert not engine.verify().ok
        done = engine.doctor()
        assert done.ok, done.left
        assert done.mended
        assert engine.verify().ok
        assert read(engine) == before
        assert engine.doctor().mended == ()
        refs = engine.thread("t").append({"role": "user", "content": "and it goes on"})
        assert [message.id for message in engine.thread("t").messages()][-1] == refs[0].id
        assert engine.verify().ok
    assert contents(full_url) != stored  # the new message
    with opened(full_url) as engine:
        assert [hit.seq for hit in engine.grep("goes on", thread="t")] == [refs[0].seq]


RANKING: dict[str, str] = {
    "the size of an entry": "UPDATE lossless_search_docsize SET sz = x'8f7f02' WHERE id = 7",
    "the size of an entry lost": "DELETE FROM lossless_search_docsize WHERE id = 7",
    "the size of no entry": "INSERT INTO lossless_search_docsize VALUES (900, x'0102')",
    "the sums": "UPDATE lossless_search_data SET block = x'010101' WHERE id = 1",
    "the sums lost": "DELETE FROM lossless_search_data WHERE id = 1",
}


@pytest.mark.parametrize("damage", RANKING)
def test_what_sqlite_ranks_with_is_looked_at_and_made_again(filled: Path, tmp_path: Path, damage: str) -> None:
    url = f"sqlite:///{shutil.copy(filled, tmp_path)}"

    def ranked(engine: Engine) -> list[int]:
        return [hit.seq for hit in engine.grep("later OR crate", mode="words", limit=20)]

    with opened(url) as engine:
        before = ranked(engine)
    tamper(url, RANKING[damage])
    with opened(url) as engine:
        assert {finding.kind for finding in engine.verify().findings} == {"index"}
        done = engine.doctor()
        assert done.left == ()
        assert done.mended
        assert engine.verify().ok
        assert ranked(engine) == before
        assert engine.erase("t", ["m_7"])
        assert engine.verify().ok


@pytest.mark.parametrize(("kind", "damage"), shared_out(VIEWS))
def test_a_view_that_can_not_be_used_is_followed_by_a_new_one(full_url: str, damage: str) -> None:
    with opened(full_url) as engine:
        shown = [message.id for message in engine.thread("t").messages()]
    tamper(full_url, *VIEWS[damage])
    stored = contents(full_url)
    with opened(full_url, window=2_000, background=False) as engine:
        done = engine.doctor()
        assert "the view of thread t" in done.mended
        assert not any(finding.text.startswith("the view ") and "of move" not in finding.text for finding in done.left), done.left
        assert contents(full_url) == stored
        now = [message.id for message in engine.thread("t").messages()]
        assert [id for id in now if id in shown] == shown
        assert set(now) - set(shown) <= {"m_20"}  # that it was deleted was in a view only
        assert engine.thread("t").context().total == len(now)
        assert engine.doctor().mended == ()
        engine.thread("t").compact(force=True)
        assert engine.thread("t").context().total == len(now)


def test_a_damaged_message_is_named_and_left(full_url: str) -> None:
    tamper(full_url, f"UPDATE lossless_message SET role = 'assistant' WHERE {OWN} AND seq = 7")
    stored = contents(full_url)
    with opened(full_url) as engine:
        done = engine.doctor()
        assert not done.ok
        assert [(finding.kind, finding.message_id) for finding in done.left] == [("chain", "m_7")]
        assert done.mended == ()
    assert contents(full_url) == stored


def test_seqs_of_lost_messages_are_not_given_again(full_url: str) -> None:
    tamper(full_url, *(f"DELETE FROM lossless_{table} WHERE {OWN} AND seq > 80" for table in ("search_doc", "message")))
    with opened(full_url) as engine:
        before = engine.thread("t")
        done = engine.doctor()
        assert any("the head's counters don't match" in finding.text for finding in done.left)
        assert before.append({"role": "user", "content": "after the loss"})[0].seq > 84


def test_a_thread_without_a_head_says_so_until_it_is_mended(full_url: str) -> None:
    tamper(full_url, f"DELETE FROM lossless_head WHERE {OWN}")
    with opened(full_url) as engine:
        with pytest.raises(CorruptError, match="no head") as caught:
            engine.thread("t").append({"role": "user", "content": "and it goes on"})
        assert "doctor" in caught.value.hint
        assert engine.doctor().ok
        assert engine.thread("t").append({"role": "user", "content": "and it goes on"})
        assert engine.verify().ok


@pytest.mark.parametrize("again", [False, True])
def test_a_deleted_thread_stays_deleted_when_its_head_is_made_again(full_url: str, again: bool) -> None:
    with opened(full_url) as engine:
        engine.delete_thread("other")
        if again:
            engine.thread("other").append({"role": "user", "content": "begun again"})
    tamper(full_url, "DELETE FROM lossless_head WHERE thread_id = 'other'")
    with opened(full_url) as engine:
        assert engine.doctor().ok
        assert [found.text for found in engine.thread("other").messages()] == (["begun again"] if again else [])
        assert ("other" in [each.id for each in engine.threads()]) is again


def test_degraded_summaries_are_listed(tmp_path: Path) -> None:
    def failing(_request: object) -> str:
        raise RuntimeError("the model is away")

    url = f"sqlite:///{tmp_path / 'a.db'}"
    with opened(url, window=2_000, background=False, summarizer=failing) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": f"crate {n} weighs {n} kg " * 10} for n in range(60)], compact=False)
        thread.compact(force=True)
        shown = {ref.id for ref in thread.context().items if ref.kind == "summary"}
        assert shown
    with opened(url) as engine:
        done = engine.doctor()
        assert done.ok
        assert {id for _thread, id in done.degraded} >= shown
