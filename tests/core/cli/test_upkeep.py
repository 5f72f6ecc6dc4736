"""The commands of an operator: backup, export, doctor, migrate."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from lossless import Engine
from lossless.store.schema import HEAD_REVISION, VERSION_TABLE
from lossless_tampering import tamper

Run = Callable[..., Any]


def test_an_export_is_the_payloads_and_importing_it_gives_an_equal_thread(run: Run, url: str, tmp_path: Path) -> None:
    odd = [
        {"role": "user", "content": "lone \ud800 surrogate, NUL \0, 1 against 1.0", "n": 2**200, "f": -0.0, "one": 1.0},
        {"role": "user", "content": "dated", "at": datetime(2026, 1, 2, tzinfo=UTC), "sum": Decimal("1.10"), "t": (1, 2)},
        {"role": "user", "content": "a dict that looks like one of ours", "x": {"$lossless": "tuple", "v": [1]}},
    ]
    with Engine(url) as engine:
        engine.thread("harbour").append(odd)
        engine.thread("harbour").append({"id": "m_2", "role": "user", "content": "revised"})
        engine.thread("harbour").delete("m_6")
        stored = [message.data for message in engine.thread("harbour").messages()]
        lines = engine.thread("harbour").export()
    file = tmp_path / "harbour.jsonl"
    done = run("export", "harbour", "--url", url, "-o", file, "--json").document
    assert done == {"thread": "harbour", "file": str(file), "messages": len(stored)}
    assert file.read_bytes() == b"".join(line + b"\n" for line in lines)
    assert [line for line in lines if b"ud800" not in line] == [data for data in stored if b"\xed\xa0\x80" not in data]
    for line in file.read_text(encoding="utf-8").splitlines():
        json.loads(line)
    assert run("import", file, "--url", "sqlite:///again.db").code == 0
    with Engine("sqlite:///again.db") as engine:
        assert [message.data for message in engine.thread("harbour").messages()] == stored


def test_an_export_goes_to_stdout_too_and_names_what_it_can(run: Run, url: str, forked: Run) -> None:
    out = forked("export", "tiny", "--url", url)
    assert json.loads(out.out) == {"role": "user", "content": "Hello."}
    refused = run("export", "tiny", "--url", url, "--format", "claude-code")
    assert refused.code == 2
    assert "own" in refused.err
    assert run("export", "absent", "--url", url).code == 1
    assert run("export", "tiny", "--url", url, "--json").code == 2
    Path("there").write_text("mine")
    assert run("export", "tiny", "--url", url, "-o", "there").code == 1
    assert Path("there").read_text() == "mine"


def test_a_backup_is_written_put_back_and_never_overwrites(run: Run, url: str) -> None:
    done = run("backup", "copy.db", "--url", url, "--json").document
    assert done["ok"]
    assert (done["threads"], done["messages"]) == (2, 42)
    assert run("backup", "copy.db", "--url", url).code == 1
    assert "1 message" in run("verify", "tiny", "--url", "sqlite:///copy.db").out
    shown = run("backup", "copy.db", "--restore", "--url", "sqlite:///new.db")
    assert shown.code == 0
    assert "2 threads, 42 messages" in shown.out
    assert run("backup", "copy.db", "--restore", "--url", "sqlite:///new.db").code == 1
    assert (
        run("messages", "harbour", "--url", "sqlite:///new.db", "--json").document
        == run("messages", "harbour", "--url", url, "--json").document
    )


def test_verify_counts_in_the_singular(run: Run, url: str) -> None:
    assert run("verify", "tiny", "--url", url).out == "ok: 1 thread, 1 message\n"
    assert run("verify", "--url", url).out == "ok: 2 threads, 42 messages\n"


def test_the_doctor_mends_and_names_what_is_left(run: Run, url: str) -> None:
    assert run("doctor", "--url", url).out == "ok\n"
    tamper(url, "UPDATE lossless_head SET total_tokens = 1 WHERE thread_id = 'tiny'")
    looked = run("doctor", "--dry-run", "--url", url)
    assert looked.code == 1
    assert "would be mended: thread tiny: the head's counters" in looked.out
    assert run("doctor", "--url", url, "--json").document["mended"] == ["the head of thread tiny"]
    tamper(url, "UPDATE lossless_message SET role = 'assistant' WHERE thread_id = 'tiny'")
    left = run("doctor", "--url", url)
    assert left.code == 1
    assert "left: thread tiny: the chain breaks at message m_1 (seq 1)" in left.out


def test_migrate_says_what_it_did_and_leaves_a_newer_database_alone(run: Run, url: str) -> None:
    assert f"up to date: {url} has schema {HEAD_REVISION}" in run("migrate", "--url", url).out
    assert run("migrate", "--url", url, "--json").document["changed"] is False
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    connection.close()
    refused = run("migrate", "--url", url)
    assert refused.code == 1
    assert "9999" in refused.err
    assert "upgrade Lossless" in refused.err
    assert run("migrate", "--url", "sqlite:///absent.db").code == 1
    assert not Path("absent.db").exists()
