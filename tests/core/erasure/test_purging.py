"""What was erased is gone from the files, or it is said what is left to do."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from lossless import Engine, Thread
from lossless.store import purging
from lossless.store.tables import METADATA
from lossless_files import found_in, traces_of
from lossless_postgres import Server, ServerAbsentError, own_server

SECRET = "Zebraquux-0199-7744-Ölmühle"


def talk(thread: Thread, *, large: bool = False) -> bytes:
    """Say a lot, the secret once, so that pages split; give the payload that holds it."""
    for number in range(60):
        said = f"My number is {SECRET}." if number == 20 else f"Message {number}."
        filler = "many words that fill a page of it " * (200 if large else 6)
        thread.append({"id": f"id-{number}", "role": "user", "content": f"{said} {filler if number % 3 else ''}{number}"})
    thread.compact(force=True)
    return thread.expand("id-20")[0].data


def files_beside(path: Path) -> list[Path]:
    return [found for found in path.parent.iterdir() if found.name.startswith(path.name)]


@pytest.mark.parametrize("large", [False, True])
def test_the_files_of_sqlite_hold_no_trace(tmp_path: Path, large: bool) -> None:
    path = tmp_path / "own.db"
    with Engine(f"sqlite:///{path}", window=2_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        traces = traces_of(SECRET, talk(thread, large=large))
        thread.snapshot("s")
        assert found_in(files_beside(path), traces)
        left = engine.erase("t", ["id-20"])
        assert (left.purge, left.pending) == ("done", ())
        assert found_in(files_beside(path), traces) == {}
        assert engine.verify().problems == ()
    assert found_in(files_beside(path), traces) == {}


def test_a_reader_of_an_older_state_makes_it_pending_and_closing_finishes_it(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with Engine(f"sqlite:///{path}", window=2_000, background=False, load_plugins=False) as engine:
        traces = traces_of(SECRET, talk(engine.thread("t")))
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM lossless_message").fetchone()
        left = engine.erase("t", ["id-20"])
        assert left.purge == "pending"
        assert "reads an older state" in left.pending[0]
        assert engine.removals()[0].purged_at is None
        assert not engine.grep(SECRET).items
        reader.close()
    assert found_in(files_beside(path), traces) == {}
    with Engine(f"sqlite:///{path}", load_plugins=False) as engine:
        assert engine.removals()[0].purged_at is not None
        assert engine.purge() == ()


def test_a_large_database_is_written_anew_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purging, "AT_ONCE_BYTES", 1_000)
    path = tmp_path / "own.db"
    with Engine(f"sqlite:///{path}", window=2_000, background=False, load_plugins=False) as engine:
        traces = traces_of(SECRET, talk(engine.thread("t")))
        left = engine.erase("t", ["id-20"])
        assert "larger than" in left.pending[0]
    assert found_in(files_beside(path), traces) == {}


def test_a_purge_that_somebody_else_owes_is_done_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with Engine(f"sqlite:///{path}", window=2_000, background=False, load_plugins=False) as engine:
        traces = traces_of(SECRET, talk(engine.thread("t")))
        left = engine.erase("t", ["id-20"], purge=False)
        assert left.purge == "pending"
        with Engine(f"sqlite:///{path}", load_plugins=False) as other:
            assert other.purge() == ()
        assert found_in(files_beside(path), traces) == {}
        assert engine.removals()[0].purged_at is not None


def test_others_go_on_while_the_files_are_written_anew(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    with Engine(url, window=2_000, load_plugins=False) as engine:
        talk(engine.thread("t"))
        ended = threading.Event()

        def append() -> None:
            while not ended.is_set():
                engine.thread("u").append({"role": "user", "content": "meanwhile"})
                engine.thread("u").messages()

        others = [threading.Thread(target=append) for _ in range(3)]
        for other in others:
            other.start()
        for number in range(20, 26):
            engine.erase("t", [f"id-{number}"])
        ended.set()
        for other in others:
            other.join(30)
        assert engine.verify().problems == ()


def test_every_table_that_may_tell_of_a_message_is_written_anew() -> None:
    operational = {"namespace", "thread", "head", "lease", "spend", "calibration", "correction", "erasure", "tombstone"}
    pointers = {"checkpoint_pool", "checkpoint_inherited"}
    assert {f"lossless_{name}" for name in {*purging.TABLES, *operational, *pointers}} == set(METADATA.tables)
    assert not set(purging.TABLES) & (operational | pointers)


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    try:
        server = own_server("fsync=off", "autovacuum=off")
    except ServerAbsentError as absent:
        pytest.skip(str(absent))
    yield server
    server.remove()


def tables_of(server: Server, url: str) -> list[Path]:
    """Give the files of a database: tables, indexes and catalogues; the server's log of changes is not among them."""
    with psycopg.connect(make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)) as connection:
        row = connection.execute(
            "SELECT current_setting('data_directory'), oid FROM pg_database WHERE datname = current_database()"
        )
        folder, oid = row.fetchone() or ("", 0)
    return list((Path(folder) / "base" / str(oid)).iterdir())


@pytest.mark.parametrize("large", [False, True])
def test_the_tables_of_postgres_hold_no_trace(own: Server, large: bool) -> None:
    with own.database() as url:
        with Engine(url, window=2_000, background=False, load_plugins=False) as engine:
            thread = engine.thread("t")
            traces = traces_of(SECRET, talk(thread, large=large))
            own.execute("CHECKPOINT")
            if not large:  # what PostgreSQL compresses can't be found by looking
                assert found_in(tables_of(own, url), traces)
            left = engine.erase("t", ["id-20"])
            assert left.pending == ()
            assert found_in(tables_of(own, url), traces) == {}
            assert engine.verify().problems == ()
        assert found_in(tables_of(own, url), traces) == {}


def test_an_old_transaction_of_postgres_makes_it_pending(postgres_url: str) -> None:
    plain = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with Engine(postgres_url, window=2_000, background=False, load_plugins=False) as engine:
        talk(engine.thread("t"))
        with psycopg.connect(plain) as reader:
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT 1 FROM pg_class").fetchone()
            assert engine.erase("t", ["id-20"]).purge == "pending"
            reader.execute("SELECT count(*) FROM lossless_message").fetchone()
            assert engine.purge() != ()
        assert engine.purge() == ()
        assert engine.removals()[0].purged_at is not None
