"""The tables of checkpoints, as the first schema has them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lossless.store.migrations.columns import bytes_column, int_column, text_column

__all__ = ["create_checkpoints"]


def create_checkpoints() -> None:
    """Pools, parts, the messages that are shared, checkpoints and writes."""
    op.create_table(
        "lossless_checkpoint_pool",
        text_column("namespace"),
        text_column("thread_id"),
        int_column("pool"),
        int_column("strand"),
        int_column("inherits"),
        sa.PrimaryKeyConstraint("namespace", "thread_id"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    for name, column in (("shared", "pool"), ("strand", "strand")):
        op.create_index(f"lossless_checkpoint_pool_{name}", "lossless_checkpoint_pool", ["namespace", column], unique=False)
    op.create_table(
        "lossless_checkpoint_inherited",
        text_column("namespace"),
        text_column("thread_id"),
        int_column("place"),
        int_column("strand"),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "place"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index(
        "lossless_checkpoint_inherited_strand", "lossless_checkpoint_inherited", ["namespace", "strand"], unique=False
    )
    op.create_table(
        "lossless_checkpoint_part",
        text_column("namespace"),
        int_column("pool"),
        bytes_column("digest"),
        int_column("inner"),
        int_column("size"),
        text_column("codec"),
        bytes_column("data"),
        sa.PrimaryKeyConstraint("namespace", "pool", "digest"),
        sqlite_strict=True,
    )
    _create_share()
    op.create_table(
        "lossless_checkpoint_write",
        text_column("namespace"),
        int_column("strand"),
        text_column("checkpoint_ns"),
        text_column("checkpoint_id"),
        text_column("task_id"),
        int_column("idx"),
        text_column("task_path"),
        bytes_column("body"),
        sa.PrimaryKeyConstraint("namespace", "strand", "checkpoint_ns", "checkpoint_id", "task_id", "idx"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    _create_checkpoint()


def _create_share() -> None:
    op.create_table(
        "lossless_checkpoint_share",
        text_column("namespace"),
        int_column("pool"),
        bytes_column("digest"),
        sa.PrimaryKeyConstraint("namespace", "pool", "digest"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _create_checkpoint() -> None:
    op.create_table(
        "lossless_checkpoint",
        text_column("namespace"),
        int_column("strand"),
        text_column("checkpoint_ns"),
        text_column("checkpoint_id"),
        text_column("parent", nullable=True),
        bytes_column("run", nullable=True),
        int_column("hidden"),
        bytes_column("view", nullable=True),
        int_column("upto", nullable=True),
        text_column("owner", nullable=True),
        bytes_column("body"),
        bytes_column("channels"),
        bytes_column("facts"),
        sa.PrimaryKeyConstraint("namespace", "strand", "checkpoint_ns", "checkpoint_id"),
        sqlite_strict=True,
    )
    for name, columns in (
        ("recent", ["namespace", "strand", "checkpoint_id", "checkpoint_ns"]),
        ("all", ["namespace", "checkpoint_id", "strand", "checkpoint_ns"]),
    ):
        op.create_index(f"lossless_checkpoint_{name}", "lossless_checkpoint", columns, unique=False)
    op.create_index(
        "lossless_checkpoint_run",
        "lossless_checkpoint",
        ["namespace", "run"],
        unique=False,
        sqlite_where=sa.text("run IS NOT NULL"),
        postgresql_where=sa.text("run IS NOT NULL"),
    )
