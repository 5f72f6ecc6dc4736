"""A listener on every statement that reaches a driver, whoever sends it: what a query on tenants' tables must be bound to."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from sqlite3 import dbapi2
from typing import Any

import psycopg
import pytest

from lossless.store.tables import METADATA

__all__ = ["Listener", "unscoped"]

TENANT_TABLES = {name for name, table in METADATA.tables.items() if "namespace" in table.columns}
WHOLE_INDEX = re.compile(r"SELECT max\((lossless_search_doc\.)?docid\)( AS \S+)? FROM lossless_search_doc", re.IGNORECASE)
"""The place of the newest entry of the index, in whatever namespace: places are given to all of them in one row."""
SOURCES = re.compile(
    r"\b(?:FROM|JOIN|UPDATE)\s+(lossless_\w+)"
    r"(?:\s+(?:AS\s+)?(?!(?:ON|WHERE|SET|JOIN|LEFT|ORDER|LIMIT|GROUP|UNION)\b)(\w+))?"
)
"""Tables that are read or changed, each with its alias."""
_connect = dbapi2.connect


@dataclass
class Listener:
    """Keeps each statement with its values while it is told to."""

    heard: list[tuple[str, Any]] = field(default_factory=list)
    listening: bool = False

    def install(self, monkeypatch: pytest.MonkeyPatch) -> Listener:
        """Stand between both drivers and whoever connects from now on."""
        listener = self

        class Cursor(sqlite3.Cursor):
            def execute(self, sql: str, values: Any = ()) -> Any:
                listener.hear(sql, [values])
                return super().execute(sql, values)

            def executemany(self, sql: str, values: Any) -> Any:
                rows = list(values)
                listener.hear(sql, rows)
                return super().executemany(sql, rows)

        class Connection(sqlite3.Connection):
            def cursor(self, factory: Any = Cursor) -> Any:
                return super().cursor(factory)

            def execute(self, sql: str, values: Any = ()) -> Any:
                listener.hear(sql, [values])
                return super().execute(sql, values)

            def executemany(self, sql: str, values: Any) -> Any:
                rows = list(values)
                listener.hear(sql, rows)
                return super().executemany(sql, rows)

        monkeypatch.setattr(dbapi2, "connect", lambda *given, **named: _connect(*given, **named, factory=Connection))
        execute, executemany = psycopg.Cursor.execute, psycopg.Cursor.executemany

        def heard_execute(cursor: Any, query: Any, params: Any = None, **named: Any) -> Any:
            listener.hear(query, [params])
            return execute(cursor, query, params, **named)

        def heard_executemany(cursor: Any, query: Any, params: Any, **named: Any) -> Any:
            rows = list(params)
            listener.hear(query, rows)
            return executemany(cursor, query, rows, **named)

        monkeypatch.setattr(psycopg.Cursor, "execute", heard_execute)
        monkeypatch.setattr(psycopg.Cursor, "executemany", heard_executemany)
        return self

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Keep what is said meanwhile."""
        self.listening = True
        try:
            yield
        finally:
            self.listening = False

    def hear(self, sql: Any, rows: Sequence[Any]) -> None:
        """Keep a statement, once for each row of values."""
        if self.listening:
            text = sql.decode() if isinstance(sql, bytes) else str(sql)
            self.heard.extend((text, row) for row in rows)


def unscoped(sql: str, values: Any, namespace: str) -> list[str]:
    """Say what in a statement reaches beyond a namespace; nothing for one that touches no tenant's table."""
    touched = sorted({name for name in re.findall(r"\blossless_\w+", sql) if name in TENANT_TABLES})
    if not touched or WHOLE_INDEX.fullmatch(" ".join(sql.split())) or re.match(r"\s*(LOCK|VACUUM)\b", sql):
        return []
    bound = list(values.values()) if isinstance(values, Mapping) else list(values or ())
    problems = [] if namespace in bound else [f"the namespace is not bound: {sql}"]
    if re.match(r"\s*INSERT", sql, re.IGNORECASE):
        return problems
    for table, alias in SOURCES.findall(sql):
        if table not in TENANT_TABLES:
            continue
        named = alias or table
        single = len(re.findall(r"\b(?:FROM|JOIN|UPDATE)\s+lossless_\w+", sql)) == 1
        if f"{named}.namespace" not in sql and not (single and re.search(r"(?<![.\w])namespace\b", sql)):
            problems.append(f"{named} is not held to the namespace: {sql}")
    return problems
