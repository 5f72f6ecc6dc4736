"""What SQLite says when something goes wrong, in our words."""

from __future__ import annotations

import sqlite3

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from lossless.errors import LosslessError, StoreBusyError, StoreError, StoreOpenError
from lossless.store.keys import unstorable

__all__ = ["in_our_words", "translate"]


def in_our_words(error: Exception, url: URL) -> Exception:
    """Give our error for what the driver raised, which stays its cause; others stay as they are."""
    if isinstance(error, UnicodeEncodeError):
        said: LosslessError = unstorable()
        said.__cause__ = error
        return said
    quoted = isinstance(error, UnicodeDecodeError) and b"malformed" in error.object  # what SQLite says of a damaged schema
    if not quoted and not isinstance(error, (DBAPIError, sqlite3.Error)):
        return error
    said = translate("malformed" if quoted else str(error.orig if isinstance(error, DBAPIError) else error), url)
    said.__cause__ = error
    return said


def translate(said: str, url: URL) -> StoreError:
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
