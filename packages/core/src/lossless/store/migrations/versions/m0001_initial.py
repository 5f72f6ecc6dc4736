"""The first schema: blobs, messages, the DAG, views, heads and the search index.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op

from lossless.store.migrations.checkpoints import create_checkpoints
from lossless.store.migrations.columns import bytes_column, int_column, text_column
from lossless.store.migrations.guards import finish_on_postgres, finish_on_sqlite

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, the triggers that keep them append-only, and the search index."""
    _create_content()
    _create_messages()
    _create_heads()
    _create_summaries()
    _create_lineage()
    _create_spending()
    _create_operations()
    _create_erasures()
    _create_search()
    create_checkpoints()
    if op.get_bind().dialect.name == "postgresql":
        finish_on_postgres()
    else:
        finish_on_sqlite()


def _create_content() -> None:
    """Namespaces, blobs, nodes of persistent vectors, and threads."""
    op.create_table(
        "lossless_namespace",
        text_column("namespace"),
        bytes_column("secret"),
        text_column("sealed_by", nullable=True),
        sa.PrimaryKeyConstraint("namespace"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_blob",
        text_column("namespace"),
        bytes_column("digest"),
        int_column("size"),
        text_column("codec"),
        bytes_column("data"),
        sa.PrimaryKeyConstraint("namespace", "digest"),
        sqlite_strict=True,
    )
    op.create_table(
        "lossless_node",
        text_column("namespace"),
        bytes_column("digest"),
        bytes_column("data"),
        sa.PrimaryKeyConstraint("namespace", "digest"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_thread",
        text_column("namespace"),
        text_column("thread_id"),
        text_column("format"),
        text_column("parent", nullable=True),
        text_column("part_of", nullable=True),
        int_column("cut"),
        int_column("created_at"),
        sa.ForeignKeyConstraint(["namespace", "parent"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        sa.PrimaryKeyConstraint("namespace", "thread_id"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index(
        "lossless_thread_part",
        "lossless_thread",
        ["namespace", "part_of"],
        unique=False,
        sqlite_where=sa.text("part_of IS NOT NULL"),
        postgresql_where=sa.text("part_of IS NOT NULL"),
    )


def _create_messages() -> None:
    """Messages, and the indexes that decisions are read from."""
    op.create_table(
        "lossless_message",
        text_column("namespace"),
        text_column("thread_id"),
        int_column("seq"),
        text_column("id", nullable=True),
        text_column("role", nullable=True),
        text_column("format", nullable=True),
        bytes_column("digest", nullable=True),
        bytes_column("salt", nullable=True),
        bytes_column("chain"),
        int_column("tokens"),
        int_column("exact"),
        int_column("total_tokens"),
        int_column("unit", nullable=True),
        int_column("place", nullable=True),
        int_column("revises", nullable=True),
        int_column("request"),
        int_column("injected"),
        int_column("created_at"),
        sa.ForeignKeyConstraint(["namespace", "thread_id"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "seq"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    for name, columns, some, unique in (
        ("id", ["id", "seq"], "id IS NOT NULL", True),
        ("request", ["seq"], "request = 1", False),
        ("revises", ["revises"], "revises IS NOT NULL", False),
        ("unit", ["unit", "seq"], "unit < seq", False),
    ):
        op.create_index(
            f"lossless_message_{name}",
            "lossless_message",
            ["namespace", "thread_id", *columns],
            unique=unique,
            sqlite_where=sa.text(some),
            postgresql_where=sa.text(some),
        )


def _create_heads() -> None:
    """Heads, the log of their moves, and snapshots."""
    op.create_table(
        "lossless_head",
        text_column("namespace"),
        text_column("thread_id"),
        bytes_column("view"),
        int_column("generation"),
        int_column("next_seq"),
        int_column("total_tokens"),
        bytes_column("chain"),
        text_column("open_calls"),
        int_column("lookalike_ids"),
        int_column("updated_at"),
        int_column("since"),
        int_column("deleted_at", nullable=True),
        sa.ForeignKeyConstraint(["namespace", "thread_id"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        sa.ForeignKeyConstraint(["namespace", "view"], ["lossless_node.namespace", "lossless_node.digest"]),
        sa.PrimaryKeyConstraint("namespace", "thread_id"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_head_log",
        text_column("namespace"),
        text_column("thread_id"),
        int_column("generation"),
        bytes_column("view"),
        int_column("next_seq"),
        text_column("why"),
        int_column("by_hand"),
        int_column("undoes", nullable=True),
        int_column("at"),
        sa.ForeignKeyConstraint(["namespace", "thread_id"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        sa.ForeignKeyConstraint(["namespace", "view"], ["lossless_node.namespace", "lossless_node.digest"]),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "generation"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_snapshot",
        text_column("namespace"),
        text_column("thread_id"),
        text_column("name"),
        text_column("id"),
        text_column("description"),
        text_column("tags"),
        bytes_column("view"),
        int_column("seq"),
        int_column("tokens"),
        text_column("parent", nullable=True),
        int_column("created_at"),
        sa.ForeignKeyConstraint(["namespace", "thread_id"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        sa.ForeignKeyConstraint(["namespace", "view"], ["lossless_node.namespace", "lossless_node.digest"]),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "name"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("lossless_head_log_view", "lossless_head_log", ["namespace", "view"], unique=False)
    op.create_index("lossless_snapshot_view", "lossless_snapshot", ["namespace", "view"], unique=False)


def _create_summaries() -> None:
    """Summaries."""
    op.create_table(
        "lossless_summary",
        text_column("namespace"),
        text_column("thread_id"),
        text_column("id"),
        text_column("kind"),
        int_column("depth"),
        int_column("kept"),
        int_column("total"),
        text_column("regime"),
        int_column("tokens"),
        int_column("source_tokens"),
        int_column("messages"),
        int_column("first_seq"),
        int_column("last_seq"),
        int_column("newest_seq"),
        int_column("earliest_at"),
        int_column("latest_at"),
        text_column("policy"),
        int_column("level"),
        int_column("degraded"),
        text_column("usage"),
        bytes_column("span_key"),
        int_column("created_at"),
        text_column("text"),
        bytes_column("note"),
        sa.ForeignKeyConstraint(["namespace", "thread_id"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "id"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("lossless_summary_span", "lossless_summary", ["namespace", "thread_id", "span_key"], unique=False)


def _create_lineage() -> None:
    """What summaries were made from."""
    op.create_table(
        "lossless_summary_child",
        text_column("namespace"),
        text_column("thread_id"),
        text_column("summary_id"),
        int_column("ordinal"),
        text_column("source_thread"),
        text_column("child_id"),
        sa.ForeignKeyConstraint(
            ["namespace", "source_thread", "child_id"],
            ["lossless_summary.namespace", "lossless_summary.thread_id", "lossless_summary.id"],
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "thread_id", "summary_id"],
            ["lossless_summary.namespace", "lossless_summary.thread_id", "lossless_summary.id"],
        ),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "summary_id", "ordinal"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index(
        "lossless_summary_child_child",
        "lossless_summary_child",
        ["namespace", "thread_id", "child_id", "summary_id"],
        unique=False,
    )
    op.create_table(
        "lossless_summary_message",
        text_column("namespace"),
        text_column("thread_id"),
        text_column("summary_id"),
        int_column("ordinal"),
        text_column("source_thread"),
        int_column("seq"),
        sa.ForeignKeyConstraint(
            ["namespace", "source_thread", "seq"],
            ["lossless_message.namespace", "lossless_message.thread_id", "lossless_message.seq"],
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "thread_id", "summary_id"],
            ["lossless_summary.namespace", "lossless_summary.thread_id", "lossless_summary.id"],
        ),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "summary_id", "ordinal"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index(
        "lossless_summary_message_seq", "lossless_summary_message", ["namespace", "thread_id", "seq", "summary_id"], unique=False
    )


def _create_spending() -> None:
    """What calls to summarizers took."""
    op.create_table(
        "lossless_spend",
        text_column("namespace"),
        text_column("thread_id"),
        int_column("slot"),
        int_column("calls"),
        int_column("input_tokens"),
        int_column("cached_tokens"),
        int_column("output_tokens"),
        int_column("cost"),
        int_column("unpriced"),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "slot"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("lossless_spend_slot", "lossless_spend", ["namespace", "slot"], unique=False)


def _create_operations() -> None:
    """Leases, corrections, and how well tokens are counted."""
    op.create_table(
        "lossless_lease",
        text_column("namespace"),
        text_column("thread_id"),
        text_column("work"),
        text_column("holder"),
        int_column("until"),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "work"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_correction",
        text_column("namespace"),
        text_column("thread_id"),
        int_column("seq"),
        text_column("meant"),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "seq"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_calibration",
        text_column("namespace"),
        text_column("model"),
        int_column("counted"),
        int_column("reported"),
        sa.PrimaryKeyConstraint("namespace", "model"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _create_erasures() -> None:
    """What was removed from the store, and what is left of erased messages."""
    op.create_table(
        "lossless_erasure",
        text_column("namespace"),
        int_column("number"),
        text_column("kind"),
        text_column("thread_id", nullable=True),
        text_column("who"),
        text_column("reason"),
        int_column("rows"),
        int_column("open"),
        int_column("at"),
        int_column("purged_at", nullable=True),
        sa.PrimaryKeyConstraint("namespace", "number"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index(
        "lossless_erasure_pending",
        "lossless_erasure",
        ["namespace"],
        unique=False,
        sqlite_where=sa.text("purged_at IS NULL"),
        postgresql_where=sa.text("purged_at IS NULL"),
    )
    op.create_table(
        "lossless_tombstone",
        text_column("namespace"),
        text_column("thread_id"),
        int_column("seq"),
        text_column("id"),
        bytes_column("hash"),
        text_column("reason"),
        int_column("erased_at"),
        int_column("number"),
        sa.ForeignKeyConstraint(["namespace", "number"], ["lossless_erasure.namespace", "lossless_erasure.number"]),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "seq"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _create_search() -> None:
    """Which message a document of the search index is."""
    op.create_table(
        "lossless_search_doc",
        int_column("docid"),
        text_column("namespace"),
        text_column("thread_id"),
        int_column("seq"),
        sa.PrimaryKeyConstraint("docid"),
        sqlite_strict=True,
    )
    op.create_index("lossless_search_doc_message", "lossless_search_doc", ["namespace", "thread_id", "seq"], unique=True)
