"""What a database needs beside its tables: the triggers that keep tables append-only, the search index."""

from __future__ import annotations

from alembic import op

from lossless.store.guards import mend_guards

__all__ = ["finish_on_postgres", "finish_on_sqlite"]


def finish_on_sqlite() -> None:
    mend_guards(op.get_bind())
    op.execute("CREATE VIRTUAL TABLE lossless_search USING fts5(body, scope, content='', detail=full, tokenize='ascii')")


def finish_on_postgres() -> None:
    """As on SQLite; and the table in which each connection names its newest write (see ``store/postgres.py``)."""
    mend_guards(op.get_bind())
    op.execute("ALTER TABLE lossless_search_doc ADD COLUMN held smallint NOT NULL, ADD COLUMN tokens tsvector NOT NULL")
    op.execute("CREATE INDEX lossless_search_tokens ON lossless_search_doc USING gin (tokens)")
    op.execute("CREATE TABLE lossless_writer (id text PRIMARY KEY, operation text NOT NULL, at bigint NOT NULL)")
    # Statistics would keep samples of what is stored, out of the reach of an erasure; nobody asks by these columns.
    for table, column in (
        ("blob", "data"),
        ("summary", "text"),
        ("summary", "note"),
        ("checkpoint_part", "data"),
        ("checkpoint_write", "body"),
    ):
        op.execute(f"ALTER TABLE lossless_{table} ALTER COLUMN {column} SET STATISTICS 0")
