"""A PostgreSQL server that is absent, refuses, throws connections out, or goes away and comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url

from lossless import Engine
from lossless.errors import ConfigError, LosslessError, StoreBusyError, StoreError, StoreOpenError
from lossless.store import postgres as postgres_store
from lossless.store.connection import open_database
from lossless.store.postgres import PostgresDatabase
from lossless.store.prepared import CURSOR, Prepared
from lossless_postgres import Server, ServerAbsentError, own_server
from lossless_prepared import prepared

SECRET = "hunter2-secret"


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresDatabase]:
    opened = open_database(postgres_url)
    assert isinstance(opened, PostgresDatabase)
    opened.write(lambda connection: connection.execute(text("CREATE TABLE noted (name text)")))
    yield opened
    opened.close()


def note(name: str) -> Callable[[Connection], str]:
    def job(connection: Connection) -> str:
        connection.execute(text("INSERT INTO noted (name) VALUES (:name)"), {"name": name})
        return name

    return job


def noted(database: PostgresDatabase) -> list[str]:
    with database.read() as connection:
        return sorted(connection.execute(text("SELECT name FROM noted")).scalars())


def terminate(server: Server, connection: Connection) -> None:
    """Throw a connection out, as an administrator does, and wait until it is gone."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    pid = driver.info.backend_pid
    server.execute("SELECT pg_terminate_backend(%s)", pid)
    while server.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", pid):
        time.sleep(0.01)


# Opening


def test_an_absent_server_is_named_and_the_password_is_not() -> None:
    with pytest.raises(StoreOpenError, match="can't reach") as caught:
        open_database(f"postgresql://somebody:{SECRET}@127.0.0.1:1/somewhere?connect_timeout=2")
    assert "127.0.0.1:1" in str(caught.value)
    assert "somewhere" in str(caught.value)
    assert SECRET not in repr(caught.value) + str(caught.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql+asyncpg://u:{}@h/d", "psycopg"),
        ("postgres+psycopg2://u:{}@h/d", "psycopg"),
        ("postgresql://u:{}@h:port/d", "can't be read"),
        ("mysql://u:{}@h/d", "not known"),
    ],
)
def test_a_url_that_can_not_be_used_is_refused_without_its_password(url: str, words: str) -> None:
    with pytest.raises(StoreOpenError, match=words) as caught:
        open_database(url.format(SECRET))
    assert SECRET not in repr(caught.value) + str(caught.value)


def test_a_database_that_is_not_there_is_named_with_how_to_make_it(postgres: Server) -> None:
    url = postgres.url.set(database="nowhere", password=SECRET).render_as_string(hide_password=False)
    with pytest.raises(StoreOpenError, match="createdb nowhere") as caught:
        open_database(url)
    assert SECRET not in str(caught.value)


def test_a_user_who_is_not_known_is_refused_in_words(postgres: Server) -> None:
    url = postgres.url.set(username="nobody_here", password=SECRET).render_as_string(hide_password=False)
    with pytest.raises(StoreOpenError, match="nobody_here") as caught:
        open_database(url)
    assert SECRET not in str(caught.value)


def test_a_database_in_another_encoding_is_refused(postgres: Server) -> None:
    url = postgres.create(options="ENCODING 'LATIN1' LOCALE 'C'")
    try:
        with pytest.raises(StoreOpenError, match="LATIN1"):
            open_database(url)
    finally:
        postgres.drop(url)


def test_a_database_that_only_reads_can_be_read(postgres: Server, postgres_url: str) -> None:
    with Engine(postgres_url) as engine:
        engine.thread("t").append({"role": "user", "content": "hello"})
    postgres.execute(f"ALTER DATABASE {make_url(postgres_url).database} SET default_transaction_read_only = on")
    reader = postgres_url + "&options=-c%20default_transaction_read_only%3Don"
    with Engine(reader, create=False) as engine:
        assert [message.text for message in engine.thread("t").messages()] == ["hello"]


def test_all_spellings_of_the_url_mean_the_same(postgres_url: str) -> None:
    with Engine(postgres_url) as engine:
        engine.thread("t").append({"role": "user", "content": "hello"})
    for scheme in ("postgresql", "postgres"):
        with Engine(scheme + postgres_url[postgres_url.index("://") :]) as engine:
            assert engine.verify("t").messages == 1


def test_without_the_driver_the_error_names_the_line_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from lossless.errors import ConfigError\n"
        "from lossless.store.connection import open_database\n"
        "try: open_database('postgresql://h/d')\n"
        "except ConfigError as error: print(error)"
    )
    done = prepared().run(code, folder=tmp_path)
    assert done.code == 0, done.err
    assert 'pip install "lossless[postgres]"' in done.out
    assert issubclass(ConfigError, LosslessError)


def test_connections_say_whose_they_are_and_have_limits(database: PostgresDatabase) -> None:
    with database.read() as connection:
        settings = {
            name: connection.execute(text(f"SHOW {name}")).scalar_one()
            for name in ("application_name", "statement_timeout", "lock_timeout", "synchronous_commit", "transaction_isolation")
        }
    assert settings == {
        "application_name": "lossless",
        "statement_timeout": "2min",
        "lock_timeout": "30s",
        "synchronous_commit": "on",
        "transaction_isolation": "repeatable read",
    }


def test_a_connection_at_rest_holds_nothing_of_what_it_read(database: PostgresDatabase) -> None:
    with database.read() as connection:
        kept, cursor = connection.info, connection.info[CURSOR]
        assert Prepared(text("SELECT repeat('x', 1000)")).all(connection, {}) == [("x" * 1000,)]
        assert cursor.pgresult.ntuples == 1
    assert CURSOR not in kept


def test_limits_that_the_url_sets_are_kept(postgres_url: str) -> None:
    opened = open_database(postgres_url + "&application_name=mine&options=-c%20statement_timeout%3D7000", durability="normal")
    with opened.read() as connection:
        assert connection.execute(text("SHOW statement_timeout")).scalar_one() == "7s"
        assert connection.execute(text("SHOW application_name")).scalar_one() == "mine"
        assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "off"
    opened.close()


# Connections that are lost


def test_a_connection_lost_in_the_middle_of_a_write_costs_a_second_run(postgres: Server, database: PostgresDatabase) -> None:
    runs = []

    def job(connection: Connection) -> str:
        runs.append(note(f"run {len(runs)}")(connection))
        if len(runs) == 1:
            terminate(postgres, connection)
        return note("end")(connection)

    assert database.write(job) == "end"
    assert len(runs) == 2
    assert noted(database) == ["end", "run 1"]


def test_connections_lost_while_nobody_used_them_are_not_noticed(postgres: Server, database: PostgresDatabase) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: database.write(note(f"before {n}")), range(12)))
    name = make_url(str(database.url)).database
    for step in (noted, lambda opened: opened.write(note("after"))):
        postgres.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", name)
        while postgres.execute("SELECT 1 FROM pg_stat_activity WHERE datname = %s", name):
            time.sleep(0.01)
        step(database)
    assert len(noted(database)) == 13


@pytest.mark.parametrize("stored", [True, False])
def test_a_commit_that_was_not_answered_is_stored_once(
    postgres: Server, database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    runs: list[str] = []
    commit = psycopg.Connection.commit

    def lose(connection: psycopg.Connection[object]) -> None:
        if runs and len(runs) == 1 and not lost:
            lost.append(True)
            if stored:
                commit(connection)
            postgres.execute("SELECT pg_terminate_backend(%s)", connection.info.backend_pid)
            connection.execute("SELECT 1")  # finds the connection gone, as the missing answer to COMMIT would
        commit(connection)

    lost: list[bool] = []
    monkeypatch.setattr(psycopg.Connection, "commit", lose)
    assert database.write(lambda connection: (runs.append("run"), note("once")(connection))[1]) == "once"
    assert lost
    assert len(runs) == (1 if stored else 2)
    assert noted(database) == ["once"]


def test_a_commit_that_is_still_going_on_is_waited_for(postgres: Server, database: PostgresDatabase, postgres_url: str) -> None:
    """The lost connection's transaction is not over yet when it is asked for; asking waits for it."""
    attempt: postgres_store._Attempt[None] = postgres_store._Attempt(writer="a" * 32)
    slow = psycopg.connect(make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False))
    slow.execute(postgres_store._naming(attempt.writer, attempt.name))
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(database._was_stored, attempt, postgres_store._Patience())
        time.sleep(0.3)
        assert not asked.done()
        slow.commit()
        assert asked.result(10) is True
    slow.close()
    assert database._was_stored(postgres_store._Attempt(writer="a" * 32), postgres_store._Patience()) is False


def test_where_nobody_knows_whether_a_write_is_stored_the_error_says_so(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_arguments: object, **_options: object) -> None:
        raise psycopg.OperationalError("connection failed: connection refused")

    monkeypatch.setattr(postgres_store, "RECONNECT_SECONDS", 0.3)
    monkeypatch.setattr(psycopg.Connection, "commit", gone)
    with pytest.raises(StoreError, match="does not say whether"):
        database.write(note("perhaps"))


def test_writers_in_each_others_way_try_again(database: PostgresDatabase) -> None:
    """Two who take two rows in opposite orders: the server ends one of them, who begins again."""
    for name in ("a", "b"):
        database.write(note(name))
    met = threading.Barrier(2, timeout=10)
    runs: list[str] = []

    def take(first: str, second: str) -> Callable[[Connection], None]:
        def job(connection: Connection) -> None:
            runs.append(first)
            lock = text("SELECT * FROM noted WHERE name = :name FOR UPDATE")
            connection.execute(lock, {"name": first})
            if len(runs) <= 2:
                met.wait()
            connection.execute(lock, {"name": second})
            note(f"{first} then {second}")(connection)

        return job

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(database.write, take("a", "b")), pool.submit(database.write, take("b", "a"))]:
            done.result(30)
    assert len(runs) == 3
    assert noted(database) == ["a", "a then b", "b", "b then a"]


def test_a_writer_who_waits_too_long_is_told_who_to_look_for(postgres_url: str) -> None:
    database = open_database(postgres_url + "&options=-c%20lock_timeout%3D200")
    holding, go = threading.Event(), threading.Event()

    def hold(connection: Connection) -> None:
        connection.execute(text("LOCK TABLE lossless_head"))
        holding.set()
        go.wait(10)

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(database.write, hold)
        assert holding.wait(10)
        with pytest.raises(StoreBusyError, match="pg_stat_activity") as caught:
            database.write(lambda connection: connection.execute(text("SELECT * FROM lossless_head FOR UPDATE")))
        go.set()
        held.result(10)
    assert caught.value.retryable
    database.close()


def test_a_closed_database_leaves_no_rows_of_its_connections(postgres: Server, postgres_url: str) -> None:
    with Engine(postgres_url) as engine, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: engine.thread(f"t{n}").append({"role": "user", "content": "x"}), range(16)))
    database = open_database(postgres_url)
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM lossless_writer")).scalar_one() == 0
    database.close()


# A server that goes away


@pytest.fixture
def own() -> Iterator[Server]:
    try:
        server = own_server()
    except ServerAbsentError as absent:
        pytest.skip(str(absent))
    yield server
    server.remove()


def test_a_server_that_restarts_under_load_loses_and_doubles_nothing(own: Server) -> None:
    acknowledged: list[set[str]] = [set() for _ in range(6)]
    attempted: list[list[str]] = [[] for _ in range(6)]
    failed: list[str] = []
    end = threading.Event()
    with own.database() as url, Engine(url, window=4_000) as engine:

        def go_on(caller: int) -> None:
            thread, number = engine.thread("shared" if caller % 2 else f"own {caller}"), 0
            while not end.is_set():
                said = f"caller {caller} number {number} " + "and so on " * 20
                attempted[caller].append(said)
                try:
                    thread.append({"role": "user", "content": said})
                except LosslessError as error:
                    failed.append(f"{error!r} because of {error.__cause__!r}")
                else:
                    acknowledged[caller].add(said)
                number += 1

        with ThreadPoolExecutor(6) as pool:
            running = [pool.submit(go_on, caller) for caller in range(6)]
            for _ in range(2):
                time.sleep(1)
                own.stop()
                time.sleep(0.3)
                own.start()
            time.sleep(1.5)
            end.set()
            for one in running:
                one.result(60)
        stored: list[str] = []
        for name in ("shared", "own 0", "own 2", "own 4"):
            assert engine.thread(name).wait(60)
            stored += [message.text for message in engine.thread(name).messages()]
        assert engine.verify().ok
    assert not failed, "\n".join(failed)
    assert len(stored) == len(set(stored)), "a write was stored twice"
    assert set().union(*acknowledged) <= set(stored), "an acknowledged write is gone"
    assert set(stored) <= {said for each in attempted for said in each}
    for caller in range(6):
        assert attempted[caller][-1] in acknowledged[caller], "a caller did not get through again by itself"
        mine = [said for said in stored if said.startswith(f"caller {caller} ")]
        assert mine == [said for said in attempted[caller] if said in set(mine)]


def test_a_read_that_loses_its_connection_in_the_middle_is_read_again(
    postgres: Server, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine(postgres_url, window=8_000, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": f"apple number {number}"} for number in range(5)])
        thread.snapshot("five")
        engine.key_of("t")
        reading = PostgresDatabase.read
        lost: list[bool] = []

        @contextmanager
        def losing(database: PostgresDatabase) -> Iterator[Connection]:
            with reading(database) as connection:
                if not lost:
                    lost.append(True)
                    terminate(postgres, connection)
                yield connection

        monkeypatch.setattr(PostgresDatabase, "read", losing)
        reads: list[Callable[[], object]] = [
            lambda: len(thread.messages()) == 5,
            lambda: len(thread.grep("apple")) == 5,
            lambda: len(thread.expand("m_1")) == 1,
            lambda: thread.describe("five")["kind"] == "snapshot",
            lambda: len(thread.snapshots()) == 1,
            lambda: thread.context().total == 5,
            lambda: len(thread.views()) >= 1,
            lambda: len(engine.threads().items) == 1,
            lambda: engine.verify().ok,
        ]
        for read in reads:
            lost.clear()
            assert read()
            assert lost
        lost.clear()
        with pytest.raises(StoreBusyError) as caught, engine.database.read() as connection:
            connection.execute(text("SELECT 1"))
        assert caught.value.interrupted
