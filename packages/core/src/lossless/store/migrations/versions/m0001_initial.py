"""The first schema: blobs, messages, the DAG, views, heads and the search index.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

APPEND_ONLY = ("thread", "blob", "message", "node", "head_log", "summary", "summary_message", "summary_child")


def upgrade() -> None:
    """Create the tables, the triggers that keep them append-only, and the search index."""
    _create_tables()
    for table in APPEND_ONLY:
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER lossless_{table}_no_{verb.lower()} BEFORE {verb} ON lossless_{table} "
                f"BEGIN SELECT RAISE(ABORT, 'lossless_{table} is append-only'); END"
            )
    op.execute("CREATE VIRTUAL TABLE lossless_search USING fts5(scope, body, content='', detail=full, tokenize='ascii')")


def _create_tables() -> None:
    op.create_table(
        "lossless_blob",
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("size", BIG, nullable=False),
        sa.Column("codec", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("namespace", "digest"),
        sqlite_strict=True,
    )
    op.create_table(
        "lossless_node",
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("namespace", "digest"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_search_doc",
        sa.Column("docid", BIG, nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("seq", BIG, nullable=False),
        sa.PrimaryKeyConstraint("docid"),
        sqlite_strict=True,
    )
    op.create_index("lossless_search_doc_message", "lossless_search_doc", ["namespace", "thread_id", "seq"], unique=True)
    op.create_table(
        "lossless_thread",
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.PrimaryKeyConstraint("namespace", "thread_id"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_head",
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("view", sa.LargeBinary(), nullable=False),
        sa.Column("generation", BIG, nullable=False),
        sa.Column("next_seq", BIG, nullable=False),
        sa.Column("total_tokens", BIG, nullable=False),
        sa.Column("chain", sa.LargeBinary(), nullable=False),
        sa.Column("open_calls", sa.Text(), nullable=False),
        sa.Column("updated_at", BIG, nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "thread_id"],
            ["lossless_thread.namespace", "lossless_thread.thread_id"],
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "view"],
            ["lossless_node.namespace", "lossless_node.digest"],
        ),
        sa.PrimaryKeyConstraint("namespace", "thread_id"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_head_log",
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("generation", BIG, nullable=False),
        sa.Column("view", sa.LargeBinary(), nullable=False),
        sa.Column("next_seq", BIG, nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("by_hand", BIG, nullable=False),
        sa.Column("undoes", BIG, nullable=True),
        sa.Column("at", BIG, nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "thread_id"],
            ["lossless_thread.namespace", "lossless_thread.thread_id"],
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "view"],
            ["lossless_node.namespace", "lossless_node.digest"],
        ),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "generation"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_message",
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("seq", BIG, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=True),
        sa.Column("salt", sa.LargeBinary(), nullable=True),
        sa.Column("commitment", sa.LargeBinary(), nullable=False),
        sa.Column("chain", sa.LargeBinary(), nullable=False),
        sa.Column("tokens", BIG, nullable=False),
        sa.Column("exact", BIG, nullable=False),
        sa.Column("total_tokens", BIG, nullable=False),
        sa.Column("unit", BIG, nullable=False),
        sa.Column("place", BIG, nullable=False),
        sa.Column("revises", BIG, nullable=True),
        sa.Column("request", BIG, nullable=False),
        sa.Column("injected", BIG, nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "digest"],
            ["lossless_blob.namespace", "lossless_blob.digest"],
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "thread_id"],
            ["lossless_thread.namespace", "lossless_thread.thread_id"],
        ),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "seq"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("lossless_message_id", "lossless_message", ["namespace", "thread_id", "id", "seq"], unique=True)
    op.create_index(
        "lossless_message_request",
        "lossless_message",
        ["namespace", "thread_id", "seq"],
        unique=False,
        sqlite_where=sa.text("request = 1"),
        postgresql_where=sa.text("request = 1"),
    )
    op.create_index(
        "lossless_message_revises",
        "lossless_message",
        ["namespace", "thread_id", "revises"],
        unique=False,
        sqlite_where=sa.text("revises IS NOT NULL"),
        postgresql_where=sa.text("revises IS NOT NULL"),
    )
    op.create_index(
        "lossless_message_unit",
        "lossless_message",
        ["namespace", "thread_id", "unit", "seq"],
        unique=False,
        sqlite_where=sa.text("unit < seq"),
        postgresql_where=sa.text("unit < seq"),
    )
    op.create_table(
        "lossless_summary",
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("depth", BIG, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("kept", BIG, nullable=False),
        sa.Column("total", BIG, nullable=False),
        sa.Column("regime", sa.Text(), nullable=False),
        sa.Column("tokens", BIG, nullable=False),
        sa.Column("source_tokens", BIG, nullable=False),
        sa.Column("messages", BIG, nullable=False),
        sa.Column("first_seq", BIG, nullable=False),
        sa.Column("last_seq", BIG, nullable=False),
        sa.Column("earliest_at", BIG, nullable=False),
        sa.Column("latest_at", BIG, nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("level", BIG, nullable=False),
        sa.Column("degraded", BIG, nullable=False),
        sa.Column("span_key", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "thread_id"],
            ["lossless_thread.namespace", "lossless_thread.thread_id"],
        ),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "id"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("lossless_summary_span", "lossless_summary", ["namespace", "thread_id", "span_key"], unique=False)
    op.create_table(
        "lossless_summary_child",
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("summary_id", sa.Text(), nullable=False),
        sa.Column("ordinal", BIG, nullable=False),
        sa.Column("child_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "thread_id", "child_id"],
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
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("summary_id", sa.Text(), nullable=False),
        sa.Column("ordinal", BIG, nullable=False),
        sa.Column("seq", BIG, nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "thread_id", "seq"],
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
