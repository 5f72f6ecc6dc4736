"""SQLite's planner is told the shape of our tables, so that a lookup in a long thread never walks the thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from lossless import Engine
from lossless.dag import editing, summaries
from lossless.store import append, planning, read
from lossless.store.connection import Database, open_database
from lossless.store.prepared import Prepared
from lossless.store.tables import METADATA


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path / 'plans.db'}")
    yield opened
    opened.close()


def plan(database: Database, statement: Prepared) -> str:
    with database.read() as connection:
        compiled = statement._for(connection)
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        rows = driver.execute(f"EXPLAIN QUERY PLAN {compiled.sql}", [1] * compiled.sql.count("?")).fetchall()
    return "; ".join(str(row[3]) for row in rows)


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (read._BY_ID.newest_given, "lossless_message_id (namespace=? AND thread_id=? AND id=? AND seq>? AND seq<?)"),
        (append._BY_ID.given, "lossless_message_id (namespace=? AND thread_id=? AND id=? AND seq>? AND seq<?)"),
        (read._BY_ID.derived, "PRIMARY KEY (namespace=? AND thread_id=? AND seq=?)"),
        (read._REQUESTS_BEFORE, "lossless_message_request (namespace=? AND thread_id=? AND seq>? AND seq<?)"),
        (read._UNIT_PARTNERS, "lossless_message_unit (namespace=? AND thread_id=? AND unit=? AND seq>? AND seq<?)"),
        (read._LATER_MEMBERS, "lossless_message_unit (namespace=? AND thread_id=? AND unit>? AND unit<?)"),
        (read._BETWEEN, "PRIMARY KEY (namespace=? AND thread_id=? AND seq>? AND seq<?)"),
        (editing._REVISIONS, "lossless_message_revises (namespace=? AND thread_id=? AND revises>?)"),
        (summaries._BY_SPAN, "lossless_summary_span (namespace=? AND thread_id=? AND span_key=?)"),
        (summaries._OVER, "lossless_summary_message_seq (namespace=? AND thread_id=? AND seq=?)"),
        (summaries._PARENTS, "lossless_summary_child_child (namespace=? AND thread_id=? AND child_id=?)"),
    ],
)
def test_a_lookup_goes_through_its_index(database: Database, statement: Prepared, index: str) -> None:
    assert index in plan(database, statement)


def test_every_table_and_index_of_ours_is_described() -> None:
    described = {(table, index) for table, index, _shape in planning._SHAPES}
    for table in METADATA.sorted_tables:
        names = {str(index.name) for index in table.indexes}
        assert names <= {index for described_table, index in described if described_table == table.name}
        assert any(described_table == table.name for described_table, _index in described)
    assert {table for table, _index in described} == {table.name for table in METADATA.sorted_tables}


def test_the_description_outlives_an_analysis_and_harms_none(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'analysed.db'}"
    with Engine(url, load_plugins=False) as engine:
        engine.thread("t").append({"role": "user", "content": "one", "id": "a"})
    with sqlite3.connect(tmp_path / "analysed.db") as connection:
        connection.execute("ANALYZE")
    connection.close()
    with Engine(url, load_plugins=False) as engine:
        engine.thread("t").append({"role": "user", "content": "one", "id": "a"})
        assert [message.id for message in engine.thread("t").messages()] == ["a"]
        assert engine.verify().ok
