"""What the tests of the command line share: running it in this process, as a process of its own, and databases to look at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lossless import Engine
from lossless.cli import main
from lossless_prepared import COMMAND_LINE, prepared


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out, parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")


Run = Callable[..., Ended]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of the test's own, without settings from outside."""
    monkeypatch.chdir(tmp_path)
    shown = ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    for name in ("LOSSLESS_URL", "LOSSLESS_KEY", "LOSSLESS_TRACEBACK", "UV_RUN_RECURSION_DEPTH", *shown):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process."""

    def running(*arguments: object) -> Ended:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Ended(code, out, err)

    return running


def process(
    *arguments: object, environment: Mapping[str, str] | None = None, prefix: Sequence[str] = ("-m", "lossless"), **options: Any
) -> Ended:
    """Run a command as a process of its own."""
    done = subprocess.run(
        [sys.executable, *prefix, *map(str, arguments)],
        env={**os.environ, "PYTHONUTF8": "1", **(environment or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
        **options,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture(name="process")
def _process() -> Run:
    """Run a command as a process of its own."""
    return process


@pytest.fixture
def forked(tmp_path: Path) -> Run:
    """Run a command as a process of its own that begins where the imports are done."""

    def running(*arguments: object, before: str = "", **options: Any) -> Ended:
        done = prepared().run(f"{before}\n{COMMAND_LINE}", *map(str, arguments), folder=tmp_path, **options)
        assert "Traceback" not in done.out + done.err
        return Ended(done.code, done.out, done.err)

    return running


@pytest.fixture
def terminal(tmp_path: Path) -> Callable[..., tuple[str, int]]:
    """Run a command on a pseudo-terminal of 60 columns and 40 rows; give what it wrote and its exit code."""

    def running(arguments: list[str], environment: Mapping[str, str]) -> tuple[str, int]:
        settings = {"TERM": "xterm-256color", **environment}
        done = prepared().run(ON_A_TERMINAL + COMMAND_LINE, *arguments, folder=tmp_path, environment=settings)
        assert done.err == ""
        return done.out, done.code

    return running


ON_A_TERMINAL = """
import fcntl, os, pty, struct, sys, termios
command, ours = pty.fork()
if command:
    written = b""
    while True:
        try:
            piece = os.read(ours, 65_536)
        except OSError:  # how Linux says that the other side has gone
            break
        if not piece:
            break
        written += piece
    sys.stdout.buffer.write(written)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(command, 0)[1]))
fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 60, 0, 0))
for name, number in (("stdout", 1), ("stderr", 2)):  # as an interpreter makes them that starts on a terminal
    setattr(sys, name, open(number, "w", buffering=1, encoding="utf-8", closefd=False))
"""
"""Goes on in a process that has a terminal; its parent reads from there."""


def talk(turns: int, words: int = 40) -> list[dict[str, Any]]:
    """Make a conversation: a system prompt, then questions and answers with a tool call each, all different."""
    said: list[dict[str, Any]] = [{"role": "system", "content": "You keep the ledger of the harbour."}]
    for turn in range(1, turns + 1):
        filler = " ".join(f"crate{turn}x{word}" for word in range(words))
        call = {"id": f"call_{turn}", "type": "function", "function": {"name": "weigh", "arguments": f'{{"berth": {turn}}}'}}
        said += [
            {"role": "user", "content": f"Berth {turn} received {turn * 17} tonnes of copper. {filler}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"call_{turn}",
                "content": f"berth {turn}: {turn * 17} t, checked by crane {turn % 5}",
            },
            {"role": "assistant", "content": f"Noted: {turn * 17} tonnes at berth {turn}."},
        ]
    return said


@pytest.fixture(name="talk")
def _talk() -> Callable[[int], list[dict[str, Any]]]:
    """Make a conversation of so many turns."""
    return talk


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with two threads: ``harbour``, 41 messages, and ``tiny``, one message."""
    url = f"sqlite:///{(tmp_path / 'harbour.db').as_posix()}"
    with Engine(url) as engine:
        engine.thread("tiny").append({"role": "user", "content": "Hello."})
        engine.thread("harbour").append(talk(10))
    return url
