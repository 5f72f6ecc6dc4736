"""SQLite: any number of readers, and one writer at a time, whose commits are shared by all who wait."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool, StaticPool

from lossless.errors import ClosedError, StoreBusyError, StoreError, StoreOpenError
from lossless.store.database import BUSY_TIMEOUT_SECONDS, Database, Durability
from lossless.store.forking import ForkGate
from lossless.store.gathering import Gathering
from lossless.store.purging import purge_sqlite
from lossless.store.schema import VERSION_TABLE, prepare_schema
from lossless.store.vault import VAULT, Vault

__all__ = ["SqliteDatabase", "open_sqlite"]

T = TypeVar("T")

_WRITING = "lossless_writing"


def open_sqlite(url: URL, *, durability: Durability, create: bool, vault: Vault) -> SqliteDatabase:
    """Open a file, or a database in memory, and bring its schema up to date.

    Raises:
        StoreOpenError: no such directory, no permission, not a database, or absent and not to be created.
        SchemaError: made by a newer version.
    """
    path = _path(url)
    if path is not None:
        _check_path(path, create)
    database = SqliteDatabase(url, durability, vault)
    try:
        database.schema_before = database.write(prepare_schema)
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
        self._in_memory = _path(url) is None
        self._engine = self._make_engine()
        self._abandoned: list[object] = []
        self.gate = ForkGate(self._after_fork)
        self._writing = threading.RLock()  # held by whoever uses the writing connection
        self._guard = threading.Lock()  # over the three below
        self._queue: deque[_Ticket[Any]] = deque()
        self._led = False
        self._gathering = Gathering()
        self._leader: int | None = None
        self._writer: Connection | None = None
        self._closed = False

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection that sees one unchanging state of the database."""
        self._check_open()
        if self._in_memory:
            with self._writing, self.gate.inside(), self._translated():
                yield self._announced(self._write_connection())
            return
        with self.gate.inside(), self._translated(), self._engine.connect() as connection, connection.begin():
            yield self._announced(connection)

    def write(self, job: Callable[[Connection], T]) -> T:
        """Run a job in a transaction that several callers may share; where one fails, each runs again by itself."""
        self._check_open()
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
        self._check_open()
        with self._writing, self.gate.inside(), self._translated():
            connection = self._write_connection()
            driver = _driver(connection)
            return purge_sqlite(driver, at_any_size=at_any_size, on_disk=not self._in_memory)

    def close(self) -> None:
        """Close every connection. Idempotent."""
        with self._writing:
            self._closed = True
            with self.gate.inside():
                if self._writer is not None:
                    self._writer.close()
                self._writer = None
                self._engine.dispose()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the engine is closed", hint="open a new one")

    def _after_fork(self) -> None:
        """In a child, leave the parent's connections alone (not even closing them is safe) and open our own.

        A database in memory was copied with the process.
        """
        if not self._in_memory:
            self._abandoned.append((self._engine, self._writer))
            self._engine = self._make_engine()
            self._writer = None
        self._writing = threading.RLock()
        self._guard = threading.Lock()
        self._queue = deque()
        self._led = False
        self._gathering = Gathering()
        self._leader = None

    def _queue_up(self, ticket: _Ticket[Any]) -> None:
        """Wait until somebody has run the job, or lead."""
        if self._leader == threading.get_ident():
            raise StoreError("a write was begun inside another one", hint="call the engine after the hook or policy has returned")
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
                self._leader = threading.get_ident()
                try:
                    self._run(tickets)
                finally:
                    self._leader = None
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
            with self.gate.inside():
                self._check_open()
                self._commit(tickets)
        except Exception as raised:
            error = _in_our_words(raised, self.url)
            if len(tickets) > 1 and not isinstance(error, (ClosedError, StoreBusyError)):
                for ticket in tickets:
                    self._run([ticket])
                return
            for ticket in tickets:
                ticket.error, ticket.done = error, True

    def _commit(self, tickets: list[_Ticket[Any]]) -> None:
        connection = self._write_connection()
        try:
            # Beginning and committing through SQLAlchemy would cost a lone append a twentieth of its time.
            driver = _driver(connection)
            driver.execute("BEGIN IMMEDIATE")
            for ticket in tickets:
                ticket.result = ticket.job(connection)
            began = time.monotonic()
            if connection.in_transaction():  # a job used SQLAlchemy, which then keeps a transaction of its own over ours
                connection.commit()
            else:
                driver.execute("COMMIT")
            self._gathering.committed(len(tickets), time.monotonic() - began)
        except BaseException:
            self._clear_writer(connection)
            raise
        for ticket in tickets:
            ticket.done = True

    def _clear_writer(self, connection: Connection) -> None:
        """Leave no transaction open: a commit that failed may not have ended it, and the next one could never begin."""
        try:
            if not connection.invalidated:
                connection.rollback()  # where its commit failed, SQLAlchemy keeps an ended transaction until it is told
                driver = _driver(connection)
                if driver.in_transaction:
                    driver.rollback()
                return
        except (DBAPIError, sqlite3.Error):
            connection.invalidate()
        self._writer = None

    def _write_connection(self) -> Connection:
        if self._writer is None:
            self._writer = self._engine.connect().execution_options(**{_WRITING: True})
        if self._in_memory and self._writer.in_transaction() and not self._writer.in_nested_transaction():
            self._writer.rollback()
        return self._writer

    def _make_engine(self) -> Engine:
        arguments: dict[str, Any] = {"timeout": BUSY_TIMEOUT_SECONDS, "check_same_thread": False}
        options: dict[str, Any] = {"connect_args": arguments, "execution_options": {VAULT: self.vault}}
        if self._in_memory:
            engine = create_engine(self.url, poolclass=StaticPool, **options)
        else:
            engine = create_engine(self.url, poolclass=QueuePool, pool_size=8, max_overflow=-1, **options)
        synchronous = "FULL" if self._durability == "full" else "NORMAL"

        @event.listens_for(engine, "connect")
        def _configure(connection: sqlite3.Connection, _record: object) -> None:
            connection.isolation_level = None
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
            driver = _driver(connection)
            if not driver.in_transaction:
                driver.execute("BEGIN IMMEDIATE" if writing else "BEGIN")

        return engine

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error, UnicodeDecodeError) as error:
            raise _in_our_words(error, self.url) from error


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _in_our_words(error: Exception, url: URL) -> Exception:
    """Give our error for what the driver raised, which stays its cause; others stay as they are."""
    quoted = isinstance(error, UnicodeDecodeError) and b"malformed" in error.object  # what SQLite says of a damaged schema
    if not quoted and not isinstance(error, (DBAPIError, sqlite3.Error)):
        return error
    said = _translate("malformed" if quoted else str(error.orig if isinstance(error, DBAPIError) else error), url)
    said.__cause__ = error
    return said


def _translate(said: str, url: URL) -> StoreError:
    """Say in our words what the driver said."""
    where = url.database or "the database in memory"
    known: tuple[tuple[str, type[StoreError], str, str], ...] = (
        ("locked", StoreBusyError, f"{where} is held by another writer", "try again, or find the process that holds it"),
        ("not a database", StoreOpenError, f"{where} is not a SQLite database", "give another path; the file was not touched"),
        ("unable to open", StoreOpenError, f"can't open {where}", "check the directory and its permissions"),
        ("readonly", StoreOpenError, f"{where} can't be written", "check the permissions of the file and its directory"),
        ("read-only", StoreOpenError, f"{where} can't be written", "check the permissions of the file and its directory"),
        ("disk is full", StoreError, f"the disk of {where} is full", "free some space; what was stored before is safe"),
        ("disk I/O error", StoreError, f"the disk of {where} failed", "check the disk; what was acknowledged before is safe"),
        (
            "malformed",
            StoreError,
            f"{where} is damaged",
            "restore a backup; what can be read, `.recover` of sqlite3 gets",
        ),
    )
    for words, kind, message, hint in known:
        if words in said:
            return kind(message, hint=hint)
    return StoreError(f"{where}: {said}")


def _path(url: URL) -> Path | None:
    """Give the file of the database, or None in memory."""
    if url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


def _check_path(path: Path, create: bool) -> None:
    if "\0" in str(path):
        raise StoreOpenError("the path of the database holds a NUL", hint="give another path")
    if path.is_dir():
        raise StoreOpenError(f"{path} is a directory", hint="give the path of a file in it")
    if path.exists():
        if not create and _is_foreign(path):
            raise StoreOpenError(f"{path} holds no Lossless database", hint="check the path; the file was not touched")
        return
    if not create:
        raise StoreOpenError(f"there is no database at {path}", hint="check the path, or make it with `lossless import`")
    if not path.parent.is_dir():
        raise StoreOpenError(f"the directory {path.parent} does not exist", hint="create it first")


def _is_foreign(path: Path) -> bool:
    """Tell whether a file is somebody else's database, or an empty one: opened as ours, it would get our tables."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (VERSION_TABLE,)).fetchone()
    except (sqlite3.Error, UnicodeDecodeError):  # a damaged schema is quoted, whatever its bytes are
        return False  # what is wrong with it is said when it is opened
    return found is None
