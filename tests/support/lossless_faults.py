"""Statements that fail, and processes that die at one: both drivers, with a disk that breaks at a chosen moment."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from sqlite3 import dbapi2
from typing import Any

import psycopg
import pytest

__all__ = ["Faults", "die_at"]

_connect = dbapi2.connect


class Faults:
    """Counts the statements of all connections that are opened after :meth:`install`, and lets one of them fail.

    On SQLite the statement fails with an I/O error, on PostgreSQL with a full disk.
    """

    def __init__(self) -> None:
        self.at = 0
        self.seen = 0
        self.armed = False
        self.written = 0
        self._writing = False

    def install(self, monkeypatch: pytest.MonkeyPatch) -> Faults:
        """Stand between the drivers and whoever connects from now on."""
        self._install_sqlite(monkeypatch)
        for kind in (psycopg.Connection, psycopg.Cursor):
            for name in ("execute", "executemany", "commit"):
                if hasattr(kind, name):
                    monkeypatch.setattr(kind, name, _counted(getattr(kind, name), self.count, psycopg.errors.DiskFull))
        return self

    @contextmanager
    def at_statement(self, number: int) -> Iterator[None]:
        """Fail at a statement, from 1; 0: at none, only count."""
        self.at, self.seen, self.armed, self.written, self._writing = number, 0, True, 0, False
        try:
            yield
        finally:
            self.armed = False

    def count(self, error: type[Exception], sql: str = "COMMIT") -> None:
        """Count a statement, and raise if it is the one; ``written``: which one committed the first write on SQLite."""
        if not self.armed:
            return
        self.seen += 1
        if sql == "BEGIN IMMEDIATE":
            self._writing = True
        elif sql == "COMMIT" and self._writing:
            self.written, self._writing = self.written or self.seen, False
        if self.seen == self.at:
            raise error("disk I/O error")

    def _install_sqlite(self, monkeypatch: pytest.MonkeyPatch) -> None:
        faults = self

        class Cursor(sqlite3.Cursor):
            def execute(self, sql: str, values: Any = ()) -> Any:
                faults.count(sqlite3.OperationalError, sql)
                return super().execute(sql, values)

            def executemany(self, sql: str, values: Any) -> Any:
                faults.count(sqlite3.OperationalError, sql)
                return super().executemany(sql, values)

        class Connection(sqlite3.Connection):
            def cursor(self, factory: Any = Cursor) -> Any:
                return super().cursor(factory)

            def execute(self, sql: str, values: Any = ()) -> Any:
                faults.count(sqlite3.OperationalError, sql)
                return super().execute(sql, values)

            def executemany(self, sql: str, values: Any) -> Any:
                faults.count(sqlite3.OperationalError, sql)
                return super().executemany(sql, values)

            def commit(self) -> None:
                faults.count(sqlite3.OperationalError)
                super().commit()

        monkeypatch.setattr(dbapi2, "connect", lambda *given, **named: _connect(*given, **named, factory=Connection))


def die_at(number: int) -> Callable[[], int]:
    """Let this process die at a statement that it sends to PostgreSQL from now on, without any clean-up; 0: at none.

    Gives what tells how many statements there were.
    """
    seen = 0

    def count(_error: type[Exception]) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            os._exit(9)

    for kind in (psycopg.Connection, psycopg.Cursor):
        for name in ("execute", "executemany", "commit"):
            if hasattr(kind, name):
                setattr(kind, name, _counted(getattr(kind, name), count, psycopg.errors.DiskFull))
    return lambda: seen


def _counted(call: Any, count: Callable[[type[Exception]], None], error: type[Exception]) -> Any:
    def counted(self: Any, *given: Any, **named: Any) -> Any:
        count(error)
        return call(self, *given, **named)

    return counted
