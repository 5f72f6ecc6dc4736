"""Backups: a whole database, every namespace, as one SQLite file, taken while others write; and back from one into a database.

From SQLite, the file is copied page by page by SQLite's own online backup. From PostgreSQL, the rows are read in one unchanging
state and written into a new SQLite database; a restore writes them into an empty database of either kind. What is derivable, the
search index, is not copied between kinds but made again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, insert, literal, select, text

from lossless.errors import ExistsError, NotFoundError, StoreError
from lossless.integrity.report import Report
from lossless.integrity.terms import terms_of
from lossless.integrity.verification import verify_namespace
from lossless.messages import Format
from lossless.store import times
from lossless.store.database import Database
from lossless.store.index_mending import insert_entry, mend_entries
from lossless.store.namespaces import Secrets
from lossless.store.purging import purge_sqlite
from lossless.store.read import MessageReader
from lossless.store.sqlite import SqliteDatabase
from lossless.store.tables import METADATA, MessageRow, SearchDocRow, ThreadRow

__all__ = ["Backup", "back_up", "restore_backup"]

_THREAD = ThreadRow.__table__  # type: ignore[attr-defined]
_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_DOC = SearchDocRow.__table__  # type: ignore[attr-defined]
_EXPENDABLE = {"lossless_lease"}
_BATCH = 500

_NEXT_DOCID = text(
    "SELECT setval(pg_get_serial_sequence('lossless_search_doc', 'docid'), coalesce(max(docid), 0) + 1) FROM lossless_search_doc"
)

Formats = Callable[[], Mapping[str, Format]]
Opened = Callable[[str, bool], Database]
"""Opens the SQLite file of a path with the cipher of the engine, and says whether it is made if it is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup that was taken, or put back.

    Attributes:
        path: of the file.
        size: its bytes.
        threads: threads of all namespaces in it; ``messages`` likewise.
        report: what a verification of the copy found, of the engine's namespace.
    """

    path: str
    size: int
    threads: int
    messages: int
    report: Report

    @property
    def ok(self) -> bool:
        """Whether the copy verifies."""
        return self.report.ok


def back_up(database: Database, path: Path, namespace: str, formats: Formats, opened: Opened) -> Backup:
    """Write a backup of a database into a new file, and verify it. Writers go on meanwhile; nothing of theirs is half in it.

    The file appears under its name only when it is complete.

    Raises:
        ExistsError: there is such a file already.
        StoreError: it can't be written.
    """
    if path.exists():
        raise ExistsError(f"{path} is there already", hint="give another name; a backup never overwrites anything")
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        with _said(path):
            if isinstance(database, SqliteDatabase):
                _copy_pages(database, draft)
            else:
                _copy_into_file(database, draft, formats, opened)
            backup = _looked_at(opened(str(draft), False), path, namespace, formats)
            _flush(draft)
            _name(draft, path)
    finally:
        for leftover in (draft, *(draft.with_name(draft.name + end) for end in ("-wal", "-shm", "-journal"))):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)
    return backup


def restore_backup(path: Path, database: Database, namespace: str, formats: Formats, opened: Opened) -> Backup:
    """Put a backup back into a database that holds nothing, and verify it.

    Raises:
        NotFoundError: there is no such file.
        ExistsError: the database holds something.
        StoreError: the file is no backup, or is damaged.
    """
    if not path.is_file():
        raise NotFoundError(f"there is no file {path}", hint="check the path")
    source = opened(str(path), False)
    try:
        with source.read() as reading:
            database.write(lambda writing: _copy_rows(reading, writing, database, formats))
    finally:
        source.close()
    return _looked_at(database, path, namespace, formats, close=False)


def _copy_pages(database: SqliteDatabase, target: Path) -> None:
    """Copy a SQLite database as it stands at one moment: in one step, which readers and writers don't wait for.

    Pages have what removed rows left in them; where that was not purged yet, it is purged from the copy.
    """
    with closing(sqlite3.connect(target, isolation_level=None)) as copy:
        with database.read() as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.backup(copy, pages=-1)
        if copy.execute("SELECT 1 FROM lossless_erasure WHERE purged_at IS NULL").fetchone() is not None:
            purge_sqlite(copy, at_any_size=True, on_disk=True)
            copy.execute("UPDATE lossless_erasure SET purged_at = ? WHERE purged_at IS NULL", (times.now(),))


def _copy_into_file(database: Database, target: Path, formats: Formats, opened: Opened) -> None:
    copy = opened(str(target), True)
    try:
        with database.read() as reading:
            copy.write(lambda writing: _copy_rows(reading, writing, copy, formats))
    finally:
        copy.close()


def _copy_rows(reading: Connection, writing: Connection, target: Database, formats: Formats) -> None:
    """Copy every row, parents before those that refer to them, and make the search index again."""
    tables = [table for table in METADATA.sorted_tables if table.name not in _EXPENDABLE]
    for table in tables:
        if writing.execute(select(literal(1)).select_from(table).limit(1)).first() is not None:
            raise ExistsError(f"the database is not empty: {table.name} holds rows", hint="restore into a new one")
    for table in tables:
        if table is _DOC:
            continue
        for rows in _batches(reading, table):
            writing.execute(insert(table), rows)
    for rows in _batches(reading, _DOC):
        writing.execute(insert_entry(writing), rows)
    if writing.dialect.name == "postgresql":
        writing.execute(_NEXT_DOCID)
    reader = MessageReader(formats, Secrets(target))
    for namespace in writing.execute(select(_THREAD.c.namespace).distinct()).scalars().all():
        mend_entries(writing, namespace, terms_of(writing, reader))


def _batches(reading: Connection, table: Any) -> Iterator[list[dict[str, Any]]]:
    """Give the rows of a table by their keys; a thread after the one it was branched from."""
    if table is _THREAD:
        yield from _threads(reading)
        return
    result = reading.execution_options(stream_results=True).execute(select(table).order_by(*table.primary_key.columns))
    for rows in result.mappings().partitions(_BATCH):
        yield [dict(row) for row in rows]


def _threads(reading: Connection) -> Iterator[list[dict[str, Any]]]:
    waiting = [dict(row) for row in reading.execute(select(_THREAD)).mappings()]
    done: set[tuple[str, str | None]] = set()
    while waiting:
        ready = [row for row in waiting if row["parent"] is None or (row["namespace"], row["parent"]) in done]
        if not ready:
            raise StoreError("threads descend from themselves", hint="run `lossless verify`")
        for start in range(0, len(ready), _BATCH):
            yield ready[start : start + _BATCH]
        done.update((row["namespace"], row["thread_id"]) for row in ready)
        waiting = [row for row in waiting if (row["namespace"], row["thread_id"]) not in done]


def _looked_at(database: Database, path: Path, namespace: str, formats: Formats, *, close: bool = True) -> Backup:
    """Verify a copy."""
    try:
        with database.read() as connection:
            reader = MessageReader(formats, Secrets(database))
            report = verify_namespace(connection, namespace, reader, formats())
            threads = connection.execute(select(func.count()).select_from(_THREAD)).scalar()
            messages = connection.execute(select(func.count()).select_from(_MESSAGE)).scalar()
    finally:
        if close:
            database.close()
    size = Path(str(database.url.database)).stat().st_size if close else path.stat().st_size
    return Backup(path=str(path), size=size, threads=int(threads or 0), messages=int(messages or 0), report=report)


def _name(draft: Path, path: Path) -> None:
    """Give a file its name, and never take another file's place."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if path.exists():
            raise FileExistsError from None
        draft.rename(path)


def _flush(path: Path) -> None:
    """See to it that a file is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _said(path: Path) -> Iterator[None]:
    """Say what the operating system or the driver said in our words."""
    try:
        yield
    except FileExistsError:
        raise ExistsError(f"{path} is there already", hint="give another name; a backup never overwrites anything") from None
    except (OSError, sqlite3.Error) as error:
        said = getattr(error, "strerror", None) or str(error)
        hint = "check the directory, its permissions and its space"
        raise StoreError(f"the backup {path} can't be written: {said}", hint=hint) from error
