"""Purging: removing from the files of a database what removed rows left in them.

A database that removes a row keeps its bytes: in free space of pages, in its log, in the index. Only what is written anew is free
of them. What can't be done now is said in words, for whoever asked.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

__all__ = ["purge_postgres", "purge_sqlite"]

AT_ONCE_BYTES = 512 * 1024 * 1024
"""Up to this size a database is written anew at once; above, only when asked for, since writers wait meanwhile."""
_WAIT_MILLISECONDS = 1_000
TABLES = (
    "blob",
    "message",
    "summary",
    "summary_message",
    "summary_child",
    "node",
    "head_log",
    "snapshot",
    "search_doc",
    "checkpoint",
    "checkpoint_write",
    "checkpoint_part",
    "checkpoint_share",
)
"""The tables whose rows tell something of messages, and which removals change."""
_LARGE = "the database is larger than {limit} MB: its files are written anew when the engine is closed, or by purge()"


def purge_sqlite(driver: sqlite3.Connection, *, at_any_size: bool, on_disk: bool) -> tuple[str, ...]:
    """Purge a SQLite database, on a connection outside of any transaction; give what is left to do."""
    pages, size = driver.execute("PRAGMA page_count").fetchone()[0], driver.execute("PRAGMA page_size").fetchone()[0]
    if not at_any_size and pages * size > AT_ONCE_BYTES:
        return (_LARGE.format(limit=AT_ONCE_BYTES // 2**20),)
    # The segments of the index keep the tokens of what it was told to forget until they are merged.
    driver.execute("INSERT INTO lossless_search (lossless_search) VALUES ('optimize')")
    driver.execute("VACUUM")
    if not on_disk:
        return ()
    before = driver.execute("PRAGMA busy_timeout").fetchone()[0]
    driver.execute(f"PRAGMA busy_timeout={_WAIT_MILLISECONDS}")
    try:
        busy, _frames, _moved = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        driver.execute(f"PRAGMA busy_timeout={int(before)}")
    return ("somebody still reads an older state of the database, which keeps its log",) if busy else ()


def purge_postgres(driver: psycopg.Connection[Any], *, at_any_size: bool) -> tuple[str, ...]:
    """Purge our tables in a PostgreSQL database, on a connection that commits each statement; give what is left to do."""
    import psycopg

    driver.autocommit = True
    total = sum(_one(driver, f"SELECT pg_total_relation_size('lossless_{table}')") for table in TABLES)
    driver.execute("SET statement_timeout = 0")
    if not at_any_size and total > AT_ONCE_BYTES:
        for table in TABLES:
            driver.execute(f"VACUUM lossless_{table}")
        return (_LARGE.format(limit=AT_ONCE_BYTES // 2**20),)
    driver.execute(f"SET lock_timeout = {2 * _WAIT_MILLISECONDS}")
    started = _one(driver, "SELECT clock_timestamp()")
    try:
        for table in TABLES:
            driver.execute(f"VACUUM (FULL, ANALYZE) lossless_{table}")
    except (psycopg.errors.LockNotAvailable, psycopg.errors.InsufficientPrivilege) as error:
        return (f"a table could not be written anew: {str(error).splitlines()[0]}",)
    holders = driver.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND backend_xmin IS NOT NULL AND xact_start < %s",
        (started,),
    ).fetchone()
    if holders is not None and holders[0]:
        return ("somebody still reads an older state of the database, so that removed rows are kept for them",)
    try:
        driver.execute("CHECKPOINT")
    except psycopg.errors.InsufficientPrivilege:
        return ("the role may not write a checkpoint; the server writes one by itself within minutes",)
    return ()


def _one(driver: psycopg.Connection[Any], query: Any) -> Any:
    row = driver.execute(query).fetchone()
    return row[0] if row is not None else None
