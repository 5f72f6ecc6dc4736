"""The schema: made once, migrated when older, refused when newer, the same as the tables say."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import lossless.store.schema
from lossless import Engine
from lossless.errors import SchemaError, StoreOpenError
from lossless.store.connection import open_database
from lossless.store.schema import HEAD_REVISION, VERSION_TABLE
from lossless.store.tables import METADATA
from lossless_children import append_all, children


def test_tables_and_migrations_agree() -> None:
    database = open_database("sqlite://")
    options = {"version_table": VERSION_TABLE, "include_object": lambda _o, name, *_: not str(name).startswith("lossless_search")}
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, METADATA) == []
        found = {row[0] for row in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")}
    database.close()
    assert set(METADATA.tables) <= found


def test_the_newest_revision_is_the_head() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(lossless.store.schema.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [HEAD_REVISION]


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    Engine(f"sqlite:///{path}", load_plugins=False).close()
    before = path.read_bytes()
    Engine(f"sqlite:///{path}", load_plugins=False).close()
    assert path.read_bytes() == before


def test_whichever_new_database_of_a_process_it_is_its_tables_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lossless.store.schema._made", [])  # as if this process had made none yet
    found = []
    for name in ("first", "second", "third"):
        path = tmp_path / f"{name}.db"
        Engine(f"sqlite:///{path}", load_plugins=False).close()
        with sqlite3.connect(path) as connection:
            found.append(
                [
                    connection.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2").fetchall()
                    for columns, table in (
                        ("type, name, tbl_name, sql", "sqlite_schema"),
                        ("tbl, idx, stat", "sqlite_stat1"),
                        ("version_num, 1", VERSION_TABLE),
                    )
                ]
            )
        connection.close()
    assert found[0] == found[1] == found[2]
    assert found[0][2] == [(HEAD_REVISION, 1)]


def test_a_database_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    Engine(f"sqlite:///{path}", load_plugins=False).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(SchemaError) as caught:
        Engine(f"sqlite:///{path}", load_plugins=False)
    assert "9999" in caught.value.message
    assert "pgrade" in caught.value.hint
    assert path.read_bytes() == before


def test_somebody_elses_tables_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        connection.execute("INSERT INTO notes (text) VALUES ('mine')")
    connection.close()
    with Engine(f"sqlite:///{path}", load_plugins=False) as engine:
        engine.thread("t").append({"role": "user", "content": "hello"})
        assert engine.verify().ok
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT text FROM notes").fetchall() == [("mine",)]
    connection.close()


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to have a header" * 40, b"SQLite format 3\0" + b"\1" * 4_000]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StoreOpenError) as caught:
        Engine(f"sqlite:///{path}", load_plugins=False)
    assert caught.value.hint
    assert path.read_bytes() == content
    assert [found.name for found in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with Engine(f"sqlite:///{path}", load_plugins=False) as engine:
        assert engine.verify().ok


def test_processes_may_make_the_same_database_at_once(tmp_path: Path) -> None:
    starter = children()
    for attempt in range(4):
        path = tmp_path / f"{attempt}.db"
        gate = starter.Barrier(3)
        url = f"sqlite:///{path}"
        started = [starter.Process(target=append_all, args=(url, f"t{n}", f"child {n}", 1, gate, {})) for n in range(3)]
        for child in started:
            child.start()
        for child in started:
            child.join(60)
        assert [child.exitcode for child in started] == [0, 0, 0]
        with Engine(f"sqlite:///{path}", load_plugins=False) as engine:
            assert engine.verify().ok
            assert sorted(thread.id for thread in engine.threads()) == ["t0", "t1", "t2"]
