"""Prepared statements: SQLAlchemy Core statements of the hot paths, compiled once for each dialect.

Building a statement, finding it in SQLAlchemy's cache and wrapping its result costs several times what SQLite takes to run it. A
prepared statement therefore goes to the driver's own connection, inside the same transaction. Values are bound all the same: by
place for ``sqlite3``, by name for psycopg.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Dialect
from sqlalchemy.sql.expression import ClauseElement, Executable

__all__ = ["CURSOR", "Prepared"]

CURSOR = "lossless_cursor"
"""Where in a connection's ``info`` the cursor of its transaction is, if it has one for all statements: one of psycopg's takes
as long to make as the rest of a statement."""


class _Compiled(NamedTuple):
    """A statement for one dialect.

    Its text, what puts its values in order (None where they go by name), the values that are part of it, and what makes a row.
    """

    sql: str
    order: Callable[[Mapping[str, Any]], Sequence[Any]] | None
    fixed: Mapping[str, Any]
    row: Callable[[Iterable[Any]], Any]

    def bound(self, values: Mapping[str, Any]) -> Sequence[Any] | Mapping[str, Any]:
        """Give the values as the driver takes them."""
        if self.fixed:
            values = {**self.fixed, **values}
        return values if self.order is None else self.order(values)


class Prepared:
    """A statement whose values are all bound by name (``bindparam``, or the columns of an insert).

    One that databases write differently is given as a function of the dialect's name.
    """

    def __init__(self, statement: ClauseElement | Callable[[str], Executable]) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def all(self, connection: Connection, values: Mapping[str, Any]) -> list[Any]:
        """Run it and give its rows; they have the columns as attributes."""
        compiled = self._for(connection)
        return list(map(compiled.row, _cursor(connection).execute(compiled.sql, compiled.bound(values)).fetchall()))

    def first(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        """Run it and give its first row, or None."""
        rows = self.all(connection, values)
        return rows[0] if rows else None

    def run(self, connection: Connection, *rows: Mapping[str, Any]) -> int:
        """Run it for each row of values, and give how many rows of the table it touched."""
        compiled = self._for(connection)
        if len(rows) == 1:
            return int(_cursor(connection).execute(compiled.sql, compiled.bound(rows[0])).rowcount)
        cursor = _driver(connection).cursor()
        cursor.executemany(compiled.sql, [compiled.bound(row) for row in rows])
        return int(cursor.rowcount)

    def insert(self, connection: Connection, row: Mapping[str, Any]) -> int:
        """Insert one row on SQLite, and give its rowid."""
        compiled = self._for(connection)
        return int(_driver(connection).execute(compiled.sql, compiled.bound(row)).lastrowid)

    def _for(self, connection: Connection) -> _Compiled:
        dialect = connection.dialect
        return self._compiled.get(dialect.name) or self._compile(dialect)

    def _compile(self, dialect: Dialect) -> _Compiled:
        statement: Any = self._statement if isinstance(self._statement, ClauseElement) else self._statement(dialect.name)
        compiled: Any = statement.compile(dialect=dialect)
        order = _in_order(tuple(compiled.positiontup or ())) if dialect.positional else None
        fixed = {name: value for name, value in compiled.params.items() if value is not None}
        names = [str(column.key) for column in getattr(statement, "selected_columns", ())]
        rows: Any = namedtuple("Row", names) if names else None
        # A row has as many columns as were asked for, so nothing need count them as ``_make`` does.
        row = partial(tuple.__new__, rows) if names else tuple
        found = self._compiled[dialect.name] = _Compiled(str(compiled), order, fixed, row)
        return found


def _in_order(names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    """Give what puts the values of these names in a row; of more than one, in C."""
    return itemgetter(*names) if len(names) > 1 else lambda values: [values[name] for name in names]


def _cursor(connection: Connection) -> Any:
    """Give what executes statements: the cursor of the transaction, or a connection, which makes one for each."""
    held = connection.connection
    return held.info.get(CURSOR) or held.dbapi_connection


def _driver(connection: Connection) -> Any:
    """Give the connection of ``sqlite3`` or psycopg, which execute statements in the same way.

    It is what SQLAlchemy also calls ``driver_connection``; the two differ for asynchronous drivers, which are never used.
    """
    return connection.connection.dbapi_connection
