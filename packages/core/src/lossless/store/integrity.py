"""What a database itself says about its state: damage, and guards that were removed or switched off."""

from __future__ import annotations

from sqlalchemy import Connection, text

__all__ = ["GUARDED", "database_problems", "guards"]

GUARDED = (
    "namespace",
    "thread",
    "blob",
    "message",
    "node",
    "head_log",
    "snapshot",
    "summary",
    "summary_message",
    "summary_child",
    "tombstone",
    "erasure",
)
"""The tables whose rows nobody may change or remove; triggers keep them so."""
REMOVABLE = ("checkpoint_part",)
"""Those whose rows nobody may change, and which go when nothing refers to them any longer."""


def database_problems(connection: Connection) -> list[str]:
    """Ask the database; give its problems in words, none where all is well.

    SQLite checks its file and its indexes from end to end. On both, the triggers that keep rows as they are must be there.
    """
    return _of_postgres(connection) if connection.dialect.name == "postgresql" else _of_sqlite(connection)


def _of_sqlite(connection: Connection) -> list[str]:
    damaged = connection.execute(text("PRAGMA integrity_check(10)")).scalars().all()
    there = set(connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars())
    found = [f"the database file is damaged: {line}" for line in damaged if line != "ok"]
    return found + _missing_guards(there, ("update", "delete"))


_GUARDS = text(
    "SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
    "WHERE t.tgenabled <> 'D' AND starts_with(c.relname, 'lossless_') AND c.relnamespace = current_schema()::regnamespace"
)
_NOT_VALID = text(
    "SELECT c.relname, n.conname FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid "
    "WHERE NOT n.convalidated AND starts_with(c.relname, 'lossless_') AND c.relnamespace = current_schema()::regnamespace "
    "ORDER BY 1, 2"
)


def _of_postgres(connection: Connection) -> list[str]:
    found = _missing_guards(set(connection.execute(_GUARDS).scalars()), ("update", "delete", "truncate"))
    return found + [f"the constraint {name} of {table} was never checked" for table, name in connection.execute(_NOT_VALID)]


def _missing_guards(there: set[str], verbs: tuple[str, ...]) -> list[str]:
    return [f"the trigger {name} was removed or switched off" for name in guards(verbs) if name not in there]


def guards(verbs: tuple[str, ...]) -> list[str]:
    """Name the triggers that keep rows from these verbs."""
    every = [f"lossless_{table}_no_{verb}" for table in GUARDED for verb in verbs]
    return every + [f"lossless_{table}_no_{verb}" for table in REMOVABLE for verb in verbs if verb != "delete"]
