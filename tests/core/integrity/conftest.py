"""A database with everything in it, of each kind: revisions, deletions, tool calls, summaries, a snapshot, a branch."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from lossless import Engine
from lossless_children import opened
from lossless_postgres import Server


def fill(engine: Engine) -> None:
    thread = engine.thread("t")
    call = {"id": "call_1", "type": "function", "function": {"name": "weigh", "arguments": "{}"}}
    for number in range(40):
        thread.append(
            {"role": "user", "content": f"crate {number} weighs {number * 7} kg. " + f"word{number} " * 12}, compact=False
        )
    thread.append({"role": "assistant", "content": None, "tool_calls": [call]}, compact=False)
    thread.append({"role": "tool", "tool_call_id": "call_1", "content": "12 kg"}, compact=False)
    thread.append({"id": "given", "role": "user", "content": "first wording"}, compact=False)
    thread.compact(force=True)
    thread.snapshot("before")
    thread.append({"id": "given", "role": "user", "content": "second wording"}, compact=False)
    thread.delete("m_20")
    thread.append([{"role": "user", "content": f"later {number} " * 10} for number in range(40)], compact=False)
    thread.compact(force=True)
    branch = thread.branch("m_30", "b")
    branch.append({"role": "user", "content": "on the branch"}, compact=False)
    engine.thread("other").append({"role": "user", "content": "nobody touches this one"})


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "a.db"
    with opened(f"sqlite:///{path}", window=2_000, background=False) as engine:
        fill(engine)
    return path


@pytest.fixture(scope="module")
def filled_template(postgres: Server) -> Iterator[str]:
    with postgres.database() as url:
        with opened(url, window=2_000, background=False) as engine:
            fill(engine)
        yield str(make_url(url).database)


@pytest.fixture
def full_url(request: pytest.FixtureRequest, kind: str, filled: Path, tmp_path: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{shutil.copy(filled, tmp_path)}"
        return
    server: Server = request.getfixturevalue("postgres")
    url = server.create(template=request.getfixturevalue("filled_template"), options="")
    yield url
    server.drop(url)
