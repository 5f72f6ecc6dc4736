"""Prepared statements: SQLAlchemy Core statements of the hot paths, compiled once for each dialect.

Building a statement, finding it in SQLAlchemy's cache and wrapping its result costs several times what SQLite takes to run it. On
SQLite a prepared statement therefore goes to the driver's own connection, inside the same transaction; elsewhere it goes through
SQLAlchemy as text. Values are bound all the same.
"""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.sql.expression import ClauseElement

__all__ = ["Prepared"]


class _Compiled(NamedTuple):
    """A statement for one dialect.

    Its text, the order of its values (None where they go by name), the values that are part of it, and what makes a row.
    """

    sql: str
    order: tuple[str, ...] | None
    fixed: Mapping[str, Any]
    row: Callable[[Iterable[Any]], Any]


class Prepared:
    """A statement whose values are all bound by name (``bindparam``, or the columns of an insert)."""

    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def all(self, connection: Connection, values: Mapping[str, Any]) -> list[Any]:
        """Run it and give its rows; they have the columns as attributes."""
        compiled = self._for(connection)
        if compiled.order is None:
            return list(connection.exec_driver_sql(compiled.sql, {**compiled.fixed, **values}))
        if compiled.fixed:
            values = {**compiled.fixed, **values}
        cursor = _driver(connection).execute(compiled.sql, [values[name] for name in compiled.order])
        return [compiled.row(row) for row in cursor]

    def first(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        """Run it and give its first row, or None."""
        rows = self.all(connection, values)
        return rows[0] if rows else None

    def run(self, connection: Connection, *rows: Mapping[str, Any]) -> None:
        """Run it for each row of values."""
        compiled = self._for(connection)
        if compiled.order is None:
            connection.exec_driver_sql(compiled.sql, [dict(row) for row in rows])
            return
        parameters: list[Sequence[Any]] = [[row[name] for name in compiled.order] for row in rows]
        if len(parameters) == 1:
            _driver(connection).execute(compiled.sql, parameters[0])
        else:
            _driver(connection).executemany(compiled.sql, parameters)

    def _for(self, connection: Connection) -> _Compiled:
        dialect = connection.dialect
        found = self._compiled.get(dialect.name)
        if found is None:
            compiled = self._statement.compile(dialect=dialect)
            order = tuple(getattr(compiled, "positiontup", None) or ()) if dialect.name == "sqlite" else None
            fixed = {name: value for name, value in compiled.params.items() if value is not None}
            names = [str(column.key) for column in getattr(self._statement, "selected_columns", ())]
            rows: Any = namedtuple("Row", names) if names else None
            row = rows._make if names else tuple
            found = self._compiled[dialect.name] = _Compiled(str(compiled), order, fixed, row)
        return found


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver
