"""Prepared statements: SQLAlchemy Core statements of the hot paths, compiled once for each dialect and then handed to the driver.

Building a statement and looking it up in SQLAlchemy's cache costs more than SQLite takes to run it. Values are bound all the
same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, CursorResult
from sqlalchemy.sql.expression import ClauseElement

__all__ = ["Prepared"]


class Prepared:
    """A statement whose values are all bound by name (``bindparam`` or the columns of an insert)."""

    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement
        self._compiled: dict[str, tuple[str, tuple[str, ...] | None]] = {}

    def run(self, connection: Connection, values: Mapping[str, Any]) -> CursorResult[Any]:
        """Run it once."""
        sql, order = self._for(connection)
        return connection.exec_driver_sql(sql, tuple([values[name] for name in order]) if order is not None else dict(values))

    def run_each(self, connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run it for each row of values; there must be at least one."""
        sql, order = self._for(connection)
        parameters: Sequence[Any] = (
            [tuple([row[name] for name in order]) for row in rows] if order is not None else [dict(row) for row in rows]
        )
        connection.exec_driver_sql(sql, parameters[0] if len(parameters) == 1 else list(parameters))

    def _for(self, connection: Connection) -> tuple[str, tuple[str, ...] | None]:
        dialect = connection.dialect
        found = self._compiled.get(dialect.name)
        if found is None:
            compiled = self._statement.compile(dialect=dialect)
            order = tuple(getattr(compiled, "positiontup", None) or ()) if dialect.positional else None
            found = self._compiled[dialect.name] = (str(compiled), order)
        return found
