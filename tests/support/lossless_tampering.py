"""Somebody who changes a database behind our back: the guards off, any row, on SQLite and on PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import psycopg
from sqlalchemy.engine import make_url

__all__ = ["tamper"]


def tamper(url: str, *statements: str) -> None:
    """Run statements against a database with triggers and foreign keys switched off, and on again afterwards."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        _in_sqlite(str(parsed.database), statements)
    else:
        _in_postgres(parsed.set(drivername="postgresql").render_as_string(hide_password=False), statements)


def _in_sqlite(path: str, statements: tuple[str, ...]) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _sql in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    _run(lambda statement: connection.execute(statement).rowcount, statements)
    for _name, sql in triggers:
        connection.execute(sql)
    connection.close()


def _in_postgres(conninfo: str, statements: tuple[str, ...]) -> None:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        _run(lambda statement: connection.execute(statement.encode()).rowcount, statements)


def _run(execute: Callable[[str], int], statements: tuple[str, ...]) -> None:
    for statement in statements:
        assert execute(statement) != 0, f"nothing was changed by {statement}"
