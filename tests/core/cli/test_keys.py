"""Encrypted databases on the command line: the key comes from the environment or a file, and no error repeats it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lossless import AesGcmCipher, Engine
from lossless.cli.app import app

Run = Callable[..., Any]
KEY, OTHER = "ab" * 32, "cd" * 32
LOOKING = ("threads", "messages t", "context t --window 4000", "grep copper", "verify")


@pytest.fixture
def sealed(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'sealed.db'}"
    with Engine(url, cipher=AesGcmCipher(KEY), load_plugins=False) as engine:
        engine.thread("t").append({"role": "user", "content": "17 tonnes of copper"})
    return url


@pytest.fixture(params=["variable", "file"])
def key_option(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    if request.param == "variable":
        monkeypatch.setenv("LOSSLESS_KEY", KEY)
        return []
    (tmp_path / "key").write_text(KEY + "\n")
    return ["--key-file", tmp_path / "key"]


@pytest.mark.parametrize("command", LOOKING)
def test_with_its_key_a_database_is_read_as_any_other(run: Run, sealed: str, key_option: list[object], command: str) -> None:
    ended = run(*command.split(), "--url", sealed, *key_option)
    assert (ended.code, ended.err) == (0, "")
    if command != "verify" and command != "threads":
        assert "copper" in ended.out


@pytest.mark.parametrize("command", LOOKING)
def test_without_its_key_a_database_says_what_it_needs(run: Run, sealed: str, command: str) -> None:
    ended = run(*command.split(), "--url", sealed)
    assert (ended.code, ended.out) == (1, "")
    assert "encrypted" in ended.err
    assert "$LOSSLESS_KEY or with --key-file" in ended.err


def test_a_wrong_key_and_what_is_no_key_are_told_apart_and_not_repeated(
    run: Run, sealed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOSSLESS_KEY", OTHER)
    ended = run("messages", "t", "--url", sealed)
    assert (ended.code, ended.out) == (1, "")
    assert "another key" in ended.err
    assert OTHER not in ended.err
    monkeypatch.setenv("LOSSLESS_KEY", "my passphrase")
    ended = run("messages", "t", "--url", sealed)
    assert (ended.code, ended.out) == (2, "")
    assert "$LOSSLESS_KEY" in ended.err
    assert "passphrase" not in ended.err
    assert "openssl rand" in ended.err
    ended = run("messages", "t", "--url", sealed, "--key-file", tmp_path / "absent")
    assert (ended.code, ended.out) == (2, "")
    (tmp_path / "keys").write_text(f"{OTHER}\n{KEY}\n")
    assert run("messages", "t", "--url", sealed, "--key-file", tmp_path / "keys").code == 0


def test_a_key_for_a_database_in_clear_is_said_to_be_too_much(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'plain.db'}"
    with Engine(url, load_plugins=False) as engine:
        engine.thread("t").append({"role": "user", "content": "hello"})
    monkeypatch.setenv("LOSSLESS_KEY", KEY)
    ended = run("messages", "t", "--url", url)
    assert (ended.code, ended.out) == (1, "")
    assert "not encrypted" in ended.err
    assert "leave the key out" in ended.err


def test_every_command_with_a_database_takes_a_key_file_and_none_takes_a_key() -> None:
    for command in app.registered_commands:
        assert command.callback is not None
        names = getattr(command.callback, "__signature__", None)
        parameters = set(names.parameters) if names is not None else set(command.callback.__annotations__)
        assert ("url" in parameters) == ("key_file" in parameters), command.name
        assert "key" not in parameters


@pytest.mark.usefixtures("payloads_in_clear")
def test_what_is_imported_with_a_key_is_encrypted(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "talk.jsonl").write_text('{"role": "user", "content": "Quokka"}\n{"role": "assistant", "content": "a Quokka"}\n')
    monkeypatch.setenv("LOSSLESS_KEY", KEY)
    for added in (2, 0):
        ended = run("import", "talk.jsonl", "--url", "sqlite:///new.db", "--thread", "t")
        assert ended.code == 0, ended.err
        assert f"{added} " in ended.out + ended.err
    assert b"Quokka" not in b"".join(path.read_bytes() for path in tmp_path.glob("new.db*"))
    assert run("grep", "Quokka", "--url", "sqlite:///new.db").out.count("Quokka") == 2
