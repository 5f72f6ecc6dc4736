"""What a database itself says about its state: damage, and guards that were removed, switched off or changed."""

from __future__ import annotations

from sqlalchemy import Connection, text

__all__ = ["database_problems"]


_NOT_VALID = text(
    "SELECT c.relname, n.conname FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid "
    "WHERE NOT n.convalidated AND starts_with(c.relname, 'lossless_') AND c.relnamespace = current_schema()::regnamespace "
    "ORDER BY 1, 2"
)


def database_problems(connection: Connection) -> list[str]:
    """Ask the database; give its problems in words, none where all is well.

    SQLite checks its file and its indexes from end to end. The triggers are looked at apart (``lossless.store.guards``).
    """
    if connection.dialect.name == "postgresql":
        return [f"the constraint {name} of {table} was never checked" for table, name in connection.execute(_NOT_VALID)]
    damaged = connection.execute(text("PRAGMA integrity_check(10)")).scalars().all()
    return [f"the database file is damaged: {line}" for line in damaged if line != "ok"]
