"""The database itself refuses to change or drop what was stored."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from lossless import Engine
from lossless.errors import StoreError
from lossless.store.connection import open_database
from lossless.store.guards import GUARDED
from lossless.store.tables import METADATA

MUTABLE = set(METADATA.tables) - {f"lossless_{name}" for name in GUARDED} | {"lossless_erasure"}
IMMUTABLE = sorted(set(METADATA.tables) - MUTABLE)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "stored.db"
    with Engine(f"sqlite:///{path}", window=2_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        for number in range(80):
            thread.append({"id": f"id-{number}", "role": "user", "content": f"{number} " + "some words to count " * 8})
        thread.append({"id": "id-3", "role": "user", "content": "another content"})
        thread.compact(force=True)
        thread.snapshot("now")
        engine.erase("t", ["id-5"])
    return path


@pytest.fixture
def database(stored: Path, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(shutil.copy(stored, tmp_path), isolation_level=None)
    yield connection
    connection.close()


def test_what_a_conversation_is_made_of_is_among_what_can_not_be_changed() -> None:
    made_of = (
        "message",
        "blob",
        "summary",
        "summary_message",
        "summary_child",
        "node",
        "head_log",
        "snapshot",
        "thread",
        "tombstone",
    )
    assert {f"lossless_{name}" for name in made_of} <= set(IMMUTABLE)


@pytest.mark.parametrize("table", IMMUTABLE)
def test_rows_can_not_be_changed(database: sqlite3.Connection, table: str) -> None:
    assert database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0
    for column in METADATA.tables[table].columns:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            database.execute(f"UPDATE {table} SET {column.name} = {column.name}")


@pytest.mark.parametrize("table", IMMUTABLE)
def test_rows_can_not_be_deleted(database: sqlite3.Connection, table: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        database.execute(f"DELETE FROM {table}")


@pytest.mark.parametrize("table", IMMUTABLE)
def test_the_engines_own_connections_can_not_replace_rows_either(stored: Path, tmp_path: Path, table: str) -> None:
    columns = ", ".join(column.name for column in METADATA.tables[table].columns)
    replace = text(f"REPLACE INTO {table} ({columns}) SELECT {columns} FROM {table}")
    database = open_database(f"sqlite:///{shutil.copy(stored, tmp_path)}")
    with pytest.raises(StoreError, match="append-only"):
        database.write(lambda connection: connection.execute(replace))
    database.close()


def test_a_source_can_not_dangle(stored: Path, tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{shutil.copy(stored, tmp_path)}")
    insert = text(
        "INSERT INTO lossless_summary_message "
        "SELECT namespace, thread_id, summary_id, 9999, source_thread, 8888 FROM lossless_summary_message LIMIT 1"
    )
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        database.write(lambda connection: connection.execute(insert))
    database.close()


@pytest.mark.parametrize("kind", ["erase", "collect"])
def test_an_open_removal_allows_what_it_is_for_and_in_its_namespace_only(database: sqlite3.Connection, kind: str) -> None:
    columns = "(namespace, number, kind, who, reason, rows, open, at)"
    database.execute(f"INSERT INTO lossless_erasure {columns} VALUES ('other', 1, '{kind}', '', '', 0, 1, 0)")
    for table in IMMUTABLE:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            database.execute(f"DELETE FROM {table}")
    database.execute(f"INSERT INTO lossless_erasure {columns} VALUES ('default', 9, '{kind}', '', '', 0, 1, 0)")
    database.execute("PRAGMA foreign_keys = OFF")
    refused = {"lossless_namespace", "lossless_tombstone"}
    if kind == "erase":
        refused |= {"lossless_thread", "lossless_message", "lossless_head_log", "lossless_snapshot"}
    for table in IMMUTABLE:
        if table in refused:
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                database.execute(f"DELETE FROM {table}")
        else:
            assert database.execute(f"DELETE FROM {table}").rowcount > 0
    for table, column in (("message", "role"), ("message", "id"), ("head_log", "why"), ("snapshot", "name")):
        if kind == "erase":
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                database.execute(f"UPDATE lossless_{table} SET {column} = 'x'")


def test_no_removal_is_left_open(database: sqlite3.Connection) -> None:
    assert database.execute("SELECT count(*), sum(open) FROM lossless_erasure").fetchone() == (1, 0)
