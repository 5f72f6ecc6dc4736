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

APPEND_ONLY = (
    "namespace",
    "thread",
    "blob",
    "message",
    "node",
    "head_log",
    "snapshot",
    "summary",
    "summary_message",
    "summary_child",
)


def upgrade() -> None:
    """Create the tables, the triggers that keep them append-only, and the search index."""
    _create_content()
    _create_messages()
    _create_heads()
    _create_summaries()
    _create_lineage()
    _create_spending()
    _create_operations()
    _create_search()
    if op.get_bind().dialect.name == "postgresql":
        _finish_on_postgres()
    else:
        _finish_on_sqlite()


def _finish_on_sqlite() -> None:
    for table in APPEND_ONLY:
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER lossless_{table}_no_{verb.lower()} BEFORE {verb} ON lossless_{table} "
                f"BEGIN SELECT RAISE(ABORT, 'lossless_{table} is append-only'); END"
            )
    op.execute("CREATE VIRTUAL TABLE lossless_search USING fts5(body, scope, content='', detail=full, tokenize='ascii')")


def _finish_on_postgres() -> None:
    """As on SQLite; and the table in which each connection names its newest write (see ``store/postgres.py``)."""
    op.execute(
        "CREATE FUNCTION lossless_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only'; END $$"
    )
    for table in APPEND_ONLY:
        for verb in ("UPDATE", "DELETE", "TRUNCATE"):
            each = "STATEMENT" if verb == "TRUNCATE" else "ROW"
            op.execute(
                f"CREATE TRIGGER lossless_{table}_no_{verb.lower()} BEFORE {verb} ON lossless_{table} "
                f"FOR EACH {each} EXECUTE FUNCTION lossless_append_only()"
            )
    op.execute("ALTER TABLE lossless_search_doc ADD COLUMN held smallint NOT NULL, ADD COLUMN tokens tsvector NOT NULL")
    op.execute("CREATE INDEX lossless_search_tokens ON lossless_search_doc USING gin (tokens)")
    op.execute("CREATE TABLE lossless_writer (id text PRIMARY KEY, operation text NOT NULL, at bigint NOT NULL)")


def _create_content() -> None:
    """Namespaces, blobs, nodes of persistent vectors, and threads."""
    op.create_table(
        "lossless_namespace",
        _text("namespace"),
        _bytes("secret"),
        _text("sealed_by", nullable=True),
        sa.PrimaryKeyConstraint("namespace"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_blob",
        _text("namespace"),
        _bytes("digest"),
        _int("size"),
        _text("codec"),
        _bytes("data"),
        sa.PrimaryKeyConstraint("namespace", "digest"),
        sqlite_strict=True,
    )
    op.create_table(
        "lossless_node",
        _text("namespace"),
        _bytes("digest"),
        _bytes("data"),
        sa.PrimaryKeyConstraint("namespace", "digest"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_thread",
        _text("namespace"),
        _text("thread_id"),
        _text("format"),
        _text("parent", nullable=True),
        _int("cut"),
        _int("created_at"),
        sa.ForeignKeyConstraint(["namespace", "parent"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        sa.PrimaryKeyConstraint("namespace", "thread_id"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _create_messages() -> None:
    """Messages, and the indexes that decisions are read from."""
    op.create_table(
        "lossless_message",
        _text("namespace"),
        _text("thread_id"),
        _int("seq"),
        _text("id"),
        _text("role"),
        _text("format"),
        _bytes("digest", nullable=True),
        _bytes("salt", nullable=True),
        _bytes("commitment"),
        _bytes("chain"),
        _int("tokens"),
        _int("exact"),
        _int("total_tokens"),
        _int("unit"),
        _int("place"),
        _int("revises", nullable=True),
        _int("request"),
        _int("injected"),
        _int("created_at"),
        sa.ForeignKeyConstraint(["namespace", "digest"], ["lossless_blob.namespace", "lossless_blob.digest"]),
        sa.ForeignKeyConstraint(["namespace", "thread_id"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
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


def _create_heads() -> None:
    """Heads, the log of their moves, and snapshots."""
    op.create_table(
        "lossless_head",
        _text("namespace"),
        _text("thread_id"),
        _bytes("view"),
        _int("generation"),
        _int("next_seq"),
        _int("total_tokens"),
        _bytes("chain"),
        _text("open_calls"),
        _int("lookalike_ids"),
        _int("updated_at"),
        sa.ForeignKeyConstraint(["namespace", "thread_id"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        sa.ForeignKeyConstraint(["namespace", "view"], ["lossless_node.namespace", "lossless_node.digest"]),
        sa.PrimaryKeyConstraint("namespace", "thread_id"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_head_log",
        _text("namespace"),
        _text("thread_id"),
        _int("generation"),
        _bytes("view"),
        _int("next_seq"),
        _text("why"),
        _int("by_hand"),
        _int("undoes", nullable=True),
        _int("at"),
        sa.ForeignKeyConstraint(["namespace", "thread_id"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        sa.ForeignKeyConstraint(["namespace", "view"], ["lossless_node.namespace", "lossless_node.digest"]),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "generation"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_snapshot",
        _text("namespace"),
        _text("thread_id"),
        _text("name"),
        _text("id"),
        _text("description"),
        _text("tags"),
        _bytes("view"),
        _int("seq"),
        _int("tokens"),
        _text("parent", nullable=True),
        _int("created_at"),
        sa.ForeignKeyConstraint(["namespace", "thread_id"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        sa.ForeignKeyConstraint(["namespace", "view"], ["lossless_node.namespace", "lossless_node.digest"]),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "name"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _create_summaries() -> None:
    """Summaries."""
    op.create_table(
        "lossless_summary",
        _text("namespace"),
        _text("thread_id"),
        _text("id"),
        _text("kind"),
        _int("depth"),
        _int("kept"),
        _int("total"),
        _text("regime"),
        _int("tokens"),
        _int("source_tokens"),
        _int("messages"),
        _int("first_seq"),
        _int("last_seq"),
        _int("newest_seq"),
        _int("earliest_at"),
        _int("latest_at"),
        _text("policy"),
        _int("level"),
        _int("degraded"),
        _text("usage"),
        _bytes("span_key"),
        _int("created_at"),
        _text("text"),
        _text("note"),
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
        _text("namespace"),
        _text("thread_id"),
        _text("summary_id"),
        _int("ordinal"),
        _text("source_thread"),
        _text("child_id"),
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
        _text("namespace"),
        _text("thread_id"),
        _text("summary_id"),
        _int("ordinal"),
        _text("source_thread"),
        _int("seq"),
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
        _text("namespace"),
        _text("thread_id"),
        _int("slot"),
        _int("calls"),
        _int("input_tokens"),
        _int("cached_tokens"),
        _int("output_tokens"),
        _int("cost"),
        _int("unpriced"),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "slot"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("lossless_spend_slot", "lossless_spend", ["namespace", "slot"], unique=False)


def _create_operations() -> None:
    """Leases, corrections, and how well tokens are counted."""
    op.create_table(
        "lossless_lease",
        _text("namespace"),
        _text("thread_id"),
        _text("work"),
        _text("holder"),
        _int("until"),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "work"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_correction",
        _text("namespace"),
        _text("thread_id"),
        _int("seq"),
        _text("meant"),
        sa.PrimaryKeyConstraint("namespace", "thread_id", "seq"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lossless_calibration",
        _text("namespace"),
        _text("model"),
        _int("counted"),
        _int("reported"),
        sa.PrimaryKeyConstraint("namespace", "model"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _create_search() -> None:
    """Which message a document of the search index is."""
    op.create_table(
        "lossless_search_doc",
        _int("docid"),
        _text("namespace"),
        _text("thread_id"),
        _int("seq"),
        sa.PrimaryKeyConstraint("docid"),
        sqlite_strict=True,
    )
    op.create_index("lossless_search_doc_message", "lossless_search_doc", ["namespace", "thread_id", "seq"], unique=True)


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=nullable)


def _int(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=nullable)


def _bytes(name: str, *, nullable: bool = False) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary(), nullable=nullable)
