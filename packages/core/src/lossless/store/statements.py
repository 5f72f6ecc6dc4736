"""Statements that each database writes in its own way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.dialects import postgresql, sqlite

__all__ = ["batched", "insert_new"]


def insert_new(table: Any) -> Callable[[str], Executable]:
    """Insert rows but for those whose key is there already; give the statement by the name of the dialect."""

    def statement(dialect: str) -> Executable:
        insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
        return insert(table).on_conflict_do_nothing()

    return statement


def batched(connection: Connection) -> AbstractContextManager[object]:
    """Send the prepared statements that are run inside together, if the driver can; what they answer is not looked at.

    An error of one of them may be raised only at the end.
    """
    pipeline: Callable[[], AbstractContextManager[object]] | None
    pipeline = getattr(connection.connection.dbapi_connection, "pipeline", None)
    return _ONE_BY_ONE if pipeline is None else pipeline()


_ONE_BY_ONE = nullcontext()
