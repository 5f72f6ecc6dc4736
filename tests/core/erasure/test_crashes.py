"""An erasure that fails leaves what was before it or what comes after it, and can be finished.

Processes that die in the middle of one are in ``tests/system/test_crashes.py``.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest

from lossless import Engine
from lossless.errors import LosslessError
from lossless.messages.payload import encode
from lossless_faults import Faults
from lossless_files import found_in, traces_of

SECRET = "zebraquux 555-0199"
SAID = {"id": "id-4", "role": "user", "content": f"My number is {SECRET}. " + "filler words " * 12}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "stored.db"
    with Engine(f"sqlite:///{path}", window=2_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        said = [
            SAID if n == 4 else {"id": f"id-{n}", "role": "user", "content": f"{n} " + "filler words " * 12} for n in range(40)
        ]
        thread.append(said, compact=False)
        thread.compact(force=True)
        thread.snapshot("s")
        thread.branch(at="id-30", thread_id="b")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own.db"


def old_or_new(path: Path) -> str:
    """Check that everything holds, and say whether the message is there."""
    with Engine(f"sqlite:///{path}", window=2_000, background=False, load_plugins=False) as engine:
        assert engine.verify().problems == ()
        erased = engine.thread("t").messages()[4].erased
        assert engine.thread("b").messages()[4].erased is erased
        told = str(engine.thread("t").context().messages) + str(engine.thread("t").messages())
        assert (SECRET in told) is not erased
        assert bool(engine.grep("zebraquux").items) is not erased
        assert bool(engine.tombstones("t")) is erased
        return "new" if erased else "old"


def test_a_failure_at_any_statement_leaves_the_old_or_the_new_state(
    stored: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = Faults().install(monkeypatch)
    shutil.copy(stored, path)
    with Engine(f"sqlite:///{path}", window=2_000, background=False, load_plugins=False) as engine, faults.at_statement(0):
        engine.erase("t", ["id-4"])
    statements = faults.seen
    found = set()
    for number in [*range(1, statements + 1, max(1, statements // 16)), statements]:
        shutil.copy(stored, path)
        engine = Engine(f"sqlite:///{path}", window=2_000, background=False, load_plugins=False)
        with faults.at_statement(number), contextlib.suppress(LosslessError):
            engine.erase("t", ["id-4"])
        state = old_or_new(path)
        found.add(state)
        if state == "old":
            assert len(engine.erase("t", ["id-4"])) == 1
        engine.close()
        assert old_or_new(path) == "new"
        assert found_in(path.parent.glob("own.db*"), traces_of(SECRET, encode(SAID))) == {}
    assert found == {"old", "new"}
