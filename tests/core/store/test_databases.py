"""What every database promises, each one the same."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, bindparam, insert, select, text
from sqlalchemy.exc import DBAPIError

from lossless import Engine
from lossless.errors import ClosedError, ConfigError, NotFoundError, SchemaError, StoreError, StoreOpenError
from lossless.store.connection import Database, open_database
from lossless.store.prepared import Prepared
from lossless.store.schema import VERSION_TABLE
from lossless.store.statements import insert_new
from lossless.store.tables import METADATA, NodeRow
from lossless_postgres import Server

NODE = NodeRow.__table__  # type: ignore[attr-defined]
INSERT = Prepared(insert(NODE))
INSERT_NEW = Prepared(insert_new(NODE))
NEWEST = Prepared(
    select(NODE.c.digest, NODE.c.data)
    .where(NODE.c.namespace == bindparam("namespace"))
    .order_by(NODE.c.digest.desc())
    .limit(bindparam("limit"))
)
APPEND_ONLY = ("thread", "blob", "message", "node", "head_log", "summary", "summary_message", "summary_child")


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = open_database(url)
    yield opened
    opened.close()


def node(digest: bytes, data: bytes = b"{}") -> dict[str, object]:
    return {"namespace": "ns", "digest": digest, "data": data}


def put(digest: bytes) -> Callable[[Connection], bytes]:
    def job(connection: Connection) -> bytes:
        INSERT.run(connection, node(digest))
        return digest

    return job


def digests(database: Database) -> set[bytes]:
    with database.read() as connection:
        return {row.digest for row in NEWEST.all(connection, {"namespace": "ns", "limit": 1_000})}


def test_bytes_come_back_as_bytes(database: Database) -> None:
    everything = bytes(range(256))
    database.write(lambda connection: INSERT.run(connection, node(b"\0\xff", everything)))
    with database.read() as connection:
        found = NEWEST.first(connection, {"namespace": "ns", "limit": 1})
    assert (found.digest, found.data) == (b"\0\xff", everything)
    assert type(found.data) is bytes


def test_a_limit_is_bound_like_any_value(database: Database) -> None:
    database.write(lambda connection: INSERT.run(connection, *[node(bytes([n])) for n in range(9)]))
    with database.read() as connection:
        found = NEWEST.all(connection, {"namespace": "ns", "limit": 3})
    assert [row.digest for row in found] == [bytes([8]), bytes([7]), bytes([6])]


def test_what_is_there_already_is_not_inserted_again(database: Database) -> None:
    assert database.write(lambda connection: INSERT_NEW.run(connection, node(b"a", b"first"))) == 1
    assert database.write(lambda connection: INSERT_NEW.run(connection, node(b"a", b"second"))) == 0
    assert database.write(lambda connection: INSERT_NEW.run(connection, node(b"a"), node(b"b"))) == 1
    with database.read() as connection:
        assert [row.data for row in NEWEST.all(connection, {"namespace": "ns", "limit": 9})] == [b"{}", b"first"]


def test_a_reader_sees_one_unchanging_state(database: Database) -> None:
    database.write(put(b"before"))
    with database.read() as connection:
        assert len(NEWEST.all(connection, {"namespace": "ns", "limit": 9})) == 1
        database.write(put(b"meanwhile"))
        assert len(NEWEST.all(connection, {"namespace": "ns", "limit": 9})) == 1
    assert digests(database) == {b"before", b"meanwhile"}


def test_a_reader_can_not_write_by_accident(url: str) -> None:
    if url.startswith("sqlite"):
        pytest.skip("SQLite's readers are kept from writing by nobody")
    database = open_database(url)
    with pytest.raises(StoreError), database.read() as connection:
        put(b"a")(connection)
    assert digests(database) == set()
    database.close()


def test_a_job_that_fails_leaves_nothing_behind(database: Database) -> None:
    def refuse(connection: Connection) -> None:
        put(b"half done")(connection)
        raise NotFoundError("no such thing")

    def collide(connection: Connection) -> None:
        put(b"twice")(connection)
        put(b"twice")(connection)

    with pytest.raises(NotFoundError):
        database.write(refuse)
    with pytest.raises(StoreError, match=r"(?i)unique"):
        database.write(collide)
    assert digests(database) == set()


def test_a_write_inside_a_write_is_refused_in_words(database: Database) -> None:
    with pytest.raises(StoreError, match="inside another"):
        database.write(lambda _connection: database.write(put(b"inner")))
    assert database.write(put(b"after")) == b"after"


@pytest.mark.parametrize("where", ["", "/a.db"], ids=["in memory", "file"])
def test_a_read_inside_a_write_takes_nothing_back(tmp_path: Path, where: str) -> None:
    database = open_database(f"sqlite://{where and f'/{tmp_path}{where}'}")

    def job(connection: Connection) -> None:
        INSERT.run(connection, node(b"a"))
        connection.execute(select(NODE.c.digest))
        digests(database)
        INSERT.run(connection, node(b"b"))

    assert digests(database) == set()
    database.write(job)
    assert digests(database) == {b"a", b"b"}
    with pytest.raises(StoreError, match="inside another one"):
        database.write(lambda _connection: database.write(put(b"c")))
    assert digests(database) == {b"a", b"b"}
    database.close()


def test_a_closed_database_says_so(database: Database) -> None:
    database.write(put(b"a"))
    database.close()
    database.close()
    with pytest.raises(ClosedError):
        database.write(put(b"b"))
    with pytest.raises(ClosedError), database.read():
        pass


@pytest.fixture(scope="module")
def sqlite_filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with Engine(f"sqlite:///{tmp_path_factory.mktemp('filled') / 'a.db'}", window=2_000) as engine:
        yield filled_in(engine)


@pytest.fixture(scope="module")
def postgresql_filled(postgres: Server) -> Iterator[Engine]:
    with postgres.database() as url, Engine(url, window=2_000) as engine:
        yield filled_in(engine)


def filled_in(engine: Engine) -> Engine:
    """Give an engine with rows in every table but for those of summaries of summaries."""
    thread = engine.thread("t")
    for number in range(40):
        thread.append([{"role": "user", "content": f"number {number} of many " * 30}], compact=False)
    while thread.compact(force=True).changed:
        pass
    return engine


@pytest.fixture
def filled(request: pytest.FixtureRequest, kind: str) -> Engine:
    """An engine on a full database of each kind, one for all that must not change it."""
    found: Engine = request.getfixturevalue(f"{kind}_filled")
    return found


@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.parametrize("statement", ["UPDATE lossless_{} SET namespace = 'x'", "DELETE FROM lossless_{}"])
def test_what_is_append_only_can_not_be_changed(filled: Engine, table: str, statement: str) -> None:
    rows = "SELECT count(*) FROM lossless_" + table
    with filled.database.read() as connection:
        before = connection.execute(text(rows)).scalar_one()
    assert before or table == "summary_child"
    if before:
        with pytest.raises(StoreError, match="append-only"):
            filled.database.write(lambda connection: connection.execute(text(statement.format(table))))
    with filled.database.read() as connection:
        assert connection.execute(text(rows)).scalar_one() == before


def test_the_tables_are_those_that_the_migrations_make(database: Database) -> None:
    shared = {table.name for table in METADATA.sorted_tables}
    of_postgres = {"held", "tokens", "lossless_search_tokens"}

    def ours(_object: object, name: str | None, kind: str, _reflected: bool, _other: object) -> bool:
        return name in shared if kind == "table" else name not in of_postgres

    with database.read() as connection:
        context = MigrationContext.configure(
            connection, opts={"include_object": ours, "compare_type": True, "version_table": VERSION_TABLE}
        )
        assert compare_metadata(context, METADATA) == []


def test_many_who_open_an_empty_database_at_once_all_get_it(bare_url: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        opened = list(pool.map(open_database, [bare_url] * 6))
    for number, database in enumerate(opened):
        database.write(put(bytes([number])))
    assert digests(opened[0]) == {bytes([number]) for number in range(6)}
    for database in opened:
        database.close()


def test_a_database_of_a_newer_version_is_refused_and_not_touched(url: str) -> None:
    database = open_database(url)
    database.write(lambda connection: connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")))
    database.close()
    with pytest.raises(SchemaError, match="9999"):
        open_database(url)


def test_nothing_is_made_where_nothing_may_be_made(bare_url: str) -> None:
    with pytest.raises(StoreOpenError):
        open_database(bare_url, create=False)
    open_database(bare_url).close()
    open_database(bare_url, create=False).close()


def test_an_unknown_durability_is_refused(bare_url: str) -> None:
    with pytest.raises(ConfigError, match="durability"):
        open_database(bare_url, durability="sometimes")  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_opens_connections_of_its_own(database: Database) -> None:
    database.write(put(b"parent"))
    digests(database)

    def child(outcome: multiprocessing.Queue[object]) -> None:
        try:
            database.write(put(b"child"))
            outcome.put(len(digests(database)))
        except BaseException as error:
            outcome.put(repr(error))

    context = multiprocessing.get_context("fork")
    outcome: multiprocessing.Queue[object] = context.Queue()  # type: ignore[assignment]
    process = context.Process(target=child, args=(outcome,))
    process.start()
    assert outcome.get(timeout=30) == 2
    process.join(30)
    assert process.exitcode == 0
    database.write(put(b"parent again"))
    assert digests(database) == {b"parent", b"child", b"parent again"}


def test_what_the_driver_raises_never_crosses(database: Database) -> None:
    with pytest.raises(StoreError) as caught, database.read() as connection:
        connection.execute(text("SELECT no_such_column FROM lossless_head"))
    assert isinstance(caught.value.__cause__, DBAPIError)
