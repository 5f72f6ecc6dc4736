"""What was erased does not come back by being stored again, with ids or without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lossless import Engine
from lossless.cli.app import main

SECRET = "zebraquux 555-0199"
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello there, I have a question about my invoice."},
    {"role": "assistant", "content": "Of course. What is your number?"},
    {"role": "user", "content": f"It is {SECRET}."},
    {"role": "assistant", "content": "Thank you, I found it."},
    {"role": "user", "content": "When is it due?"},
]
NEW = {"role": "assistant", "content": "On Friday."}


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with Engine(url, load_plugins=False) as opened:
        yield opened


def shown(engine: Engine) -> str:
    return str([[m.payload for m in engine.thread(each.id).messages(deleted=True)] for each in engine.threads()])


@pytest.mark.parametrize("erased", [[3], [1, 3], [5], [1], [3, 4, 5], [0, 1, 2, 3, 4, 5]])
def test_a_transcript_without_ids_is_known_again(engine: Engine, erased: list[int]) -> None:
    thread = engine.thread("t")
    refs = thread.append(TALK)
    engine.erase("t", [refs[n].id for n in erased])
    assert thread.sync(TALK) == []
    assert len(thread.sync([*TALK, NEW])) == 1
    assert len(thread.messages()) == 7
    assert all(TALK[n]["content"] not in shown(engine) for n in erased)
    assert engine.verify().problems == ()


@pytest.mark.parametrize("erased", [[3], [1, 3], [0, 1, 2, 3, 4, 5]])
def test_setting_a_history_again_does_not_store_it_again(engine: Engine, erased: list[int]) -> None:
    thread = engine.thread("t")
    refs = thread.append(TALK)
    engine.erase("t", [refs[n].id for n in erased])
    thread.replace([*TALK, NEW])
    assert len(thread.messages()) == 7
    assert all(TALK[n]["content"] not in shown(engine) for n in erased)


def test_what_is_new_is_stored_beside_a_gap(engine: Engine) -> None:
    thread = engine.thread("t")
    refs = thread.append(TALK[:4])
    engine.erase("t", [refs[3].id])
    thread.sync([{"role": "user", "content": "Something else altogether, and longer."}])
    assert thread.messages()[-1].text == "Something else altogether, and longer."


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_a_file_that_is_imported_again_brings_nothing_back(tmp_path: Path, ids: bool, whole: bool) -> None:

    path, url = tmp_path / "talk.jsonl", f"sqlite:///{tmp_path / 'own.db'}"
    lines = [{**message, **({"id": f"id-{n}"} if ids else {})} for n, message in enumerate(TALK)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["import", str(path), "--url", url]) == 0
    with Engine(url, load_plugins=False) as engine:
        (thread,) = engine.threads()
        messages = engine.thread(thread.id).messages()
        engine.erase(thread.id, None if whole else [messages[3].id])
    path.write_text(path.read_text() + json.dumps({**NEW, **({"id": "new"} if ids else {})}) + "\n")
    assert main(["import", str(path), "--url", url]) == 0
    with Engine(url, load_plugins=False) as engine:
        assert [each.id for each in engine.threads()] == [thread.id]
        assert len(engine.thread(thread.id).messages()) == 7
        assert SECRET not in shown(engine)


@pytest.mark.parametrize("name", ["t", "branch"])
def test_an_id_that_was_erased_stays_erased_when_its_thread_is_begun_again(engine: Engine, name: str) -> None:
    talk = [{**message, "id": f"id-{number}"} for number, message in enumerate(TALK)]
    engine.thread("t").append(talk)
    engine.thread("t").branch(at="id-4", thread_id="branch")
    engine.erase("t", ["id-3"])
    engine.delete_thread(name)
    thread = engine.thread(name)
    assert thread.append(talk[3])[0].seq == 4
    thread.append([talk[2], talk[3], {**NEW, "id": "new"}])
    thread.sync(talk[2:5])
    thread.replace([talk[2], talk[3], {**NEW, "id": "new"}])
    assert [m.id for m in thread.messages()] == ["id-2", "new"]
    assert SECRET not in shown(engine)
    assert not engine.grep(SECRET).items
    assert engine.verify().problems == ()
