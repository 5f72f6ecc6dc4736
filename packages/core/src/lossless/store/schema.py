"""The schema's version: made on first use, migrated when older, refused when newer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event, inspect

from lossless.errors import SchemaError, StoreOpenError
from lossless.locks import ForkLock
from lossless.store.planning import describe_tables

__all__ = [
    "HEAD_REVISION",
    "VERSION_TABLE",
    "current_revision",
    "known_revision",
    "newest_revision",
    "prepare_schema",
    "refuse_revision",
]

VERSION_TABLE = "lossless_schema_version"
HEAD_REVISION = "0001"
"""The newest revision in ``migrations/versions``; a test keeps the two equal."""
MIGRATIONS = Path(__file__).parent / "migrations"

_KNOWN_REVISIONS = ("0001",)
_MIGRATION_LOCK = 0x6C6F73736C657373  # "lossless"


def current_revision(connection: Connection) -> str | None:
    """Give the newest schema's revision if the database has it, so that nothing has to be written; else None."""
    return HEAD_REVISION if _current_revision(connection) == HEAD_REVISION else None


def newest_revision() -> str:
    """Give the revision that a database has once this version has opened it."""
    return HEAD_REVISION


def known_revision(connection: Connection) -> str:
    """Give the schema's revision of a database that can only be read, and so has to be up to date.

    Raises:
        StoreOpenError: it has no tables of ours.
        SchemaError: it was made by an older or a newer version of Lossless.
    """
    current = _current_revision(connection)
    if current is None:
        raise StoreOpenError("the database holds no Lossless tables, and can't be written", hint="check the path")
    if current != HEAD_REVISION and current in _KNOWN_REVISIONS:
        raise SchemaError(
            f"the database has the older schema {current}, and can't be written",
            hint="open it once where it can be written, or a copy of it",
        )
    if current != HEAD_REVISION:
        raise _newer(current)
    return current


def refuse_revision(found: str | None, own: str) -> None:
    """Refuse to go on with a database whose schema is not any more the one that it was opened with.

    Raises:
        SchemaError: another version of Lossless has migrated it meanwhile.
    """
    if found is not None and found != own:
        raise SchemaError(
            f"another version of Lossless has brought the database from schema {own} to {found} while it was open here",
            hint="upgrade Lossless in this process, too, and open it again; nothing was written",
        )


_MIGRATING = ForkLock()  # Alembic's operations go through module globals, one migration at a time


def prepare_schema(connection: Connection) -> str | None:
    """Bring the schema to the newest version, inside the caller's write transaction; give the one that it had, or None.

    Raises:
        SchemaError: the database was made by a newer version of Lossless.
    """
    if connection.dialect.name == "postgresql":
        # Who comes second waits until the tables of the first are there.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
    current = _current_revision(connection)
    if current == HEAD_REVISION:
        return current
    if current is not None and current not in _KNOWN_REVISIONS:
        raise _newer(current)
    if connection.dialect.name == "postgresql" and current is not None:
        # Every transaction of an engine reads this table: each is over before the migration begins, or sees that it happened.
        connection.exec_driver_sql(f"LOCK TABLE {VERSION_TABLE} IN ACCESS EXCLUSIVE MODE")
    if current is None and connection.dialect.name == "sqlite":
        _make_on_sqlite(connection)
    else:
        _upgrade(connection)
    describe_tables(connection)
    return current


def _newer(current: str) -> SchemaError:
    return SchemaError(
        f"the database has schema {current}, which this version of Lossless does not know",
        hint="upgrade Lossless; the database was not touched",
    )


def _current_revision(connection: Connection) -> str | None:
    if not _has_version_table(connection):
        return None
    row = connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").first()  # noqa: S608 - a constant
    return None if row is None else str(row[0])


def _has_version_table(connection: Connection) -> bool:
    if connection.dialect.name == "sqlite":  # reflection would be a third of what opening an engine costs
        named = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?"
        return bool(connection.exec_driver_sql(named, (VERSION_TABLE,)).scalar())
    return inspect(connection).has_table(VERSION_TABLE)


_made: list[tuple[str, Any]] = []
"""The statements that made the first new SQLite database of this process. By them the next takes a tenth of Alembic's time, which
matters to whoever makes many, such as a database in memory for each test."""


def _make_on_sqlite(connection: Connection) -> None:
    if _made:
        for statement, parameters in _made:
            connection.exec_driver_sql(statement, parameters)
        return
    noted: list[tuple[str, Any]] = []

    @event.listens_for(connection, "before_cursor_execute")
    def _note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        if not statement.lstrip().upper().startswith(("SELECT", "PRAGMA")):
            noted.append((statement, parameters))

    try:
        _upgrade(connection)
    finally:
        event.remove(connection, "before_cursor_execute", _note)
    _made[:] = noted


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    with _MIGRATING:
        command.upgrade(config, "head")
