"""The file of a SQLite database: whether it is one, whether it may be made, how it is reached where nothing may be written."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy.engine import URL

from lossless.errors import StoreOpenError
from lossless.store.schema import VERSION_TABLE

__all__ = ["check_path", "is_read_only", "path_of", "reading_address"]


def path_of(url: URL) -> Path | None:
    """Give the file of the database, or None in memory."""
    if url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


def check_path(path: Path, create: bool) -> None:
    """Refuse a path where no database is or can be made.

    Raises:
        StoreOpenError: a directory, somebody else's database, an absent file that is not to be made, or without a directory.
    """
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


def is_read_only(path: Path) -> bool:
    """Tell whether a file is there that nobody of this process can write to: a permission, a flag, or its file system."""
    if not path.exists():
        return False
    return not os.access(path, os.W_OK) or not (os.access(path.parent, os.W_OK) or _log_of(path).exists())


def reading_address(path: Path) -> str:
    """Give the address by which a read-only file is read at this moment.

    SQLite keeps its readers apart by files beside the database. Where they can't be made, and no log says that somebody writes,
    the file is read as one that does not change; a connection of this kind should not outlive a transaction.
    """
    alone = not os.access(path.parent, os.W_OK) and not (_log_of(path).exists() and _log_of(path).stat().st_size)
    return f"{path.resolve().as_uri()}?mode=ro" + ("&immutable=1" if alone else "")


def _log_of(path: Path) -> Path:
    return path.resolve().with_name(path.resolve().name + "-wal")
