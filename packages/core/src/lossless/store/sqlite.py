"""SQLite: any number of readers, and one writer at a time, whose commits are shared by all who wait."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, QueuePool, StaticPool

from lossless.errors import ClosedError, StoreBusyError, StoreError, StoreOpenError
from lossless.store.database import BUSY_TIMEOUT_SECONDS, Database, Durability
from lossless.store.forking import ForkGate
from lossless.store.gathering import Gathering
from lossless.store.purging import purge_sqlite
from lossless.store.schema import (
    VERSION_TABLE,
    current_revision,
    known_revision,
    newest_revision,
    prepare_schema,
    refuse_revision,
)
from lossless.store.sqlite_errors import in_our_words, translate
from lossless.store.sqlite_files import check_path, is_read_only, path_of, reading_address
from lossless.store.sqlite_readers import Readers, clear, driver_of
from lossless.store.vault import VAULT, Vault

__all__ = ["SqliteDatabase", "open_sqlite"]

T = TypeVar("T")

_WRITING = "lossless_writing"
_IDLE = 8
"""Connections that are kept for readers."""


def open_sqlite(url: URL, *, durability: Durability, create: bool, vault: Vault) -> SqliteDatabase:
    """Open a file, or a database in memory, and bring its schema up to date.

    Raises:
        StoreOpenError: no such directory, no permission, not a database, or absent and not to be created.
        SchemaError: made by a newer version.
    """
    path = path_of(url)
    if path is not None:
        check_path(path, create)
    database = SqliteDatabase(url, durability, vault)
    try:
        database.prepare()
    except StoreError as error:
        database.close()
        if isinstance(error.__cause__, (DBAPIError, sqlite3.Error)) and not isinstance(error, (StoreOpenError, StoreBusyError)):
            raise StoreOpenError(f"can't open {path or url}: {error.message}", hint=error.hint) from error
        raise
    except BaseException:
        database.close()
        raise
    return database


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a database to its write-ahead log; while somebody else does, SQLite says "locked" at once, whatever the timeout."""
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


class _Ticket(Generic[T]):
    """A write, and what came of it. Its caller holds ``turn`` until the write is done or the caller has to lead."""

    __slots__ = ("done", "error", "job", "leads", "result", "turn")

    def __init__(self, job: Callable[[Connection], T]) -> None:
        self.job = job
        self.done = False
        self.leads = False
        self.result: T | None = None
        self.error: BaseException | None = None
        self.turn = threading.Lock()
        self.turn.acquire()


class SqliteDatabase(Database):
    """One open database: any number of readers, and writers that share commits.

    Whoever comes first leads: it commits for all who came while the commit before was being written to the disk, then hands the
    lead to the first of those who came meanwhile. There is no writer thread, so nothing has to be started again in a forked
    child, and a lone writer pays for no hand-over.
    """

    def __init__(self, url: URL, durability: Durability, vault: Vault) -> None:
        self.url = url
        self.vault = vault
        self._durability = durability
        path = path_of(url)
        self._in_memory = path is None
        self._read_only = path if path is not None and is_read_only(path) else None
        self._revision = newest_revision()
        self._looked_at: int | None = None  # SQLite's own count of changes to the schema, when ours was last known to be right
        self._engine = self._make_engine()
        self._abandoned: list[object] = []
        self._readers = self._make_readers()
        self.gate = ForkGate(self._after_fork)
        self._writing = threading.RLock()  # held by whoever uses the writing connection
        self._guard = threading.Lock()  # over the three below
        self._queue: deque[_Ticket[Any]] = deque()
        self._led = False
        self._gathering = Gathering()
        self._leader: int | None = None  # the thread that runs jobs
        self._writer: Connection | None = None
        self._closed = False

    def prepare(self) -> None:
        """Make our tables, or bring them up to date; where nothing can be written, see whether they are."""
        if self._read_only is None:
            with self.read() as connection:
                self.schema_before = current_revision(connection)
            if self.schema_before is None:
                self.schema_before = self.write(prepare_schema)
        else:
            with self.read() as connection:
                self.schema_before = known_revision(connection)
        self._looked_at = -1

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection that sees one unchanging state of the database."""
        self._check_open()
        if self._in_memory:
            with self._writing, self.gate, self._translated():
                yield self._announced(self._write_connection())
            return
        with self.gate, self._translated(), self._readers.transaction() as connection:
            self._check_schema(driver_of(connection))
            yield self._announced(connection)

    def write(self, job: Callable[[Connection], T]) -> T:
        """Run a job in a transaction that several callers may share; where one fails, each runs again by itself."""
        self._check_open(to_write=True)
        if self._leader == threading.get_ident():
            raise StoreError("a write was begun inside another one", hint="call the engine after the hook or policy has returned")
        ticket = _Ticket(job)
        if self._in_memory:
            with self._writing:
                self._run([ticket])
        else:
            self._queue_up(ticket)
        if ticket.error is not None:
            raise ticket.error
        return ticket.result  # type: ignore[return-value]

    def purge(self, *, at_any_size: bool) -> tuple[str, ...]:
        """Write the index and the file anew and empty the log; readers of older states keep the log."""
        self._check_open(to_write=True)
        with self._writing, self.gate, self._translated():
            connection = self._write_connection()
            driver = driver_of(connection)
            return purge_sqlite(driver, at_any_size=at_any_size, on_disk=not self._in_memory)

    def close(self) -> None:
        """Close every connection. Idempotent."""
        with self._writing:
            self._closed = True
            with self.gate:
                if self._writer is not None:
                    self._writer.close()
                self._writer = None
                self._readers.close()
                self._engine.dispose()

    def _check_open(self, *, to_write: bool = False) -> None:
        if self._closed:
            raise ClosedError("the engine is closed", hint="open a new one")
        if to_write and self._read_only is not None:
            raise translate("read-only", self.url)

    def _check_schema(self, driver: sqlite3.Connection) -> None:
        """Refuse to go on in a transaction of a database that a newer version has migrated meanwhile."""
        if self._looked_at is None or self._in_memory:
            return
        count = driver.execute("PRAGMA schema_version").fetchone()[0]
        if count != self._looked_at:
            row = driver.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608 - a constant
            refuse_revision(row[0] if row else None, self._revision)
            self._looked_at = count

    def _after_fork(self) -> None:
        """In a child, leave the parent's connections alone (not even closing them is safe) and open our own.

        A database in memory was copied with the process.
        """
        if not self._in_memory:
            self._abandoned.append((self._engine, self._writer, self._readers))
            self._engine = self._make_engine()
            self._readers = self._make_readers()
            self._writer = None
        self._writing = threading.RLock()
        self._guard = threading.Lock()
        self._queue = deque()
        self._led = False
        self._gathering = Gathering()
        self._leader = None

    def _queue_up(self, ticket: _Ticket[Any]) -> None:
        """Wait until somebody has run the job, or lead."""
        with self._guard:
            self._queue.append(ticket)
            self._gathering.noticed(len(self._queue))
            ticket.leads, self._led = not self._led, True
        if not ticket.leads:
            try:
                ticket.turn.acquire()
            except BaseException:
                self._leave(ticket)
                raise
        if ticket.leads:
            self._lead(ticket)

    def _lead(self, ticket: _Ticket[Any]) -> None:
        """Commit for everybody who waits."""
        try:
            with self._writing:
                self._gathering.wait(self._guard, self._queue)
                with self._guard:
                    tickets = list(self._queue)
                    self._queue.clear()
                try:
                    self._run(tickets)
                finally:
                    if len(tickets) > 1:
                        self._dismiss([other for other in tickets if other is not ticket])
        finally:
            self._leave(ticket)

    def _dismiss(self, tickets: list[_Ticket[Any]]) -> None:
        """Let the others go; those whose jobs an interrupt kept from running wait on."""
        with self._guard:
            self._queue.extendleft(ticket for ticket in reversed(tickets) if not ticket.done)
        for ticket in tickets:
            if ticket.done:
                ticket.turn.release()

    def _leave(self, ticket: _Ticket[Any]) -> None:
        """Wait no more, and hand the lead on where it was this ticket's."""
        with self._guard:
            if ticket in self._queue:
                self._queue.remove(ticket)
            if not ticket.leads:
                return
            ticket.leads = False
            self._led = bool(self._queue)
            if self._queue:
                self._queue[0].leads = True
                self._queue[0].turn.release()

    def _run(self, tickets: list[_Ticket[Any]]) -> None:
        """Run jobs in one transaction; where one fails, each in a transaction of its own, so that none harms the others."""
        try:
            with self.gate:
                self._check_open()
                self._commit(tickets)
        except Exception as raised:
            error = in_our_words(raised, self.url)
            if len(tickets) > 1 and not isinstance(error, (ClosedError, StoreBusyError)):
                for ticket in tickets:
                    self._run([ticket])
                return
            for ticket in tickets:
                ticket.error, ticket.done = error, True

    def _commit(self, tickets: list[_Ticket[Any]]) -> None:
        connection = self._write_connection()
        self._leader = threading.get_ident()
        try:
            # Beginning and committing through SQLAlchemy would cost a lone append a twentieth of its time.
            driver = driver_of(connection)
            driver.execute("BEGIN IMMEDIATE")
            self._check_schema(driver)
            for ticket in tickets:
                ticket.result = ticket.job(connection)
            began = time.monotonic()
            if connection.in_transaction():  # a job used SQLAlchemy, which then keeps a transaction of its own over ours
                connection.commit()
            else:
                driver.execute("COMMIT")
            self._gathering.committed(len(tickets), time.monotonic() - began)
        except BaseException:
            if not clear(connection):
                self._writer = None
            raise
        finally:
            self._leader = None
        for ticket in tickets:
            ticket.done = True

    def _write_connection(self) -> Connection:
        if self._writer is None:
            self._writer = self._engine.connect().execution_options(**{_WRITING: True})
        if self._in_memory and self._leader is None and self._writer.in_transaction():
            self._writer.rollback()  # of a read; one within a write sees what that has written
        return self._writer

    def _make_readers(self) -> Readers:
        return Readers(self._engine, keep=0 if self._read_only is not None else _IDLE)

    def _make_engine(self) -> Engine:
        arguments: dict[str, Any] = {"timeout": BUSY_TIMEOUT_SECONDS, "check_same_thread": False}
        options: dict[str, Any] = {"connect_args": arguments, "execution_options": {VAULT: self.vault}}
        if self._in_memory:
            engine = create_engine(self.url, poolclass=StaticPool, **options)
        elif (path := self._read_only) is not None:
            options["creator"] = lambda: sqlite3.connect(reading_address(path), uri=True, **arguments)
            engine = create_engine(self.url, poolclass=NullPool, **options)
        else:
            engine = create_engine(self.url, poolclass=QueuePool, pool_size=8, max_overflow=-1, **options)
        synchronous = "FULL" if self._durability == "full" else "NORMAL"

        @event.listens_for(engine, "connect")
        def _configure(connection: sqlite3.Connection, _record: object) -> None:
            connection.isolation_level = None
            if self._read_only is not None:
                return
            _use_write_ahead_log(connection)
            # Triggers must fire, too, for rows that a REPLACE removes.
            safe = (f"synchronous={synchronous}", "foreign_keys=ON", "recursive_triggers=ON")
            # A checkpoint waits for the disk twice or more; four times as rare as usual, the log has 16 MB at the most as a rule.
            for pragma in (*safe, "cache_size=-16000", "wal_autocheckpoint=4000"):
                connection.execute(f"PRAGMA {pragma}")

        @event.listens_for(engine, "begin")
        def _begin(connection: Connection) -> None:
            # A deferred transaction that turns from reading to writing fails at once when somebody else wrote in between.
            writing = connection.get_execution_options().get(_WRITING)
            driver = driver_of(connection)
            if not driver.in_transaction:
                driver.execute("BEGIN IMMEDIATE" if writing else "BEGIN")

        return engine

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error, UnicodeError) as error:
            raise in_our_words(error, self.url) from error
