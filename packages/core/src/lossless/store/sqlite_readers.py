"""Connections that read, used again and again: what SQLAlchemy does for a new one costs as much as a query or two."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

__all__ = ["Readers", "clear", "driver_of"]


class Readers:
    """Gives each reader a connection in a transaction of its own.

    Args:
        engine: makes them.
        keep: how many that nobody uses are kept open.
    """

    def __init__(self, engine: Engine, *, keep: int) -> None:
        self._engine = engine
        self._keep = keep
        self._idle: deque[Connection] = deque()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Give a connection that sees one unchanging state of the database."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._engine.connect()
        try:
            driver_of(connection).execute("BEGIN")
            yield connection
        finally:
            if clear(connection) and len(self._idle) < self._keep:
                self._idle.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        """Close those that nobody uses; the others are closed when they are given back."""
        self._keep = 0
        while self._idle:
            self._idle.pop().close()


def clear(connection: Connection) -> bool:
    """Leave no transaction open, and tell whether the connection can be used again; if not, it is invalidated.

    A commit that failed may not have ended its transaction, and the next one could never begin.
    """
    try:
        if not connection.invalidated:
            connection.rollback()  # where its commit failed, SQLAlchemy keeps an ended transaction until it is told
            driver = driver_of(connection)
            if driver.in_transaction:
                driver.rollback()
            return True
    except (DBAPIError, sqlite3.Error):
        connection.invalidate()
    return False


def driver_of(connection: Connection) -> sqlite3.Connection:
    """Give Python's own connection."""
    driver = connection.connection.dbapi_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver
