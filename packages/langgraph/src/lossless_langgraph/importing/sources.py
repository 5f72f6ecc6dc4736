"""The tables of LangGraph's own savers, read a checkpoint at a time: those of SQLite, of PostgreSQL, and of the one that kept the
newest only, also as older versions made them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import TASKS
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from lossless.errors import ConfigError, StoreOpenError

__all__ = ["Found", "FoundWrite", "Key", "SavedTables"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Which checkpoint a row is, and which came before it."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    parent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundWrite:
    """A write as its row has it; its value is not read yet."""

    task_id: str
    task_path: str
    idx: int
    channel: str
    kind: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A checkpoint that was read; its writes are not yet."""

    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    writes: Sequence[FoundWrite]


class SavedTables:
    """What a saver of LangGraph has stored. Nothing of it is changed.

    Args:
        source: the path of an SQLite database, or a URL.

    Raises:
        ConfigError: it has no tables of such a saver.
        StoreOpenError: it can't be opened.
    """

    def __init__(self, source: str | PathLike[str]) -> None:
        self._engine = _opened(fspath(source))
        try:
            columns = _columns(self._engine)
        except SQLAlchemyError as error:
            self.close()
            said = str(error.__cause__ or type(error).__name__).partition("\n")[0]
            raise StoreOpenError(
                f"the database to import from can't be read: {said:.200}", hint="is its path or URL right?"
            ) from None
        self._sqlite = self._engine.dialect.name == "sqlite"
        held = columns.get("checkpoints", set())
        self._writes = "writes" if self._sqlite else "checkpoint_writes"
        self._task_path = "task_path" if "task_path" in columns.get(self._writes, ()) else "''"
        self._with_writes = self._writes in columns
        self._newest_only = "checkpoint_id" not in held
        known = {"thread_id", "checkpoint_ns", "checkpoint", "metadata"} <= held and (not self._newest_only or not self._sqlite)
        if not known or (not self._sqlite and "checkpoint_blobs" not in columns):
            self.close()
            raise ConfigError(
                "the database has no tables of a saver of LangGraph that is known",
                hint="give the database of a SqliteSaver or PostgresSaver, not older than of 2024",
            )

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    def bytes_taken(self) -> int:
        """Give how many bytes the saver's tables take; of an SQLite database, the whole of it."""
        with self._engine.connect() as connection:
            if self._sqlite:
                sizes = (connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in ("page_count", "page_size"))
                return int(next(sizes)) * int(next(sizes))
            tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
            return sum(int(connection.execute(text(f"SELECT pg_total_relation_size('{name}')")).scalar_one()) for name in tables)

    def threads(self) -> list[str]:
        """Give the threads that there are."""
        with self._engine.connect() as connection:
            found = connection.execute(text("SELECT DISTINCT thread_id FROM checkpoints")).scalars()
            return sorted(str(one) for one in found)

    def keys(self, thread_id: str) -> list[Key]:
        """Give a thread's checkpoints, the oldest first."""
        id, parent = ("checkpoint->>'id'", "NULL") if self._newest_only else ("checkpoint_id", "parent_checkpoint_id")
        wanted = f"SELECT checkpoint_ns, {id} AS id, {parent} AS parent FROM checkpoints WHERE thread_id = :thread_id"  # noqa: S608
        with self._engine.connect() as connection:
            found: Sequence[Any] = connection.execute(text(wanted), {"thread_id": thread_id}).all()
        keys = [Key(thread_id=thread_id, checkpoint_ns=row[0], checkpoint_id=str(row[1]), parent=row[2] or None) for row in found]
        return sorted(keys, key=lambda key: (key.checkpoint_id, key.checkpoint_ns))

    def read(self, key: Key, serde: SerializerProtocol) -> Found:
        """Read a checkpoint; its values go through the serializer."""
        with self._engine.connect() as connection:
            row: Any = connection.execute(text(self._checkpoint_sql()), _named(key)).one()
            writes = list(self._read_writes(connection, key)) if self._with_writes else []
            checkpoint, metadata = self._whole(connection, key, row, serde)
            if (checkpoint.get("v") or 0) < 4 and key.parent is not None and self._with_writes:
                before = Key(thread_id=key.thread_id, checkpoint_ns=key.checkpoint_ns, checkpoint_id=key.parent, parent=None)
                _with_sends(checkpoint, [one for one in self._read_writes(connection, before) if one.channel == TASKS], serde)
        return Found(checkpoint=cast(Checkpoint, checkpoint), metadata=cast(CheckpointMetadata, metadata), writes=writes)

    def _checkpoint_sql(self) -> str:
        kind = "type, " if self._sqlite else ""
        named = "" if self._newest_only else " AND checkpoint_id = :checkpoint_id"
        return (
            f"SELECT {kind}checkpoint, metadata FROM checkpoints "  # noqa: S608 - constants
            f"WHERE thread_id = :thread_id AND checkpoint_ns = :checkpoint_ns{named}"
        )

    def _whole(
        self, connection: Connection, key: Key, row: Any, serde: SerializerProtocol
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._sqlite:
            return dict(serde.loads_typed((row[0], row[1]))), {} if row[2] is None else json.loads(row[2])
        checkpoint = dict(row[0])
        values = dict(checkpoint.get("channel_values") or {})
        versions = checkpoint.get("channel_versions") or {}
        version = "''" if self._newest_only else "version"
        wanted = (
            f"SELECT channel, {version} AS version, type, blob FROM checkpoint_blobs "  # noqa: S608 - constants
            "WHERE thread_id = :thread_id AND checkpoint_ns = :checkpoint_ns AND channel = ANY(:channels)"
            + ("" if self._newest_only else " AND version = ANY(:versions)")
        )
        named = {**_named(key), "channels": list(versions), "versions": [str(one) for one in versions.values()]}
        found: Sequence[Any] = connection.execute(text(wanted), named).all()
        for channel, of_version, kind, data in found:
            if kind != "empty" and (self._newest_only or str(versions[channel]) == of_version):
                values[channel] = serde.loads_typed((kind, data))
        return {**checkpoint, "channel_values": values}, dict(row[1])

    def _read_writes(self, connection: Connection, key: Key) -> Iterator[FoundWrite]:
        data = "value" if self._sqlite else "blob"
        wanted = (
            f"SELECT task_id, {self._task_path} AS task_path, idx, channel, type, {data} FROM {self._writes} "  # noqa: S608
            "WHERE thread_id = :thread_id AND checkpoint_ns = :checkpoint_ns AND checkpoint_id = :checkpoint_id"
        )
        found: Sequence[Any] = connection.execute(text(wanted), _named(key)).all()
        for row in sorted(found, key=lambda row: (row.task_path, row.task_id, row.idx)):
            yield FoundWrite(
                task_id=row.task_id, task_path=row.task_path, idx=row.idx, channel=row.channel, kind=row[4], data=row[5]
            )


def _opened(source: str) -> Engine:
    if "://" not in source:
        if not Path(source).is_file():
            raise StoreOpenError(f"there is no file {source!r}", hint="give the path of an SQLite database, or a URL")
        address = f"{Path(source).absolute().as_uri()}?mode=ro"
        return create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True), poolclass=NullPool)
    try:
        url = make_url(source)
    except ArgumentError:
        raise ConfigError("the URL to import from can't be read", hint="give sqlite:///PATH or postgresql://…") from None
    if url.get_backend_name() == "sqlite":
        return _opened(str(url.database or ""))
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise ConfigError(f"{url.get_backend_name()!r} is no database of a saver that is known", hint="SQLite and PostgreSQL are")
    return create_engine(url.set(drivername="postgresql+psycopg"))


def _columns(engine: Engine) -> dict[str, set[str]]:
    inspector = inspect(engine)
    wanted = {"checkpoints", "checkpoint_blobs", "checkpoint_writes", "writes"} & set(inspector.get_table_names())
    return {table: {column["name"] for column in inspector.get_columns(table)} for table in wanted}


def _named(key: Key) -> dict[str, Any]:
    return {"thread_id": key.thread_id, "checkpoint_ns": key.checkpoint_ns, "checkpoint_id": key.checkpoint_id}


def _with_sends(checkpoint: dict[str, Any], sends: Sequence[FoundWrite], serde: SerializerProtocol) -> None:
    """Put what was sent to nodes where later versions have it: before the fourth, it stood only in the writes before."""
    if not sends or TASKS in checkpoint["channel_values"]:
        return
    versions = checkpoint["channel_versions"]
    checkpoint["channel_values"] = {
        **checkpoint["channel_values"],
        TASKS: [serde.loads_typed((one.kind, one.data)) for one in sends],
    }
    checkpoint["channel_versions"] = {**versions, TASKS: max(versions.values()) if versions else "1"}
