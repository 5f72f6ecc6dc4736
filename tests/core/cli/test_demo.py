"""The demo: it plays, it proves, and what it offers to try next works."""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lossless import Engine
from lossless.cli.demo_session import DEMO_QUESTION, demo_session
from lossless.cli.playing import Player, TokenChecker
from lossless.cli.proofs import prove
from lossless.messages import canonical_equal
from lossless.tokens import counter_for
from lossless_testdata import SHARED, tau_conversations

Run = Callable[..., Any]
Talk = Callable[[int], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let new databases go to the test's folder."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)


def left_behind(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "temporary").iterdir())


def transcript(tmp_path: Path, said: list[dict[str, Any]]) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(message) + "\n" for message in said), encoding="utf-8")
    return path


def test_the_session_that_is_shipped_is_played_and_proved_in_a_pipe(process: Run, forked: Run, tmp_path: Path) -> None:
    ended = process("demo", environment={"COLUMNS": "60"})
    assert (ended.code, ended.err) == (0, "")
    assert "\x1b" not in ended.out
    tenths = re.findall(r"^ *(\d+) %", ended.out, re.MULTILINE)
    assert tenths == [str(10 * tenth) for tenth in range(1, 11)]
    assert DEMO_QUESTION.text in ended.out
    assert DEMO_QUESTION.answer in ended.out
    assert ended.out.count("✓") == 6
    assert "✗" not in ended.out
    assert "context   no longer holds this sentence" in ended.out
    commands = [line.strip() for line in ended.out.partition("What to try next:")[2].splitlines() if line.strip()]
    assert {shlex.split(command)[3] for command in commands} == {"context", "grep", "describe", "expand", "verify", "threads"}
    (folder,) = left_behind(tmp_path)
    for command in commands:
        name, *arguments = shlex.split(command)
        assert name == "python"
        assert arguments[:2] == ["-m", "lossless"]
        assert f"sqlite:///{(folder / 'demo.db').as_posix()}" in arguments
        tried = forked(*arguments[2:])
        assert (tried.code, bool(tried.out)) == (0, True), command


def test_one_document_has_all_of_it(run: Run, tmp_path: Path) -> None:
    began = time.monotonic()
    ended = run("demo", "--json", "--no-keep")
    document = ended.document
    assert (ended.code, ended.err) == (0, "")
    assert document["ok"] is True
    assert document["messages"] == len(demo_session())
    assert document["tokens"] > 5 * document["window"] > 5 * document["budget"] > 5 * document["context_tokens"]
    assert document["highest"] <= document["budget"]
    assert document["compactions"] > 10
    assert document["model_calls"] == 0
    assert document["contexts"] > 200
    assert document["question"]["found"] is True
    assert document["question"]["in_context"] is False
    assert {proof["ok"] for proof in document["proofs"]} == {True}
    assert document["problems"] == document["next"] == []
    assert left_behind(tmp_path) == []
    assert document["seconds"] <= time.monotonic() - began


def test_a_transcript_of_one_s_own_is_played_into_a_window_that_fits_it(run: Run, talk: Talk, tmp_path: Path) -> None:
    path = transcript(tmp_path, talk(60))
    document = run("demo", path, "--json").document
    assert document["ok"] is True
    assert document["messages"] == 241
    assert 4_000 <= document["window"] < 16_000
    assert document["compactions"] >= 1
    assert any("window" in note for note in document["notes"])
    assert document["question"]["found"] is True
    with Engine(document["url"], create=False) as engine:
        given = engine.thread(document["thread"]).messages()
    assert all(canonical_equal(message.payload, said) for message, said in zip(given, talk(60), strict=True))
    assert run("demo", path, "--json", "--window", 30_000).document["window"] == 30_000


def test_a_short_transcript_is_proved_too(run: Run, tmp_path: Path) -> None:
    document = run(
        "demo", transcript(tmp_path, [{"role": "user", "content": "Is the harbour open on Sundays, please?"}]), "--json"
    ).document
    assert (document["ok"], document["messages"], document["compactions"]) == (True, 1, 0)
    assert document["question"]["in_context"] is True


def test_odd_transcripts_are_proved_or_refused_in_a_line(run: Run, tmp_path: Path) -> None:
    odd = [
        {"role": "tool", "tool_call_id": "gone", "content": "late"},
        {"role": "user", "content": "\x1b[31m \ud800 [bold] x", "id": "one"},
        {"role": "user", "content": "again", "id": "one"},
        {"role": "assistant", "content": "", "id": 5},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}],
        },
        {"role": "user", "content": "y" * 100_000},
    ]
    ended = run("demo", transcript(tmp_path, odd))
    assert ended.code == 0
    assert "left out, as their ids can't be used or come twice: 2 messages" in ended.out
    assert "\x1b" not in ended.out
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    for name in ("empty.jsonl", "absent.jsonl"):
        refused = run("demo", name)
        assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)


def test_real_conversations_are_played_as_one_session(run: Run) -> None:
    tau_conversations(1)
    document = run("demo", SHARED / "data" / "tau_airline.jsonl.gz", "--json").document
    assert document["ok"] is True
    assert document["compactions"] >= 3
    assert "of 150 are played as one session" in document["notes"][0]


def test_an_anthropic_transcript_is_played_in_its_own_format(run: Run, tmp_path: Path) -> None:
    said: list[dict[str, Any]] = []
    for turn in range(80):
        said += [
            {"role": "user", "content": f"Please look into box {turn}. " + f"word{turn} " * 30},
            {"role": "assistant", "content": [{"type": "tool_use", "id": f"t{turn}", "name": "open", "input": {"box": turn}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{turn}", "content": f"cat {turn}"}]},
            {"role": "assistant", "content": [{"type": "text", "text": f"There is cat {turn} in it."}]},
        ]
    document = run("demo", transcript(tmp_path, said), "--json").document
    assert (document["ok"], document["messages"]) == (True, 320)
    assert document["compactions"] >= 1


def test_a_database_of_one_s_own_keeps_what_is_in_it(run: Run, url: str, talk: Talk, tmp_path: Path) -> None:
    path = transcript(tmp_path, talk(3))
    names = [run("demo", path, "--url", url, "--no-keep", "--json").document["thread"] for _ in range(2)]
    assert names == ["demo", "demo-2"]
    listed = run("threads", "--url", url, "--json").document["items"]
    assert {thread["id"] for thread in listed} == {"harbour", "tiny", "demo", "demo-2"}


def test_the_namespace_is_in_the_commands(run: Run, talk: Talk, tmp_path: Path) -> None:
    path = transcript(tmp_path, [*talk(3), {"role": "user", "content": "-- it's a 'quoted' \"end\" of $HOME"}])
    document = run("demo", path, "--namespace", "my tenant", "--json").document
    for command in document["next"]:
        assert run(*shlex.split(command)[1:]).code == 0, command


def test_the_commands_are_typed_as_the_demo_was(run: Run, talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = transcript(tmp_path, talk(1))
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/lossless", "demo"])
    assert all(command.startswith("lossless ") for command in run("demo", path, "--json").document["next"])
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert all(command.startswith("uv run lossless ") for command in run("demo", path, "--json").document["next"])


def test_a_proof_that_fails_is_noticed_and_ends_with_1(
    run: Run, talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine(window=4_000) as engine:
        *_, last = Player(engine, "t", talk(5), "openai").play()
        said = talk(5)
        assert all(proof.ok for proof in prove(engine, "t", said, last, None))
        said[3] = {**said[3], "content": "forged"}
        assert [proof.ok for proof in prove(engine, "t", said, last, None)] == [False, True, True, True, True]
        engine.thread("t").delete("m_2")
        context = engine.thread("t").context()
        assert context.represented == 20
    from lossless.cli import playing

    monkeypatch.setattr(playing.TokenChecker, "count", lambda *_: 10**9)
    ended = run("demo", transcript(tmp_path, talk(5)), "--no-keep")
    assert ended.code == 1
    assert "✗" in ended.out
    assert "has 1000000000 tokens" in ended.err


def test_the_checker_counts_all_that_a_model_reads() -> None:
    counter = counter_for()
    call = {"id": "abc", "type": "function", "function": {"name": "weigh", "arguments": '{"berth": 1}'}}
    openai: list[Mapping[str, Any]] = [
        {"role": "user", "content": "Hello there."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "abc", "content": [{"type": "text", "text": "17 t"}]},
    ]
    texts = ["user", "Hello there.", "assistant", "abc", "weigh", '{"berth": 1}', "tool", "abc", "17 t"]
    assert TokenChecker(counter).count(openai) == 9 + sum(counter.count(text) for text in texts)
    anthropic = [{"role": "assistant", "content": [{"type": "tool_use", "id": "abc", "name": "weigh", "input": {"berth": 1}}]}]
    texts = ["assistant", "abc", "weigh", '{"berth": 1}', "Be brief."]
    assert TokenChecker(counter).count(anthropic, "Be brief.") == 3 + sum(counter.count(text) for text in texts)
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000}}]}]
    assert 1_600 < TokenChecker(counter).count(image) < 1_620


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals there")
@pytest.mark.parametrize("environment", [{}, {"TERM": "dumb"}])
def test_a_terminal_of_60_columns_shows_it_live(terminal: Run, talk: Talk, tmp_path: Path, environment: dict[str, str]) -> None:
    shown, code = terminal(["demo", str(transcript(tmp_path, talk(60))), "--no-keep"], environment)
    assert code == 0
    lively = environment.get("TERM") != "dumb"
    assert ("\x1b[?25l" in shown) is lively, "the cursor is hidden while the picture lives"
    assert ("\x1b[?25h" in shown) is lively, "and is back afterwards"
    assert ("\x1b[32m" in shown) is (environment == {})
    assert ("context over time" in shown) is lively
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert "✓  every message is stored byte for byte" in text
    if lively:
        wide = [line for line in re.split(r"[\r\n]+", text) if len(line) > 60]
        assert all("sqlite:///" in line for line in wide)
