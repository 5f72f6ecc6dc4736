"""Verification finds whatever was changed behind the engine's back, and names it."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from lossless_children import opened
from lossless_tampering import tamper


def found(url: str, thread: str | None = None) -> tuple[str, ...]:
    with opened(url) as engine:
        return engine.verify(thread).problems


OWN = "namespace = 'default' AND thread_id = 't'"
A_LEAF = f"(SELECT min(id) FROM lossless_summary WHERE {OWN} AND depth = 0)"
SWAPPED = "(SELECT digest FROM lossless_message WHERE thread_id = 't' AND seq = 6)"

CHANGES: dict[str, tuple[tuple[str, ...], str]] = {
    "the payload": (
        (f"UPDATE lossless_blob SET codec = 'raw', size = 2, data = CAST('{{}}' AS {{bytes}}) WHERE digest = {SWAPPED}",),
        "message m_6 (seq 6) was changed: its payload does not match its digest",
    ),
    "the size of a payload": (
        (f"UPDATE lossless_blob SET size = size + 1 WHERE digest = {SWAPPED}",),
        "message m_6 (seq 6) was changed",
    ),
    "another payload": (
        (f"UPDATE lossless_message SET digest = {SWAPPED} WHERE {OWN} AND seq = 7",),
        "chain breaks at message m_7 (seq 7)",
    ),
    "the salt": (
        (f"UPDATE lossless_message SET salt = digest WHERE {OWN} AND seq = 7",),
        "chain breaks at message m_7 (seq 7)",
    ),
    "the role": (
        (f"UPDATE lossless_message SET role = 'assistant' WHERE {OWN} AND seq = 7",),
        "chain breaks at message m_7 (seq 7)",
    ),
    "the time": ((f"UPDATE lossless_message SET created_at = 5 WHERE {OWN} AND seq = 7",), "chain breaks at message m_7 (seq 7)"),
    "the chain": (
        (f"UPDATE lossless_message SET chain = digest WHERE {OWN} AND seq = 7",),
        "chain breaks at message m_7 (seq 7): it was changed, or message m_6 (seq 6) was",
    ),
    "the tokens": (
        (f"UPDATE lossless_message SET tokens = tokens + 1 WHERE {OWN} AND seq = 7",),
        "message m_7 (seq 7) has another token sum",
    ),
    "the unit": (
        (f"UPDATE lossless_message SET unit = seq WHERE {OWN} AND seq = 42",),
        "message m_42 (seq 42) belongs to another unit",
    ),
    "the place": (
        (f"UPDATE lossless_message SET place = 3 WHERE {OWN} AND seq = 7",),
        "message m_7 (seq 7) stands in another place",
    ),
    "what it replaces": ((f"UPDATE lossless_message SET revises = 9 WHERE {OWN} AND seq = 44",), "message given (seq 44)"),
    "a message lost": ((f"DELETE FROM lossless_message WHERE {OWN} AND seq = 7",), "seq 7 is missing"),
    "a payload lost": ((f"DELETE FROM lossless_blob WHERE digest = {SWAPPED}",), "message m_6 (seq 6) has lost its payload"),
    "next_seq": ((f"UPDATE lossless_head SET next_seq = next_seq + 1 WHERE {OWN}",), "the head's counters"),
    "the head's sum": ((f"UPDATE lossless_head SET total_tokens = 0 WHERE {OWN}",), "the head's counters"),
    "open calls": ((f"UPDATE lossless_head SET open_calls = '[[\"x\", 3]]' WHERE {OWN}",), "other open calls"),
    "unreadable open calls": ((f"UPDATE lossless_head SET open_calls = '[' WHERE {OWN}",), "open calls can't be read"),
    "the generation": ((f"UPDATE lossless_head SET generation = 1 WHERE {OWN}",), "the head is not where its log says"),
    "a move lost": ((f"DELETE FROM lossless_head_log WHERE {OWN} AND generation = 1",), "moves are missing"),
    "an older view": (
        (f"UPDATE lossless_head_log SET next_seq = 3 WHERE {OWN} AND generation = 1",),
        "the view of move 1 (compaction) names messages that are not there",
    ),
    "a view lost": (
        (f"DELETE FROM lossless_node WHERE digest = (SELECT view FROM lossless_snapshot WHERE {OWN})",),
        "snapshot before can't be read",
    ),
    "a snapshot moved": ((f"UPDATE lossless_snapshot SET seq = seq + 1 WHERE {OWN}",), "snapshot before"),
    "a snapshot's size": ((f"UPDATE lossless_snapshot SET tokens = 1 WHERE {OWN}",), "snapshot before has another size"),
    "a snapshot's description": ((f"UPDATE lossless_snapshot SET description = 'x' WHERE {OWN}",), "snapshot before was changed"),
    "a snapshot's tags": ((f"UPDATE lossless_snapshot SET tags = '[\"x\"]' WHERE {OWN}",), "snapshot before was changed"),
    "a snapshot's tags unreadable": ((f"UPDATE lossless_snapshot SET tags = '[' WHERE {OWN}",), "snapshot before was changed"),
    "a summary's text": (
        (f"UPDATE lossless_summary SET text = 'nothing happened' WHERE {OWN} AND id = {A_LEAF}",),
        "can't be read: the text of summary sum_",
    ),
    "a summary's note": (
        (f"UPDATE lossless_summary SET note = CAST('nothing was kept of it' AS {{bytes}}) WHERE {OWN} AND id = {A_LEAF}",),
        "can't be read: the note of summary sum_",
    ),
    "another summary's note": (
        (
            f"UPDATE lossless_summary SET note = (SELECT note FROM lossless_summary WHERE {OWN} AND id <> {A_LEAF} LIMIT 1) "
            f"WHERE {OWN} AND id = {A_LEAF}",
        ),
        "can't be read: the note of summary sum_",
    ),
    "a summary's count": (
        (f"UPDATE lossless_summary SET messages = messages + 1 WHERE {OWN} AND id = {A_LEAF}",),
        "another number of messages than it says",
    ),
    "a source lost": (
        (f"DELETE FROM lossless_summary_message WHERE {OWN} AND summary_id = {A_LEAF} AND ordinal = 1",),
        "has other sources than it was made from",
    ),
    "a summary lost": ((f"DELETE FROM lossless_summary WHERE {OWN} AND id = {A_LEAF}",), "there is no summary"),
    "a summary's times": (
        (f"UPDATE lossless_summary SET earliest_at = 0 WHERE {OWN} AND id = {A_LEAF}",),
        "has other times than its messages",
    ),
    "an index entry lost": (
        (f"DELETE FROM lossless_search_doc WHERE {OWN} AND seq = 7",),
        "message m_7 (seq 7) is not in the search index",
    ),
    "an index entry of another": (
        (
            f"DELETE FROM lossless_search_doc WHERE {OWN} AND seq = 8",
            f"UPDATE lossless_search_doc SET seq = 8 WHERE {OWN} AND seq = 7",
        ),
        "the search index has other words for seq 8",
    ),
    "a head lost": ((f"DELETE FROM lossless_head WHERE {OWN}",), "thread t: it has no head"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_named(full_url: str, kind: str, change: str) -> None:
    statements, expected = CHANGES[change]
    bytes_type = "BLOB" if kind == "sqlite" else "bytea"
    tamper(full_url, *(statement.replace("{bytes}", bytes_type).replace("{{}}", "{}") for statement in statements))
    problems = found(full_url)
    assert any(expected in problem for problem in problems), problems
    assert not any("thread other" in problem for problem in problems)


def test_what_was_not_changed_has_no_problems(full_url: str) -> None:
    with opened(full_url) as engine:
        report = engine.verify()
        assert report.problems == ()
        assert report.ok
        assert report.threads == 3
        assert report.messages == engine.verify("t").messages + engine.verify("b").messages + 1


@pytest.mark.parametrize("change", ["the payload", "another payload", "the salt", "the role", "the chain", "the time"])
def test_exactly_the_message_that_was_changed_is_named(full_url: str, kind: str, change: str) -> None:
    statements, _expected = CHANGES[change]
    bytes_type = "BLOB" if kind == "sqlite" else "bytea"
    tamper(full_url, *(statement.replace("{bytes}", bytes_type).replace("{{}}", "{}") for statement in statements))
    with opened(full_url) as engine:
        named = {(finding.thread_id, finding.message_id) for finding in engine.verify().findings if finding.message_id}
    assert named == ({("t", "m_6")} if change == "the payload" else {("t", "m_7")})


def test_what_a_branch_inherits_is_verified_in_its_parent(full_url: str) -> None:
    tamper(full_url, f"DELETE FROM lossless_message WHERE {OWN} AND seq = 30")
    assert any("seq 30 of thread t, where it was branched, is missing" in problem for problem in found(full_url, "b"))


def test_a_thread_that_descends_from_itself_ends_with_a_finding(full_url: str) -> None:
    tamper(full_url, "UPDATE lossless_thread SET parent = 'b', cut = 3 WHERE thread_id = 't'")
    assert any("a branch of itself" in problem for problem in found(full_url))


def test_a_summary_under_itself_ends_with_a_finding(full_url: str) -> None:
    tamper(
        full_url,
        "INSERT INTO lossless_summary_child "
        f"SELECT namespace, thread_id, id, 99, thread_id, id FROM lossless_summary WHERE {OWN}",
    )
    assert any("under itself" in problem for problem in found(full_url))


def test_a_row_that_somebody_elses_program_replaces_is_named(tmp_path: Path, filled: Path) -> None:
    """A plain ``sqlite3`` connection lets REPLACE past the triggers: it removes rows without firing them."""
    path = shutil.copy(filled, tmp_path / "a.db")
    connection = sqlite3.connect(path, isolation_level=None)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(lossless_message)")]
    taken = ", ".join("'assistant'" if column == "role" else column for column in columns)
    replace = f"REPLACE INTO lossless_message ({', '.join(columns)}) SELECT {taken} FROM lossless_message WHERE {OWN} AND seq = 7"
    assert connection.execute(replace).rowcount == 1
    connection.close()
    assert [problem for problem in found(f"sqlite:///{path}") if "m_7 (seq 7)" in problem]
