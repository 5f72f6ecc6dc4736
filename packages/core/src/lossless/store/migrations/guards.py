"""Guards: the triggers that keep tables append-only, and what else a database needs beside its tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["finish_on_postgres", "finish_on_sqlite"]

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
    "tombstone",
)
REMOVABLE = {
    "thread": ("collect",),
    "message": ("collect",),
    "head_log": ("collect",),
    "snapshot": ("collect", "delete"),
    "blob": ("erase", "collect"),
    "node": ("erase", "collect"),
    "summary": ("erase", "collect"),
    "summary_message": ("erase", "collect"),
    "summary_child": ("erase", "collect"),
}
"""Whose rows may be removed, by what kind of removal, while its row in ``lossless_erasure`` is open."""
REPLACEABLE = {"message": ("digest", "salt"), "head_log": ("view",), "snapshot": ("view", "tokens")}
"""What an erasure may change in a row."""
AUDITED = ("open", "rows", "purged_at")
"""What of a removal is written later than its row; it can't be opened again."""


def finish_on_sqlite() -> None:
    for table in APPEND_ONLY:
        columns = [column["name"] for column in sa.inspect(op.get_bind()).get_columns(f"lossless_{table}")]
        kept = [name for name in columns if name not in REPLACEABLE.get(table, ())]
        changed = " OR ".join(f"NEW.{name} IS NOT OLD.{name}" for name in kept)
        unless = {
            "UPDATE": f"({changed}) OR {_closed_on_sqlite(('erase',))}" if table in REPLACEABLE else "",
            "DELETE": _closed_on_sqlite(REMOVABLE[table]) if table in REMOVABLE else "",
        }
        for verb, condition in unless.items():
            when = f"WHEN {condition} " if condition else ""
            op.execute(
                f"CREATE TRIGGER lossless_{table}_no_{verb.lower()} BEFORE {verb} ON lossless_{table} "
                f"{when}BEGIN SELECT RAISE(ABORT, 'lossless_{table} is append-only'); END"
            )
    columns = [column["name"] for column in sa.inspect(op.get_bind()).get_columns("lossless_erasure")]
    changed = " OR ".join(f"NEW.{name} IS NOT OLD.{name}" for name in columns if name not in AUDITED)
    for verb, condition in (("UPDATE", f"WHEN {changed} OR NEW.open > OLD.open "), ("DELETE", "")):
        op.execute(
            f"CREATE TRIGGER lossless_erasure_no_{verb.lower()} BEFORE {verb} ON lossless_erasure "
            f"{condition}BEGIN SELECT RAISE(ABORT, 'lossless_erasure is append-only'); END"
        )
    op.execute(
        "CREATE TRIGGER lossless_checkpoint_part_no_update BEFORE UPDATE ON lossless_checkpoint_part "
        "BEGIN SELECT RAISE(ABORT, 'lossless_checkpoint_part is append-only'); END"
    )
    op.execute("CREATE VIRTUAL TABLE lossless_search USING fts5(body, scope, content='', detail=full, tokenize='ascii')")


def _closed_on_sqlite(kinds: tuple[str, ...]) -> str:
    named = ", ".join(f"'{kind}'" for kind in kinds)
    return (
        "NOT EXISTS (SELECT 1 FROM lossless_erasure AS e "  # noqa: S608 - constants
        f"WHERE e.namespace = OLD.namespace AND e.purged_at IS NULL AND e.open = 1 AND e.kind IN ({named}))"
    )


def finish_on_postgres() -> None:
    """As on SQLite; and the table in which each connection names its newest write (see ``store/postgres.py``)."""
    op.execute(
        "CREATE FUNCTION lossless_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN "
        "IF TG_LEVEL = 'ROW' AND TG_NARGS = 2 AND EXISTS (SELECT 1 FROM lossless_erasure e WHERE e.namespace = OLD.namespace "
        "AND e.purged_at IS NULL AND e.open = 1 AND e.kind = ANY (string_to_array(TG_ARGV[0], ','))) THEN "
        "IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; "
        "IF to_jsonb(NEW) - string_to_array(TG_ARGV[1], ',') = to_jsonb(OLD) - string_to_array(TG_ARGV[1], ',') "
        "THEN RETURN NEW; END IF; "
        "END IF; "
        "RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only'; END $$"
    )
    op.execute(
        "CREATE FUNCTION lossless_audited() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN "
        "IF TG_OP = 'UPDATE' THEN IF NEW.open <= OLD.open AND "
        "to_jsonb(NEW) - string_to_array(TG_ARGV[0], ',') = to_jsonb(OLD) - string_to_array(TG_ARGV[0], ',') "
        "THEN RETURN NEW; END IF; END IF; "
        "RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only'; END $$"
    )
    for table in (*APPEND_ONLY, "erasure"):
        for verb in ("UPDATE", "DELETE", "TRUNCATE"):
            each = "STATEMENT" if verb == "TRUNCATE" else "ROW"
            given = ""
            if table == "erasure":
                function, given = "lossless_audited", f"'{','.join(AUDITED)}'"
            else:
                function = "lossless_append_only"
                if verb == "UPDATE" and table in REPLACEABLE:
                    given = f"'erase', '{','.join(REPLACEABLE[table])}'"
                elif verb == "DELETE" and table in REMOVABLE:
                    given = f"'{','.join(REMOVABLE[table])}', ''"
            op.execute(
                f"CREATE TRIGGER lossless_{table}_no_{verb.lower()} BEFORE {verb} ON lossless_{table} "
                f"FOR EACH {each} EXECUTE FUNCTION {function}({given})"
            )
    for verb, each in (("UPDATE", "ROW"), ("TRUNCATE", "STATEMENT")):
        op.execute(
            f"CREATE TRIGGER lossless_checkpoint_part_no_{verb.lower()} BEFORE {verb} ON lossless_checkpoint_part "
            f"FOR EACH {each} EXECUTE FUNCTION lossless_append_only()"
        )
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
