"""Columns: what the tables are made of."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import BigInteger, ForeignKeyConstraint, Integer, LargeBinary, Text
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

__all__ = [
    "BIG",
    "KEYED",
    "METADATA",
    "STRICT",
    "TO_THREAD",
    "Base",
    "bytes_column",
    "int_column",
    "key_column",
    "references",
    "text_column",
]

BIG = BigInteger().with_variant(Integer(), "sqlite")
TEXT = Text().with_variant(Text(collation="C"), "postgresql")  # ordered by code points everywhere
STRICT: dict[str, Any] = {"sqlite_strict": True}
KEYED: dict[str, Any] = {"sqlite_strict": True, "sqlite_with_rowid": False}


class Base(SQLModel, registry=registry()):
    """Root of our tables, with our own registry and metadata."""

    __abstract__: ClassVar[bool] = True


METADATA = Base.metadata


def key_column() -> Any:
    """Give a part of a key that is text."""
    return Field(sa_type=TEXT, primary_key=True)


def text_column(**options: Any) -> Any:
    """Give a column of text."""
    return Field(sa_type=TEXT, **options)


def int_column(**options: Any) -> Any:
    """Give a column of integers of 64 bits."""
    return Field(sa_type=BIG, **options)


def bytes_column(**options: Any) -> Any:
    """Give a column of bytes."""
    return Field(sa_type=LargeBinary, **options)


def references(table: str, *pairs: tuple[str, str]) -> ForeignKeyConstraint:
    """A foreign key within one namespace: pairs of (our column, their column)."""
    ours, theirs = zip(("namespace", "namespace"), *pairs, strict=True)
    return ForeignKeyConstraint(ours, [f"lossless_{table}.{column}" for column in theirs])


TO_THREAD = ("thread_id", "thread_id")
