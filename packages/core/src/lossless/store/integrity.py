"""What a database itself says about its state: broken references, damage, guards that were switched off."""

from __future__ import annotations

from sqlalchemy import Connection, text

__all__ = ["database_problems"]


def database_problems(connection: Connection) -> list[str]:
    """Ask the database; give its problems in words, none where all is well.

    SQLite checks its file and the foreign keys of our tables. PostgreSQL keeps both by itself, as long as nobody switches the
    guards off; so those are looked at.
    """
    return _of_postgres(connection) if connection.dialect.name == "postgresql" else _of_sqlite(connection)


def _of_sqlite(connection: Connection) -> list[str]:
    rows = connection.execute(text("PRAGMA foreign_key_check")).all()
    found = [f"{row[0]} refers to a row of {row[2]} that is not there" for row in rows if str(row[0]).startswith("lossless_")]
    damaged = connection.execute(text("PRAGMA quick_check(10)")).scalars().all()
    return found + [f"the database file is damaged: {line}" for line in damaged if line != "ok"]


_SWITCHED_OFF = text(
    "SELECT c.relname, t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
    "WHERE t.tgenabled = 'D' AND starts_with(c.relname, 'lossless_') AND c.relnamespace = current_schema()::regnamespace "
    "ORDER BY 1, 2"
)
_NOT_VALID = text(
    "SELECT c.relname, n.conname FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid "
    "WHERE NOT n.convalidated AND starts_with(c.relname, 'lossless_') AND c.relnamespace = current_schema()::regnamespace "
    "ORDER BY 1, 2"
)


def _of_postgres(connection: Connection) -> list[str]:
    found = [f"the trigger {name} of {table} is switched off" for table, name in connection.execute(_SWITCHED_OFF)]
    return found + [f"the constraint {name} of {table} was never checked" for table, name in connection.execute(_NOT_VALID)]
