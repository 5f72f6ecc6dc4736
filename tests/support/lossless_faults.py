"""Statements that fail: SQLite's driver with a disk that breaks at a chosen moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from sqlite3 import dbapi2
from typing import Any

import pytest

__all__ = ["Faults"]

_connect = dbapi2.connect


class Faults:
    """Counts the statements of all connections that are opened after :meth:`install`, and lets one of them fail."""

    def __init__(self) -> None:
        self.at = 0
        self.seen = 0
        self.armed = False

    def install(self, monkeypatch: pytest.MonkeyPatch) -> Faults:
        """Stand between the driver and whoever connects from now on."""
        faults = self

        class Cursor(sqlite3.Cursor):
            def execute(self, sql: str, values: Any = ()) -> Any:
                faults.count()
                return super().execute(sql, values)

            def executemany(self, sql: str, values: Any) -> Any:
                faults.count()
                return super().executemany(sql, values)

        class Connection(sqlite3.Connection):
            def cursor(self, factory: Any = Cursor) -> Any:
                return super().cursor(factory)

            def execute(self, sql: str, values: Any = ()) -> Any:
                faults.count()
                return super().execute(sql, values)

            def executemany(self, sql: str, values: Any) -> Any:
                faults.count()
                return super().executemany(sql, values)

            def commit(self) -> None:
                faults.count()
                super().commit()

        monkeypatch.setattr(dbapi2, "connect", lambda *given, **named: _connect(*given, **named, factory=Connection))
        return self

    @contextmanager
    def at_statement(self, number: int) -> Iterator[None]:
        """Fail at a statement, from 1; 0: at none, only count."""
        self.at, self.seen, self.armed = number, 0, True
        try:
            yield
        finally:
            self.armed = False

    def count(self) -> None:
        """Count a statement, and raise if it is the one."""
        if not self.armed:
            return
        self.seen += 1
        if self.seen == self.at:
            raise sqlite3.OperationalError("disk I/O error")
