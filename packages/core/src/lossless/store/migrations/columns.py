"""Columns as the migrations make them."""

from __future__ import annotations

import sqlalchemy as sa

__all__ = ["bytes_column", "int_column", "text_column"]


def text_column(name: str, *, nullable: bool = False) -> sa.Column[str]:
    """Give a column of text, ordered by code points."""
    return sa.Column(name, sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=nullable)


def int_column(name: str, *, nullable: bool = False) -> sa.Column[int]:
    """Give a column of integers of 64 bits."""
    return sa.Column(name, sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=nullable)


def bytes_column(name: str, *, nullable: bool = False) -> sa.Column[bytes]:
    """Give a column of bytes."""
    return sa.Column(name, sa.LargeBinary(), nullable=nullable)
