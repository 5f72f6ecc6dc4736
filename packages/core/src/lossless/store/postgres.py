"""PostgreSQL through psycopg: reads in one unchanging state, writes in parallel, and a server that may go away meanwhile.

Writes run in READ COMMITTED. What keeps them apart is the head's row, locked before anything that depends on it is read, so
writers of one thread follow one another and those of different threads do not wait.

A connection that is lost during ``COMMIT`` leaves open whether the write is stored. Every write therefore names itself, in its
own transaction, in the row of ``lossless_writer`` that belongs to its connection: if that row has the name, the write is stored.
(The state of a transaction id would cost no row, but after a crash an id that never reached the disk is given out again.)
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from lossless.errors import ClosedError, StoreBusyError, StoreError, StoreOpenError
from lossless.store.database import BUSY_TIMEOUT_SECONDS, Database, Durability
from lossless.store.forking import ForkGate
from lossless.store.postgres_errors import is_conflict, is_dropped, translate
from lossless.store.postgres_settings import connection_settings
from lossless.store.prepared import CURSOR
from lossless.store.purging import purge_postgres
from lossless.store.schema import VERSION_TABLE, current_revision, newest_revision, prepare_schema, refuse_revision
from lossless.store.vault import VAULT, Vault

__all__ = ["PostgresDatabase", "open_postgres"]

T = TypeVar("T")

RECONNECT_SECONDS = 15.0
"""How long a read or a write waits for a server that went away, before it gives up."""
MOST_CONFLICTS = 12
"""How often a write begins again because another one was in its way."""
_POOLED, _MOST = 8, 40
_STALE_MILLISECONDS = 7 * 24 * 3600 * 1000
_BEGIN, _WRITER, _MADE_AT = "lossless_begin", "lossless_writer", "lossless_made_at"
_FOUND = "lossless_schema_found"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_MIGRATE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_FAILURES = (psycopg.Error, DBAPIError, PoolTimeout, UnicodeEncodeError)
_ASKING = f"; SELECT version_num FROM {VERSION_TABLE}"  # noqa: S608 - a constant


def open_postgres(url: URL, *, durability: Durability, create: bool, vault: Vault) -> PostgresDatabase:
    """Open a database of a server and bring its schema up to date.

    Raises:
        StoreOpenError: the server can't be reached or refuses, the database is absent, not in UTF-8, or holds nothing of ours and
            that is not to be created.
        SchemaError: made by a newer version.
    """
    database = PostgresDatabase(url, durability, vault)
    try:
        database.prepare(create)
    except BaseException:
        database.close()
        raise
    return database


@dataclass(slots=True)
class _Attempt(Generic[T]):
    """One run of a job: the name of the write, the writer's row that keeps it, and how far it came."""

    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    writer: str = ""
    committing: bool = False
    result: T | None = None


class _Patience:
    """How long somebody goes on after failures: a while for a server that went away, some rounds for conflicts."""

    def __init__(self) -> None:
        self._until: float | None = None
        self._rounds = 0

    def bears(self, error: psycopg.Error | DBAPIError) -> bool:
        """Wait a little and say that it is worth another try, or that it is not."""
        if is_conflict(error):
            self._rounds += 1
            time.sleep(random.uniform(0, 0.005 * 2 ** min(self._rounds, 7)))  # noqa: S311 - not for secrets
            return self._rounds <= MOST_CONFLICTS
        if not is_dropped(error):
            return False
        now = time.monotonic()
        self._until = self._until or now + RECONNECT_SECONDS
        time.sleep(random.uniform(0.01, 0.25))  # noqa: S311
        return now < self._until


class PostgresDatabase(Database):
    """A database of a PostgreSQL server, behind a pool of connections."""

    def __init__(self, url: URL, durability: Durability, vault: Vault) -> None:
        self.url = url
        self.vault = vault
        self._durability = durability
        self._lost_at = 0.0
        self._revision = newest_revision()
        self._engine = self._make_engine()
        self._abandoned: list[Engine] = []
        self.gate = ForkGate(self._after_fork)
        self._writers: set[str] = set()
        self._here = threading.local()
        self._closed = False

    def prepare(self, create: bool) -> None:
        """Make our tables, or bring them up to date; a database that is up to date is only looked at.

        Raises:
            StoreOpenError: it has none of our tables and ``create`` is false, or it is not in UTF-8.
        """
        try:
            with self._transaction(_READ) as connection:
                encoding = _driver(connection).info.parameter_status("server_encoding")
                if encoding != "UTF8":
                    raise StoreOpenError(
                        f"the database {self.url.database} is in {encoding}", hint="create one with ENCODING 'UTF8'"
                    )
                self.schema_before = current_revision(connection)
                if self.schema_before is not None:
                    return
            if not create:
                raise StoreOpenError(
                    f"the database {self.url.database} holds no Lossless tables",
                    hint="check the URL, or make them with `lossless import`",
                )
            with self._transaction(_MIGRATE) as connection:
                self.schema_before = prepare_schema(connection)
                connection.commit()
        except (psycopg.Error, DBAPIError, PoolTimeout) as error:
            raise translate(error, self.url, opening=True) from error

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection that sees one unchanging state of the database."""
        self._check_open()
        begun = False
        try:
            with self.gate, self._patient_transaction(_READ + _ASKING) as connection:
                begun = True
                yield self._announced(connection)
        except _FAILURES as error:
            said = translate(error, self.url)
            if isinstance(said, StoreBusyError) and not isinstance(error, (PoolTimeout, UnicodeEncodeError)):
                said.interrupted = begun and is_dropped(error)
            raise said from error

    def write(self, job: Callable[[Connection], T]) -> T:
        """Run a job in a transaction of its own, again if another one was in its way or the connection was lost."""
        self._check_open()
        if getattr(self._here, "writing", False):
            raise StoreError("a write was begun inside another one", hint="call the engine after the hook or policy has returned")
        self._here.writing = True
        try:
            with self.gate:
                return self._write(job)
        except _FAILURES as error:
            raise translate(error, self.url) from error
        finally:
            self._here.writing = False

    def purge(self, *, at_any_size: bool) -> tuple[str, ...]:
        """Write the tables and their indexes anew, on a connection of its own."""
        self._check_open()
        try:
            with self.gate, self._engine.connect() as connection:
                driver = _driver(connection)
                connection.detach()  # its settings are changed
                return purge_postgres(driver, at_any_size=at_any_size)
        except (psycopg.Error, DBAPIError, PoolTimeout) as error:
            raise translate(error, self.url) from error

    def close(self) -> None:
        """Close every connection. Idempotent."""
        with self.gate:
            if self._writers and not self._closed:
                self._forget_writers()
            self._closed = True
            self._engine.dispose()

    def _write(self, job: Callable[[Connection], T]) -> T:
        patience = _Patience()
        while True:
            attempt: _Attempt[T] = _Attempt()
            try:
                self._run(job, attempt)
            except (psycopg.Error, DBAPIError) as error:
                in_doubt = attempt.committing and is_dropped(error)
                if in_doubt and self._was_stored(attempt, patience):
                    return attempt.result  # type: ignore[return-value]
                if not in_doubt and not patience.bears(error):
                    raise
                self._check_open()
            else:
                return attempt.result  # type: ignore[return-value]

    def _run(self, job: Callable[[Connection], T], attempt: _Attempt[T]) -> None:
        with self._engine.connect() as connection:
            attempt.writer = connection.info.setdefault(_WRITER, uuid.uuid4().hex)
            self._writers.add(attempt.writer)
            begin = f"BEGIN ISOLATION LEVEL READ COMMITTED; {_naming(attempt.writer, attempt.name)}{_ASKING}"
            with self._begun(connection, begin):
                self._check_schema(connection)
                attempt.result = job(connection)
                attempt.committing = True
                connection.commit()

    def _was_stored(self, attempt: _Attempt[Any], patience: _Patience) -> bool:
        """Find out whether a write whose ``COMMIT`` was not answered is stored.

        Naming the writer's row again waits for whatever the lost connection's transaction still does, even if it made the row.

        Raises:
            StoreError: the server does not come back in time, so nobody knows.
        """
        naming = _naming(attempt.writer, "", keep=True) + " RETURNING operation"
        while True:
            try:
                with self._transaction(_MIGRATE) as connection:
                    name = connection.exec_driver_sql(naming).scalar_one()
                    connection.commit()
                return bool(name == attempt.name)
            except (psycopg.Error, DBAPIError, PoolTimeout) as error:
                if isinstance(error, PoolTimeout) or not patience.bears(error):
                    raise StoreError(
                        "the connection was lost during a commit, and the server does not say whether the write is stored",
                        hint="look at the thread before writing the same again",
                    ) from error

    @contextmanager
    def _patient_transaction(self, begin: str) -> Iterator[Connection]:
        """Begin a transaction, on another connection if the first ones turn out to be lost."""
        patience = _Patience()
        while True:
            connection = None
            try:
                connection = self._engine.connect()
                self._start(connection, begin)
            except (psycopg.Error, DBAPIError) as error:
                if connection is not None:
                    self._dismiss(connection)
                if not patience.bears(error):
                    raise
                continue
            break
        with connection, self._minded(connection):
            self._check_schema(connection)
            yield connection
            try:
                connection.rollback()
            except (psycopg.Error, DBAPIError):  # what was to be read is read
                self._dismiss(connection)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        with self._engine.connect() as connection, self._begun(connection, begin):
            yield connection

    @contextmanager
    def _begun(self, connection: Connection, begin: str) -> Iterator[None]:
        with self._minded(connection):
            self._start(connection, begin)
            yield

    def _start(self, connection: Connection, begin: str) -> None:
        connection.execution_options(**{_BEGIN: begin})
        connection.begin()

    @contextmanager
    def _minded(self, connection: Connection) -> Iterator[None]:
        """See to it that neither a lost connection nor one with an open transaction goes back to the pool."""
        try:
            yield
        except BaseException as error:
            lost = isinstance(error, (psycopg.Error, DBAPIError)) and is_dropped(error)
            if not connection.invalidated and (lost or _driver(connection).closed or not _ended(connection)):
                self._dismiss(connection)
            raise

    def _dismiss(self, connection: Connection) -> None:
        """Drop a connection, and sooner or later all that are older: where one is lost, as a rule the others are, too."""
        self._lost_at = time.monotonic()
        if not connection.invalidated:
            connection.invalidate()
        connection.close()

    def _forget_writers(self) -> None:
        """Remove the rows of our connections, and those that a crash left behind."""
        try:
            with self._transaction(_MIGRATE) as connection:
                connection.exec_driver_sql(
                    "DELETE FROM lossless_writer WHERE id = ANY(%(ids)s) OR at < %(stale)s",
                    {"ids": sorted(self._writers), "stale": time.time_ns() // 1_000_000 - _STALE_MILLISECONDS},
                )
                connection.commit()
        except (psycopg.Error, DBAPIError, PoolTimeout):
            return  # they cost a few bytes; whoever closes next removes them
        finally:
            self._writers.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the engine is closed", hint="open a new one")

    def _check_schema(self, connection: Connection) -> None:
        """Refuse to go on in a transaction of a database that a newer version has migrated meanwhile."""
        refuse_revision(connection.info.pop(_FOUND, None), self._revision)

    def _after_fork(self) -> None:
        """In a child, leave the parent's connections alone and open our own."""
        self._abandoned.append(self._engine)
        self._engine = self._make_engine()
        self._writers = set()
        self._here = threading.local()

    def _make_engine(self) -> Engine:
        defaults = {"application_name": "lossless", "connect_timeout": "10", "client_encoding": "utf8"}
        engine = create_engine(
            self.url,
            poolclass=QueuePool,
            pool_size=_POOLED,
            max_overflow=_MOST - _POOLED,
            pool_timeout=BUSY_TIMEOUT_SECONDS,
            pool_use_lifo=True,
            use_native_hstore=False,
            execution_options={VAULT: self.vault},
            connect_args={name: value for name, value in defaults.items() if name not in self.url.query},
        )
        settings = connection_settings(self._durability)

        @event.listens_for(engine, "connect")
        def _configure(driver: psycopg.Connection[Any], record: ConnectionPoolEntry) -> None:
            record.info[_MADE_AT] = time.monotonic()
            driver.autocommit = True  # transactions are begun by our own words, in one round trip
            driver.execute(settings, prepare=False)

        @event.listens_for(engine, "checkout")
        def _check(_driver: object, record: ConnectionPoolEntry, _proxy: object) -> None:
            if record.info[_MADE_AT] < self._lost_at:
                raise DisconnectionError("made before another connection was lost")

        @event.listens_for(engine, "checkin")
        def _forget(_driver: object, record: ConnectionPoolEntry) -> None:
            record.info.pop(CURSOR, None)  # and with it what its last statement gave

        @event.listens_for(engine, "begin")
        def _begin(connection: Connection) -> None:
            begin = connection.get_execution_options()[_BEGIN]
            cursor = connection.info[CURSOR] = _driver(connection).execute(begin, prepare=False)
            if begin.endswith(_ASKING):
                while cursor.nextset():
                    pass
                connection.info[_FOUND] = (cursor.fetchone() or (None,))[0]

        return engine


def _naming(writer: str, name: str, *, keep: bool = False) -> str:
    """Write the statement that names a write in its writer's row; all values are hexadecimal digits or integers."""
    at = time.time_ns() // 1_000_000
    return (
        f"INSERT INTO lossless_writer (id, operation, at) VALUES ('{writer}', '{name}', {at}) "  # noqa: S608
        "ON CONFLICT (id) DO UPDATE SET " + ("" if keep else "operation = excluded.operation, ") + "at = excluded.at"
    )


def _ended(connection: Connection) -> bool:
    """End the transaction of a connection, if there is one; SQLAlchemy takes it for ended once a commit was tried."""
    try:
        connection.rollback()
        driver = _driver(connection)
        if driver.info.transaction_status != TransactionStatus.IDLE:
            driver.rollback()
    except (psycopg.Error, DBAPIError):
        return False
    return True


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver
