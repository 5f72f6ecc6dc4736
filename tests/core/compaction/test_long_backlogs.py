"""Long backlogs: what is made on the way is stored on the way, named by no view, and memory does not grow with the backlog."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from lossless import Engine, SummarizeRequest, Thread
from lossless.compaction import preparing
from lossless.dag.heads import read_head
from lossless.store.keys import ThreadKey
from lossless_prepared import prepared
from lossless_scripts import honest

_CHILD = """
import json, resource, sys
from lossless import Engine

unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
said = lambda n: f"Run {n} of job {n % 97} wrote {n * 7 % 9973} rows to /srv/out/{n:06}.csv in {n % 59} s; code E{n % 89}. " * 3
with Engine(sys.argv[1], window=32_000, durability="normal", background=False, load_plugins=False) as engine:
    peaks = []
    for name, count in (("warm", 1_500), ("long", int(sys.argv[2]))):
        thread = engine.thread(name)
        for start in range(0, count, 500):
            batch = [{"role": "assistant" if n % 2 else "user", "content": said(n)} for n in range(start, start + 500)]
            thread.append(batch, compact=False)
        peaks.append(peak())
        result = thread.compact()
        peaks.append(peak())
    print(json.dumps({"peaks": peaks, "summaries": len(result.summaries), "status": result.status}))
"""

_KILLED = """
import os, sys
from lossless import Engine
from lossless.compaction import preparing
from lossless_scripts import honest

calls = []

def model(request):
    calls.append(request)
    return honest(request) if len(calls) < 8 else os._exit(9)

preparing._UNSTORED = 3
with Engine(sys.argv[1], window=2_000, background=False, load_plugins=False, summarizer=model) as engine:
    engine.thread("t").compact()
"""
_KEY = ThreadKey("default", "t")


@pytest.fixture
def engine(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr(preparing, "_UNSTORED", 3)
    with Engine(url, window=2_000, background=False, load_plugins=False, summarizer=Acting()) as opened:
        yield opened


class Acting:
    """A summarizer that counts its calls, and does something at one of them."""

    def __init__(self) -> None:
        self.calls = 0
        self.at: int | None = None

    def act(self) -> None:
        """Do nothing; a test gives what is done."""

    def __call__(self, request: SummarizeRequest) -> str:
        self.calls += 1
        if self.calls == self.at:
            self.act()
        return honest(request)


def fill(thread: Thread, count: int = 120) -> None:
    said = [
        {"id": f"id-{n}", "role": "assistant" if n % 2 else "user", "content": f"Walrus {n}: " + f"the {n} rows are in. " * 8}
        for n in range(count)
    ]
    thread.append(said, compact=False)


def stored(engine: Engine) -> list[str]:
    with engine.database.read() as connection:
        return list(connection.execute(text("SELECT id FROM lossless_summary")).scalars())


def head(engine: Engine) -> bytes:
    with engine.database.read() as connection:
        found = read_head(connection, _KEY)
    assert found is not None
    return found.view


def acting(engine: Engine, monkeypatch: pytest.MonkeyPatch, at: int) -> Acting:
    model = engine.summarizer
    assert isinstance(model, Acting)
    monkeypatch.setattr(model, "at", at)
    return model


def test_a_compaction_that_is_killed_leaves_its_summaries_to_the_next_one(engine: Engine, url: str, tmp_path: Path) -> None:
    thread = engine.thread("t")
    fill(thread)
    before = head(engine)
    killed = prepared().run(_KILLED, url, folder=tmp_path, path=[Path(__file__).parents[2] / "support"])
    assert killed.code == 9, killed.err
    left = stored(engine)
    assert len(left) == 6
    assert head(engine) == before
    assert engine.verify().problems == ()
    result = thread.compact()
    assert result.changed
    assert set(left) <= set(result.summaries)
    assert result.model_calls < len(result.summaries)
    assert engine.verify().problems == ()


def test_one_undo_takes_back_all_of_a_long_compaction(engine: Engine) -> None:
    thread = engine.thread("t")
    fill(thread)
    before = head(engine)
    result = thread.compact()
    assert len(result.summaries) > 6
    assert set(stored(engine)) == set(result.summaries)
    assert len(thread.views()) == 2
    assert thread.undo()
    assert head(engine) == before


@pytest.mark.parametrize("removal", ["erase", "collect"])
def test_what_is_removed_during_a_long_compaction_is_in_no_summary(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, removal: str
) -> None:
    thread = engine.thread("t")
    fill(thread)

    def remove() -> None:
        if removal == "erase":
            engine.erase("t", "id-0")
        else:
            assert engine.collect_garbage().rows["summaries"] == 6

    model = acting(engine, monkeypatch, at=8)
    monkeypatch.setattr(model, "act", remove)
    result = thread.compact()
    assert not result.changed
    assert engine.verify().problems == ()
    with engine.database.read() as connection:
        texts = connection.execute(text("SELECT text FROM lossless_summary")).scalars().all()
    assert not [each for each in texts if "Walrus 0:" in each]
    assert thread.compact().changed
    assert engine.verify().problems == ()


def test_memory_stays_bounded_while_a_backlog_is_compacted(tmp_path: Path) -> None:
    found = _measured(tmp_path, 6_000)
    assert found["peaks"][3] - found["peaks"][2] < 20


@pytest.mark.slow
def test_memory_stays_bounded_while_a_backlog_of_30_000_messages_is_compacted(tmp_path: Path) -> None:
    found = _measured(tmp_path, 30_000)
    assert found["peaks"][3] - found["peaks"][2] < 60


def _measured(folder: Path, count: int) -> dict[str, list[float]]:
    command = [sys.executable, "-c", _CHILD, f"sqlite:///{folder / 'own.db'}", str(count)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    found: dict[str, list[float]] = json.loads(done.stdout)
    assert found["status"] == "done"
    return found
