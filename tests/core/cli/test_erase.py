"""``lossless erase``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lossless import Engine
from lossless.cli.app import main

SECRET = "zebraquux-0199"


@pytest.fixture
def url(tmp_path: Path, payloads_in_clear: None) -> str:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    with Engine(url, load_plugins=False) as engine:
        said = [{"id": f"id-{n}", "role": "user", "content": f"{SECRET} {n}" if n < 2 else f"message {n}"} for n in range(5)]
        engine.thread("t").append(said)
    return url


def test_messages_are_erased_and_named(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["erase", "t", "id-0", "id-1", "id-0", "--reason", "asked to", "--by", "Ana", "--yes", "--url", url, "--json"]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert [stone["message_id"] for stone in told["tombstones"]] == ["id-0", "id-1"]
    assert {stone["reason"] for stone in told["tombstones"]} == {"asked to"}
    assert (told["threads"], told["pending"]) == (["t"], [])
    assert all(SECRET.encode() not in file.read_bytes() for file in tmp_path.iterdir())
    assert main(["verify", "--url", url]) == 0
    with Engine(url, load_plugins=False) as engine:
        assert engine.removals()[0].who == "Ana"


def test_without_ids_the_whole_thread_is_erased(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["erase", "t", "--reason", "all", "--yes", "--url", url]) == 0
    assert "5 messages" in capsys.readouterr().out
    with Engine(url, load_plugins=False) as engine:
        assert all(m.erased for m in engine.thread("t").messages())


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["t", "id-0", "--reason", "x"], 2, "--yes"),
        (["t", "--reason", "x"], 2, "all messages"),
        (["t", "id-0", "--yes"], 2, "--reason"),
        (["t", "absent", "--reason", "x", "--yes"], 1, "absent"),
        (["nobody", "--reason", "x", "--yes"], 1, "nobody"),
    ],
)
def test_wrong_use_erases_nothing(
    url: str, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    assert main(["erase", *arguments, "--url", url]) == code
    assert said in capsys.readouterr().err
    with Engine(url, load_plugins=False) as engine:
        assert not any(m.erased for m in engine.thread("t").messages())
