"""A backup is whole, taken while others write, verified, and can be put back into a database of either kind."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from lossless import Engine
from lossless.errors import ExistsError, LosslessError, NotFoundError, StoreError
from lossless_children import opened


def seen(engine: Engine) -> object:
    everything = []
    for info in sorted(engine.threads(), key=lambda info: info.id):
        thread = engine.thread(info.id)
        found = [(each.seq, each.id, each.payload, each.created_at, each.deleted) for each in thread.messages(deleted=True)]
        views = [(view.view, view.why, view.at) for view in thread.views()]
        snapshots = [(snapshot.name, snapshot.seq, snapshot.view) for snapshot in thread.snapshots()]
        everything.append((info, found, views, snapshots, thread.context().messages))
    hits = sorted((hit.thread_id, hit.seq) for hit in engine.grep("word31", mode="words", limit=100))
    return everything, hits


def test_a_backup_is_a_database_with_all_of_it(full_url: str, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    with opened(full_url, window=2_000, background=False) as engine:
        done = engine.backup(target)
        assert done.ok
        assert (done.threads, done.size) == (3, target.stat().st_size)
        before = seen(engine)
    assert [path.name for path in tmp_path.iterdir() if "backup" in path.name] == ["backup.db"]
    with opened(f"sqlite:///{target}", window=2_000, background=False) as copy:
        assert seen(copy) == before
        assert copy.verify().ok
        copy.thread("t").append({"role": "user", "content": "the copy goes on"})
        assert copy.verify().ok


def test_a_backup_can_be_put_back_into_an_empty_database_of_either_kind(filled: Path, url: str, tmp_path: Path) -> None:
    backup = Path(shutil.copy(filled, tmp_path / "backup.db"))
    with opened(f"sqlite:///{backup}", window=2_000, background=False) as engine:
        before = seen(engine)
    with opened(url, window=2_000, background=False) as engine:
        done = engine.restore_backup(backup)
        assert done.ok
        assert seen(engine) == before
        refs = engine.thread("t").append({"role": "user", "content": "it goes on here"})
        assert [hit.seq for hit in engine.grep("it goes on here")] == [refs[0].seq]
        assert engine.verify().ok
        with pytest.raises(ExistsError, match="not empty"):
            engine.restore_backup(backup)
        assert engine.verify().ok


def test_other_namespaces_are_in_it(full_url: str, tmp_path: Path) -> None:
    with opened(full_url, namespace="tenant") as engine:
        engine.thread("t").append({"role": "user", "content": "of another tenant"})
    with opened(full_url) as engine:
        assert engine.backup(tmp_path / "backup.db").threads == 4
    with opened(f"sqlite:///{tmp_path / 'backup.db'}", namespace="tenant") as copy:
        assert [hit.seq for hit in copy.grep("another tenant")] == [1]
        assert copy.verify().ok


def test_a_backup_taken_while_others_write_has_what_was_acknowledged_before(full_url: str, tmp_path: Path) -> None:
    with opened(full_url, window=2_000) as engine:
        stop = threading.Event()

        def write(name: str) -> None:
            number = 0
            while not stop.is_set() and number < 400:
                engine.thread(name).append({"role": "user", "content": f"{name} {number} " * 20})
                number += 1

        writers = [threading.Thread(target=write, args=(f"w{n}",)) for n in range(3)]
        for writer in writers:
            writer.start()
        try:
            for number in range(3):
                acknowledged = {info.id: info.messages for info in engine.threads()}
                done = engine.backup(tmp_path / f"{number}.db")
                assert done.ok, done.report.problems
                with opened(f"sqlite:///{tmp_path / f'{number}.db'}") as copy:
                    found = {info.id: info.messages for info in copy.threads()}
                assert all(found[name] >= count for name, count in acknowledged.items())
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        assert engine.verify().ok


def test_a_backup_overwrites_nothing_and_leaves_nothing_half_done(full_url: str, tmp_path: Path) -> None:
    target = tmp_path / "there"
    target.write_text("mine")
    with opened(full_url) as engine:
        with pytest.raises(ExistsError):
            engine.backup(target)
        with pytest.raises(StoreError) as caught:
            engine.backup(tmp_path / "absent" / "backup.db")
        assert caught.value.hint
        with pytest.raises(LosslessError):
            engine.backup("/dev/full/backup.db")
    assert target.read_text() == "mine"
    assert not [path for path in tmp_path.iterdir() if "draft" in path.name]


@pytest.mark.usefixtures("payloads_in_clear")
def test_a_backup_holds_no_trace_of_what_was_erased_before_it(url: str, tmp_path: Path) -> None:
    with opened(url, window=2_000, background=False) as engine:
        said = [{"role": "user", "content": f"zebraquux{n} is a word of " + "many others " * 20} for n in range(40)]
        engine.thread("t").append(said, compact=False)
        engine.thread("t").compact(force=True)
        assert engine.erase("t", ["m_7"], purge=False).pending
        assert engine.backup(tmp_path / "backup.db").ok
        assert engine.removals()[0].purged_at is None, "only the copy was purged"
    held = (tmp_path / "backup.db").read_bytes()
    assert b"zebraquux8" in held
    assert b"zebraquux6" not in held


def test_a_database_that_held_something_once_is_not_restored_into(full_url: str, url: str, tmp_path: Path) -> None:
    with opened(full_url) as engine:
        engine.backup(tmp_path / "backup.db")
    with opened(url) as engine:
        engine.thread("t").append({"role": "user", "content": "hello"})
        engine.delete_thread("t")
        engine.collect_garbage()
        assert list(engine.threads()) == []
        with pytest.raises(ExistsError, match="not empty") as caught:
            engine.restore_backup(tmp_path / "backup.db")
        assert caught.value.hint
        assert engine.verify().problems == ()


def test_what_is_no_backup_is_refused(url: str, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("no database " * 500)
    (tmp_path / "empty").touch()
    with opened(url) as engine:
        with pytest.raises(NotFoundError):
            engine.restore_backup(tmp_path / "absent.db")
        for name in ("notes", "empty"):
            with pytest.raises(StoreError):
                engine.restore_backup(tmp_path / name)
        assert list(engine.threads()) == []
        assert engine.verify().ok
    assert (tmp_path / "empty").read_bytes() == b""
