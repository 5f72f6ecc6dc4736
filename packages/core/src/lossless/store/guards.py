"""Guards: the triggers that keep rows as they are, written out, compared with those that are there, and made again.

A migration that changes the columns or the number of guarded tables makes their guards again.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, TextClause, inspect, text

__all__ = ["GUARDED", "guard_problems", "guards", "mend_guards"]

_APPEND_ONLY = (
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
GUARDED = (*_APPEND_ONLY, "erasure")
"""The tables whose rows nobody may change or remove, but for a removal, and for what of its record is written later."""
_REMOVABLE = {
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
_REPLACEABLE = {"message": ("digest", "salt"), "head_log": ("view",), "snapshot": ("view", "tokens")}
"""What an erasure may change in a row."""
_AUDITED = ("open", "rows", "purged_at")
"""What of a removal is written later than its row; it can't be opened again."""
_FREE_TO_GO = ("checkpoint_part",)
"""Tables whose rows nobody may change, and which go when nothing refers to them any longer."""

_FUNCTIONS = {
    "lossless_append_only": (
        "BEGIN "
        "IF TG_LEVEL = 'ROW' AND TG_NARGS = 2 AND EXISTS (SELECT 1 FROM lossless_erasure e WHERE e.namespace = OLD.namespace "
        "AND e.purged_at IS NULL AND e.open = 1 AND e.kind = ANY (string_to_array(TG_ARGV[0], ','))) THEN "
        "IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; "
        "IF to_jsonb(NEW) - string_to_array(TG_ARGV[1], ',') = to_jsonb(OLD) - string_to_array(TG_ARGV[1], ',') "
        "THEN RETURN NEW; END IF; "
        "END IF; "
        "RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only'; END "
    ),
    "lossless_audited": (
        "BEGIN "
        "IF TG_OP = 'UPDATE' THEN IF NEW.open <= OLD.open AND "
        "to_jsonb(NEW) - string_to_array(TG_ARGV[0], ',') = to_jsonb(OLD) - string_to_array(TG_ARGV[0], ',') "
        "THEN RETURN NEW; END IF; END IF; "
        "RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only'; END "
    ),
}
"""What the triggers of PostgreSQL call, by name: their bodies."""

_TRIGGERS_THERE = text(
    "SELECT t.tgname, pg_get_triggerdef(t.oid, true) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
    "WHERE t.tgenabled IN ('O', 'A') AND starts_with(c.relname, 'lossless_') "
    "AND c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal"
)
_FUNCTIONS_THERE = text(
    "SELECT proname, prosrc FROM pg_proc WHERE starts_with(proname, 'lossless_') "
    "AND pronamespace = current_schema()::regnamespace"
)


def guards(connection: Connection) -> dict[str, str]:
    """Write the statements that make the triggers of a database, by their names."""
    on = _on_postgres if connection.dialect.name == "postgresql" else _on_sqlite
    return {name: f"CREATE TRIGGER {name} {rest}" for name, rest in on(connection)}


def guard_problems(connection: Connection) -> list[str]:
    """Name the triggers that were removed, switched off, or do something else than they should."""
    wrong, changed = _wrong(connection), _changed_functions(connection)
    found = [f"the trigger {name} was {'changed' if there else 'removed or switched off'}" for name, there in wrong.items()]
    return found + [f"the function {name} of triggers was changed" for name in changed]


def mend_guards(connection: Connection) -> int:
    """Make the triggers again that are not as they should be; give how many, and functions that they call."""
    changed = _changed_functions(connection)
    for name in changed:
        connection.exec_driver_sql(
            f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {_FUNCTIONS[name]}$$"
        )
    wanted, wrong = guards(connection), _wrong(connection)
    for name in wrong:
        on = f" ON {name.rpartition('_no_')[0]}" if connection.dialect.name == "postgresql" else ""
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}{on}")
        connection.exec_driver_sql(wanted[name])
    return len(wrong) + len(changed)


def _wrong(connection: Connection) -> dict[str, bool]:
    """Give the names of triggers that are not as they should be, each with whether there is one at all."""
    if connection.dialect.name == "postgresql":
        there = _pairs(connection, _TRIGGERS_THERE)
    else:
        statement = text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        there = _pairs(connection, statement)
    return {name: name in there for name, wanted in guards(connection).items() if there.get(name) != wanted}


def _changed_functions(connection: Connection) -> list[str]:
    if connection.dialect.name != "postgresql":
        return []
    there = _pairs(connection, _FUNCTIONS_THERE)
    return [name for name, body in _FUNCTIONS.items() if there.get(name, "").strip() != body.strip()]


def _pairs(connection: Connection, statement: TextClause) -> dict[str, str]:
    return {row[0]: row[1] for row in connection.execute(statement)}


def _on_sqlite(connection: Connection) -> Iterator[tuple[str, str]]:
    for table in _APPEND_ONLY:
        changed = _differs(connection, table, but=_REPLACEABLE.get(table, ()))
        unless = f"WHEN ({changed}) OR {_closed(('erase',))} " if table in _REPLACEABLE else ""
        yield _raising(table, "UPDATE", unless)
        yield _raising(table, "DELETE", f"WHEN {_closed(_REMOVABLE[table])} " if table in _REMOVABLE else "")
    yield _raising("erasure", "UPDATE", f"WHEN {_differs(connection, 'erasure', but=_AUDITED)} OR NEW.open > OLD.open ")
    yield _raising("erasure", "DELETE", "")
    for table in _FREE_TO_GO:
        yield _raising(table, "UPDATE", "")


def _raising(table: str, verb: str, condition: str) -> tuple[str, str]:
    raised = f"{condition}BEGIN SELECT RAISE(ABORT, 'lossless_{table} is append-only'); END"
    return f"lossless_{table}_no_{verb.lower()}", f"BEFORE {verb} ON lossless_{table} {raised}"


def _differs(connection: Connection, table: str, *, but: tuple[str, ...]) -> str:
    columns = [column["name"] for column in inspect(connection).get_columns(f"lossless_{table}")]
    return " OR ".join(f"NEW.{name} IS NOT OLD.{name}" for name in columns if name not in but)


def _closed(kinds: tuple[str, ...]) -> str:
    named = ", ".join(f"'{kind}'" for kind in kinds)
    return (
        "NOT EXISTS (SELECT 1 FROM lossless_erasure AS e "  # noqa: S608 - constants
        f"WHERE e.namespace = OLD.namespace AND e.purged_at IS NULL AND e.open = 1 AND e.kind IN ({named}))"
    )


def _on_postgres(_connection: Connection) -> Iterator[tuple[str, str]]:
    for table in GUARDED:
        for verb in ("UPDATE", "DELETE", "TRUNCATE"):
            if table == "erasure":
                calls = f"lossless_audited('{','.join(_AUDITED)}')"
            elif verb == "UPDATE" and table in _REPLACEABLE:
                calls = f"lossless_append_only('erase', '{','.join(_REPLACEABLE[table])}')"
            elif verb == "DELETE" and table in _REMOVABLE:
                calls = f"lossless_append_only('{','.join(_REMOVABLE[table])}', '')"
            else:
                calls = "lossless_append_only()"
            yield _calling(table, verb, calls)
    for table in _FREE_TO_GO:
        for verb in ("UPDATE", "TRUNCATE"):
            yield _calling(table, verb, "lossless_append_only()")


def _calling(table: str, verb: str, calls: str) -> tuple[str, str]:
    each = "STATEMENT" if verb == "TRUNCATE" else "ROW"
    return f"lossless_{table}_no_{verb.lower()}", f"BEFORE {verb} ON lossless_{table} FOR EACH {each} EXECUTE FUNCTION {calls}"
