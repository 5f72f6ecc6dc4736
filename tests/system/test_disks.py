"""Disks that are read-only or full, for real: what can be read is read, what can't be written is said, nothing is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lossless import Engine
from lossless.cli import main
from lossless.errors import SchemaError, StoreError, StoreOpenError
from lossless.store import schema
from lossless_children import fill_for_acts, message, opened
from lossless_mounts import read_only, small_disk


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    folder = tmp_path / "kept"
    folder.mkdir()
    with opened(f"sqlite:///{folder / 'a.db'}", window=2_000, background=False) as engine:
        fill_for_acts(engine)
    return folder / "a.db"


def look(engine: Engine) -> object:
    thread = engine.thread("t")
    context = thread.context()
    expanded = [[each.id for each in thread.expand(item.id)] for item in context.items if item.kind == "summary"]
    hits = [hit.seq for hit in thread.grep("amount", limit=100)]
    return [each.payload for each in thread.messages(deleted=True)], context.messages, expanded, hits, thread.snapshots()


def refused(engine: Engine) -> None:
    """Try to write in every way, and be told each time."""
    thread = engine.thread("t")
    writes: dict[str, Callable[[], object]] = {
        "append": lambda: thread.append(message("new", 1)),
        "create": lambda: engine.thread("another").append(message("new", 1)),
        "compact": lambda: thread.compact(force=True),
        "snapshot": lambda: thread.snapshot("new"),
        "branch": lambda: thread.branch("given-3", "another"),
        "delete": lambda: thread.delete("given-3"),
        "erase": lambda: engine.erase("t", ["given-3"]),
    }
    for name, write in writes.items():
        with pytest.raises(StoreError) as caught:
            write()
        assert "can't be written" in caught.value.message, name
        assert "permissions" in caught.value.hint, name


@pytest.mark.parametrize("what", ["the file", "the folder"])
def test_a_database_that_is_read_only_is_read_and_refuses_writes_in_words(
    filled: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{filled}"
    with opened(url, window=2_000, background=False) as engine:
        expected = look(engine)
    before = filled.read_bytes()
    with read_only(filled if what == "the file" else filled.parent):
        with opened(url, window=2_000, background=False) as engine:
            assert look(engine) == expected
            assert engine.verify().ok
            refused(engine)
            assert look(engine) == expected
        assert main(["messages", "t", "--url", url]) == 0
        assert main(["snapshot", "t", "new", "--url", url]) == 1
        out, err = capsys.readouterr()
        assert "can't be written" in err
        assert "Traceback" not in out + err
    assert filled.read_bytes() == before
    with opened(url, window=2_000, background=False) as engine:
        assert engine.thread("t").append(message("new", 1))


def test_who_may_only_read_sees_what_somebody_else_writes_meanwhile(filled: Path) -> None:
    url = f"sqlite:///{filled}"
    with opened(url, window=2_000, background=False) as engine:
        before = len(engine.thread("t").messages())
        engine.thread("t").append(message("new", 1))
        with read_only(filled.parent), opened(url, window=2_000, background=False) as reading:
            assert len(reading.thread("t").messages()) == before + 1, "what is still in the writer's log is read"
            engine.thread("t").append(message("new", 2))
            assert len(reading.thread("t").messages()) == before + 2
            with pytest.raises(StoreOpenError, match="can't be written"):
                reading.thread("t").append(message("new", 3))


def test_nothing_can_be_made_in_a_folder_that_is_read_only(tmp_path: Path) -> None:
    folder = tmp_path / "sealed"
    folder.mkdir()
    with read_only(folder):
        with pytest.raises(StoreOpenError) as caught:
            opened(f"sqlite:///{folder / 'a.db'}")
        assert "permissions" in caught.value.hint
        assert list(folder.iterdir()) == []


def test_a_read_only_database_that_is_not_ours_or_not_of_this_version_is_refused(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE theirs (id)")
    with read_only(foreign), pytest.raises(StoreOpenError, match="no Lossless"):
        opened(f"sqlite:///{foreign}")
    with read_only(filled):
        monkeypatch.setattr(schema, "HEAD_REVISION", "0002")
        with pytest.raises(SchemaError, match="older schema 0001"):
            opened(f"sqlite:///{filled}")
        monkeypatch.setattr(schema, "HEAD_REVISION", "0000")
        monkeypatch.setattr(schema, "_KNOWN_REVISIONS", ("0000",))
        with pytest.raises(SchemaError, match="does not know"):
            opened(f"sqlite:///{filled}")


def test_a_disk_that_is_full_loses_nothing_acknowledged_and_takes_more_when_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 2_048) as folder:
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(600_000))
        with opened(f"sqlite:///{folder / 'a.db'}", window=2_000, background=False) as engine:
            thread = engine.thread("t")
            stored: list[str] = []
            said: list[StoreError] = []
            for number in range(2_000):
                try:
                    stored += [ref.id for ref in thread.append(message("m", number, words=300), compact=False)]
                except StoreError as error:
                    said.append(error)
                    if len(said) == 3:
                        break
            assert len(said) == 3
            assert all("disk" in error.message and error.hint for error in said), said
            assert stored
            assert [found.id for found in thread.messages()] == stored
            assert thread.context().messages
            assert engine.verify().ok
            ballast.unlink()
            stored += [ref.id for ref in thread.append([message("after", number) for number in range(5)], compact=False)]
        with opened(f"sqlite:///{folder / 'a.db'}", window=2_000, background=False) as engine:
            assert [found.id for found in engine.thread("t").messages()] == stored
            assert engine.verify().ok


def test_no_database_is_made_on_a_disk_that_is_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 64) as folder:
        url = f"sqlite:///{folder / 'a.db'}"
        with pytest.raises(StoreError, match="full") as caught:
            opened(url)
        assert "space" in caught.value.hint
    with small_disk(tmp_path / "disk", 4_096), opened(url) as engine:
        assert engine.thread("t").append(message("m", 1))
