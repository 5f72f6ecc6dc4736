"""Each command on a thread: what it gives, as text and as JSON, and what it leaves alone."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lossless import Engine

Run = Callable[..., Any]

LOOKING = (
    "threads",
    "messages harbour",
    "context harbour --window 4000",
    "grep copper",
    "expand harbour m_2",
    "describe harbour m_2",
    "views harbour",
    "verify",
    "plugins",
)


def test_threads_are_listed_newest_first(run: Run, url: str) -> None:
    shown = run("threads", "--url", url)
    assert [line.split()[0] for line in shown.out.splitlines()] == ["thread", "harbour", "tiny"]
    document = run("threads", "--url", url, "--json").document
    assert [(item["id"], item["messages"]) for item in document["items"]] == [("harbour", 41), ("tiny", 1)]
    assert document["next_cursor"] is None
    assert document["items"][0]["created_at"].endswith("+00:00")


def test_pages_of_threads_follow_each_other(run: Run, url: str) -> None:
    first = run("threads", "--url", url, "--limit", 1, "--json").document
    second = run("threads", "--url", url, "--limit", 1, "--cursor", first["next_cursor"], "--json").document
    assert [page["items"][0]["id"] for page in (first, second)] == ["harbour", "tiny"]
    assert second["next_cursor"] is None


def test_messages_are_given_verbatim(run: Run, url: str) -> None:
    with Engine(url) as engine:
        given = [message.payload for message in engine.thread("harbour").messages()]
    assert [item["payload"] for item in run("messages", "harbour", "--url", url, "--json").document["items"]] == given
    shown = run("messages", "harbour", "--url", url, "--start", 2, "--stop", 5).out
    assert "Berth 1 received 17 tonnes of copper." in shown
    assert '→ weigh {"berth": 1}' in shown
    assert "← [call_1] berth 1: 17 t" in shown
    assert "Noted" not in shown


@pytest.mark.parametrize("limit", [1, 7, 41, 100, 10**30])
def test_pages_of_messages_have_neither_gaps_nor_overlaps(run: Run, url: str, limit: int) -> None:
    seqs, start = [], "1"
    while start is not None:
        page = run("messages", "harbour", "--url", url, "--limit", limit, "--start", start, "--json").document
        seqs += [item["seq"] for item in page["items"]]
        assert len(page["items"]) <= limit
        start = page["next_cursor"]
    assert seqs == list(range(1, 42))


def test_deleted_messages_are_shown_when_asked_for(run: Run, url: str) -> None:
    assert run("delete", "harbour", "m_3", "--url", url, "--json").document == {"thread": "harbour", "deleted": ["m_3", "m_4"]}
    seqs = [item["seq"] for item in run("messages", "harbour", "--url", url, "--json", "--limit", 5).document["items"]]
    assert seqs == [1, 2, 5, 6, 7]
    items = run("messages", "harbour", "--url", url, "--json", "--deleted").document["items"]
    assert [item["seq"] for item in items if item["deleted"]] == [3, 4]
    assert "deleted" in run("messages", "harbour", "--url", url, "--deleted", "--start", 3, "--stop", 4).out


def test_undo_takes_back_a_deletion_and_then_has_nothing_to_do(run: Run, url: str) -> None:
    run("delete", "harbour", "m_2", "--url", url)
    assert run("undo", "harbour", "--url", url, "--json").document == {"thread": "harbour", "undone": True, "why": "undo delete"}
    again = run("undo", "harbour", "--url", url)
    assert (again.code, again.out, again.err) == (0, "", "there is nothing to take back\n")
    assert len(run("messages", "harbour", "--url", url, "--json").document["items"]) == 41


def test_a_snapshot_can_be_branched_from_and_gone_back_to(run: Run, url: str) -> None:
    assert run("snapshot", "harbour", "--url", url).err == "there are no snapshots of this thread\n"
    taken = run("snapshot", "harbour", "start", "-d", "as it was", "-t", "good", "--url", url, "--json").document
    assert (taken["name"], taken["seq"], taken["tags"]) == ("start", 41, ["good"])
    assert run("snapshot", "harbour", "start", "--url", url).code == 1
    assert [each["name"] for each in run("snapshot", "harbour", "--url", url, "--json").document["items"]] == ["start"]
    made = run("branch", "harbour", "--at", 7, "--name", "other", "--url", url, "--json").document
    assert made == {"thread": "other", "from": "harbour", "messages": 7}
    assert run("branch", "harbour", "--at", "start", "--name", "other", "--url", url).code == 1
    run("delete", "harbour", "m_2", "--url", url)
    assert run("restore", "harbour", "start", "--url", url, "--json").document["restored"]
    assert len(run("messages", "harbour", "--url", url, "--json").document["items"]) == 41
    assert run("restore", "harbour", "start", "--url", url).err == "it was shown so already\n"
    assert run("restore", "harbour", "nobody", "--url", url).code == 1
    assert run("verify", "--url", url).code == 0


def test_compact_reports_what_it_did_and_views_list_it(run: Run, url: str) -> None:
    done = run("compact", "harbour", "--window", 2_000, "--url", url, "--json").document
    assert done["changed"]
    assert done["tokens_after"] < done["tokens_before"]
    assert done["summaries"]
    listed = run("views", "harbour", "--url", url, "--json").document["items"]
    assert [(view["why"], view["by_hand"]) for view in listed] == [("compaction", True), ("created", False)]
    assert "compaction (by hand)" in run("views", "harbour", "--url", url).out
    assert len(run("views", "harbour", "--url", url, "--limit", 1, "--json").document["items"]) == 1


def test_compact_below_soft_says_so_and_force_compacts_all_the_same(run: Run, url: str) -> None:
    idle = run("compact", "harbour", "--url", url)
    assert idle.code == 0
    assert idle.out.startswith("nothing: ")
    assert "a window of 200 000 tokens is assumed" in idle.err
    forced = run("compact", "harbour", "--window", 16_000, "--force", "--url", url, "--json").document
    assert forced["status"] != "exhausted"


def test_compact_that_stays_above_hard_is_a_problem(run: Run, url: str) -> None:
    done = run("compact", "harbour", "--window", 60, "--url", url)
    assert done.code == 1
    assert done.out.startswith("exhausted: ")


def test_a_context_is_drawn_and_listed(run: Run, url: str) -> None:
    run("compact", "harbour", "--window", 2_000, "--url", url)
    shown = run("context", "harbour", "--window", 2_000, "--url", url)
    assert shown.code == 0
    assert "pinned" in shown.out
    assert "▲ target 900   ▲ soft 1 200" in shown.out
    assert "hard 1 485" in shown.out
    assert "41 of 41 messages represented" in shown.out
    assert "summary  sum_" in shown.out
    assert '→ weigh {"berth": 10}' in shown.out
    assert all(line == line.rstrip() for line in shown.out.splitlines())


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals there")
def test_a_terminal_of_60_columns_cuts_texts_and_nothing_else(terminal: Run, url: str) -> None:
    shown, code = terminal(["context", "harbour", "--window", "4000", "--url", url], {"NO_COLOR": "1"})
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r", "").splitlines()
    assert code == 0
    assert all(len(line) <= 60 for line in lines)
    assert sum(line.startswith("message  m_") and line.endswith("…") for line in lines) >= 10


def test_a_context_as_json_has_everything(run: Run, url: str) -> None:
    document = run("context", "harbour", "--window", 4_000, "--overhead", 100, "--url", url, "--json").document
    assert (document["window"], document["overhead"], document["hard"], document["soft"]) == (4_000, 100, 2_871, 2_300)
    assert document["messages"][0] == {"role": "system", "content": "You keep the ledger of the harbour."}
    assert {"kind", "id", "tokens", "first_seq", "last_seq", "text", "ids", "messages"} == document["items"][0].keys()
    anthropic = run("context", "harbour", "--window", 4_000, "--format", "anthropic", "--url", url, "--json").document
    assert anthropic["system"] is not None
    assert {message["role"] for message in anthropic["messages"]} == {"user", "assistant"}


def test_a_model_stands_for_its_window(run: Run, url: str) -> None:
    document = run("context", "harbour", "--model", "gpt-4o", "--url", url, "--json").document
    assert document["window"] == 128_000


def test_grep_names_thread_message_and_covering_summary(run: Run, url: str) -> None:
    run("compact", "harbour", "--window", 2_000, "--url", url)
    document = run("grep", "17 TONNES of copper", "--url", url, "--json").document
    (hit,) = document["items"]
    assert (hit["thread_id"], hit["message_id"], hit["seq"], hit["role"]) == ("harbour", "m_2", 2, "user")
    assert hit["summary_id"].startswith("sum_")
    shown = run("grep", "17 tonnes of copper", "--thread", "harbour", "--url", url).out
    assert shown.startswith("harbour m_2 user")
    assert f"under {hit['summary_id']}: Berth 1 received" in shown
    assert run("grep", "17 tonnes", "--thread", "tiny", "--url", url).err == "nothing was found\n"


def test_grep_knows_words_and_regular_expressions_and_goes_on_at_a_cursor(run: Run, url: str) -> None:
    words = run("grep", "copper AND NOT tonnes", "--mode", "words", "--url", url, "--json").document
    assert words["items"] == []
    first = run("grep", r"Berth \d+ received", "--regex", "--limit", 4, "--url", url, "--json").document
    assert [hit["seq"] for hit in first["items"]] == [38, 34, 30, 26]
    more = run("grep", r"Berth \d+ received", "--regex", "--cursor", first["next_cursor"], "--url", url, "--json").document
    assert [hit["seq"] for hit in more["items"]] == [22, 18, 14, 10, 6, 2]


def test_a_pattern_that_begins_with_a_dash_comes_after_two(run: Run, url: str) -> None:
    assert run("grep", "--url", url, "--", "--nothing").err == "nothing was found\n"


def test_expand_gives_the_sources_of_a_summary_in_pages(run: Run, url: str) -> None:
    summary = run("compact", "harbour", "--window", 2_000, "--url", url, "--json").document["summaries"][0]
    whole = run("expand", "harbour", summary, "--url", url, "--json").document["items"]
    first = run("expand", "harbour", summary, "--limit", 2, "--url", url, "--json").document
    rest = run("expand", "harbour", summary, "--offset", first["next_cursor"], "--url", url, "--json").document
    assert first["items"] + rest["items"] == whole
    assert rest["next_cursor"] is None
    sources = run("expand", "harbour", summary, "--sources-only", "--url", url, "--json").document["items"]
    assert {item["role"] for item in sources} == {"user", "tool"}
    assert "Berth 1 received" in run("expand", "harbour", summary, "--url", url).out


def test_describe_tells_what_a_summary_and_a_message_are(run: Run, url: str) -> None:
    summary = run("compact", "harbour", "--window", 2_000, "--url", url, "--json").document["summaries"][0]
    facts = run("describe", "harbour", summary, "--url", url, "--json").document
    assert (facts["kind"], facts["depth"], facts["sources"][0]) == ("summary", 0, "m_2")
    shown = run("describe", "harbour", summary, "--url", url).out
    assert "source items" in shown
    assert "earliest at" in shown
    assert re.search(r"^role +user$", run("describe", "harbour", "m_2", "--url", url).out, re.MULTILINE)


def test_verify_finds_what_was_changed_behind_our_back(run: Run, url: str, tmp_path: Path) -> None:
    assert run("verify", "--url", url).out == "ok: 2 threads, 42 messages\n"
    assert run("verify", "tiny", "--url", url, "--json").document == {"ok": True, "threads": 1, "messages": 1, "problems": []}
    with sqlite3.connect(tmp_path / "harbour.db") as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("UPDATE lossless_blob SET data = CAST(replace(CAST(data AS TEXT), '17 tonnes', '71 tonnes') AS BLOB)")
    connection.close()
    broken = run("verify", "--url", url)
    assert broken.code == 1
    assert "thread harbour: message m_5 (seq 5) was changed" in broken.out
    document = run("verify", "harbour", "--url", url, "--json")
    assert document.code == 1
    assert document.document["ok"] is False
    assert run("verify", "tiny", "--url", url).code == 0


def test_namespaces_don_t_see_each_other(run: Run, url: str) -> None:
    assert run("threads", "--url", url, "--namespace", "other", "--json").document == {"items": [], "next_cursor": None}
    assert run("messages", "harbour", "--url", url, "--namespace", "other").code == 1


def test_the_url_comes_from_the_environment(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLESS_URL", url)
    assert run("threads").out.count("\n") == 3


@pytest.mark.parametrize("command", [*LOOKING, "compact harbour --window 4000", "undo harbour", "delete harbour m_1"])
def test_only_what_stores_makes_a_database(run: Run, command: str, tmp_path: Path) -> None:
    ended = run(*shlex.split(command))
    assert ended.code == (0 if command == "plugins" else 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", LOOKING)
def test_looking_changes_nothing_and_gives_one_document(run: Run, url: str, command: str, tmp_path: Path) -> None:
    before = (tmp_path / "harbour.db").read_bytes()
    assert run(*shlex.split(command), "--url", url).code == 0
    assert isinstance(run(*shlex.split(command), "--url", url, "--json").document, dict)
    assert (tmp_path / "harbour.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["harbour.db"]


def test_stored_text_can_t_act_on_a_terminal_nor_be_taken_for_markup(run: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'evil.db'}"
    evil = "\x1b]0;owned\x07 [bold red]loud[/] [/nothing] \u202egnihton \x9b2J"
    with Engine(url) as engine:
        engine.thread("evil\x1b[2J").append([{"role": "user", "content": evil}] * 2)
    name = "evil\x1b[2J"
    for command in (
        ["threads"],
        ["messages", name],
        ["context", name],
        ["grep", "loud"],
        ["expand", name, "m_1"],
        ["views", name],
    ):
        for json in ([], ["--json"]):
            shown = run(*command, *json, "--url", url).out
            assert not set(shown) & set("\x1b\x07\x9b\u202e"), command
    assert "[bold red]loud[/] [/nothing]" in run("messages", name, "--url", url).out
    assert run("messages", name, "--url", url, "--json").document["items"][0]["payload"]["content"] == evil
    assert "\x1b" not in run("messages", f"{name}no", "--url", url).err


def test_plugins_that_are_installed_are_listed_and_broken_ones_are_a_problem(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "good_plugin.py").write_text(
        "from lossless import hookimpl\n\n@hookimpl\ndef lossless_event(event):\n    pass\n", encoding="utf-8"
    )
    info = tmp_path / "good_plugin-2.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: good-plugin\nVersion: 2.5\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[lossless]\ngood = good_plugin\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    document = run("plugins", "--json").document
    assert document["items"][0]["hooks"]
    good = {"name": "good", "package": "good-plugin", "version": "2.5", "hooks": ["lossless_event"], "problem": None}
    assert good in document["items"]
    (info / "entry_points.txt").write_text("[lossless]\nbroken = not_there_at_all\n", encoding="utf-8")
    broken = run("plugins")
    assert broken.code == 1
    assert "not_there_at_all" in broken.err
