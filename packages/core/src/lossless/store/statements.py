"""Statements that each database writes in its own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Executable
from sqlalchemy.dialects import postgresql, sqlite

__all__ = ["insert_new"]


def insert_new(table: Any) -> Callable[[str], Executable]:
    """Insert rows but for those whose key is there already; give the statement by the name of the dialect."""

    def statement(dialect: str) -> Executable:
        insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
        return insert(table).on_conflict_do_nothing()

    return statement
