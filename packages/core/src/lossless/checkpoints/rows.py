"""The rows of checkpoints and writes, and the statements that hot paths need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Executable, select
from sqlalchemy.dialects import postgresql, sqlite

from lossless.checkpoints.items import joined
from lossless.checkpoints.model import CheckpointDraft, Outline, Pair, Place, WriteDraft
from lossless.errors import CorruptError
from lossless.store.blobs import RAW, TRAINED, ZSTD, pack, unpack
from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new
from lossless.store.tables import CheckpointInheritedRow, CheckpointPoolRow, CheckpointRow, CheckpointWriteRow
from lossless.store.vault import vault_of

__all__ = [
    "ADD_WRITES",
    "CHECKPOINT",
    "CHECKPOINTS",
    "INHERITED",
    "OUTLINES",
    "POOL",
    "REPLACE_WRITES",
    "UPSERT",
    "WRITE",
    "WRITES",
    "checkpoint_row",
    "closed",
    "opened",
    "outline",
    "write_body",
    "write_row",
]

CHECKPOINT = CheckpointRow.__table__  # type: ignore[attr-defined]
WRITE = CheckpointWriteRow.__table__  # type: ignore[attr-defined]
POOL = CheckpointPoolRow.__table__  # type: ignore[attr-defined]
INHERITED = CheckpointInheritedRow.__table__  # type: ignore[attr-defined]

_MARKS = {RAW: b"r", ZSTD: b"z", TRAINED: b"1"}


def checkpoint_row(
    connection: Connection, namespace: str, pool: int, strand: int, draft: CheckpointDraft, pair: Pair | None
) -> dict[str, Any]:
    """Make the row of a checkpoint."""
    place = draft.place
    made = {
        "namespace": namespace,
        "strand": strand,
        "checkpoint_ns": place.checkpoint_ns,
        "checkpoint_id": place.checkpoint_id,
        "parent": draft.parent,
        "run": draft.run,
        "hidden": 0,
        "view": None if pair is None else pair.view,
        "upto": None if pair is None else pair.upto,
        "owner": None if pair is None else pair.owner,
    }
    for column in ("body", "channels", "facts"):
        made[column] = _closed(connection, getattr(draft, column), *_where(namespace, pool, place, column))
    return made


def write_row(
    connection: Connection, namespace: str, pool: int, strand: int, place: Place, task_id: str, task_path: str, write: WriteDraft
) -> dict[str, Any]:
    """Make the row of a write."""
    return {
        "namespace": namespace,
        "strand": strand,
        "checkpoint_ns": place.checkpoint_ns,
        "checkpoint_id": place.checkpoint_id,
        "task_id": task_id,
        "idx": write.idx,
        "task_path": task_path,
        "body": _closed(
            connection, joined([write.channel, write.value]), *_where(namespace, pool, place, "write", task_id, str(write.idx))
        ),
    }


def write_body(connection: Connection, namespace: str, pool: int, place: Place, row: Any) -> bytes:
    """Give the joined items of a write's row."""
    return _opened(connection, row.body, *_where(namespace, pool, place, "write", row.task_id, str(row.idx)))


def opened(connection: Connection, namespace: str, pool: int, place: Place, column: str, data: bytes) -> bytes:
    """Give what a column of a checkpoint's row holds."""
    return _opened(connection, data, *_where(namespace, pool, place, column))


def closed(connection: Connection, namespace: str, pool: int, place: Place, column: str, data: bytes, *of_write: str) -> bytes:
    """Give what a column of a checkpoint's row, or of a write's (``write``, its task and index), is to hold."""
    return _closed(connection, data, *_where(namespace, pool, place, column, *of_write))


def outline(connection: Connection, namespace: str, pool: int, thread_id: str, row: Any) -> Outline:
    """Read a checkpoint's row, as one of a thread."""
    place = Place(thread_id=thread_id, checkpoint_ns=row.checkpoint_ns, checkpoint_id=row.checkpoint_id)
    return Outline(
        place=place,
        parent=row.parent,
        run=None if row.run is None else bytes(row.run),
        hidden=bool(row.hidden),
        channels=opened(connection, namespace, pool, place, "channels", row.channels),
        facts=opened(connection, namespace, pool, place, "facts", row.facts),
    )


def _where(namespace: str, pool: int, place: Place, *what: str) -> tuple[str, ...]:
    """Name what is sealed. The thread is not in it: its copies have the same rows, and share its pool."""
    return f"{what[0]} of a checkpoint", namespace, str(pool), place.checkpoint_ns, place.checkpoint_id, *what[1:]


def _closed(connection: Connection, data: bytes, *where: str) -> bytes:
    codec, packed = pack(data)
    return vault_of(connection).seal(_MARKS[codec] + len(data).to_bytes(5, "big") + packed, *where)


def _opened(connection: Connection, data: bytes, *where: str) -> bytes:
    found = vault_of(connection).unseal(bytes(data), *where)
    codec = next((codec for codec, mark in _MARKS.items() if mark == found[:1]), None)
    if codec is None:
        raise CorruptError(f"the {where[0]} can't be read", hint="restore a backup to get it back")
    return unpack(codec, int.from_bytes(found[1:6], "big"), found[6:])


def _upsert(table: Any, *changed: str) -> Callable[[str], Executable]:
    """Insert rows, in the place of those of the same key."""

    def statement(dialect: str) -> Executable:
        made: Any = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(table)
        keys = [column.name for column in table.primary_key]
        done: Executable = made.on_conflict_do_update(index_elements=keys, set_={name: made.excluded[name] for name in changed})
        return done

    return statement


UPSERT = Prepared(_upsert(CHECKPOINT, "parent", "run", "hidden", "view", "upto", "owner", "body", "channels", "facts"))
ADD_WRITES = Prepared(insert_new(WRITE))
REPLACE_WRITES = Prepared(_upsert(WRITE, "task_path", "body"))
CHECKPOINTS = select(CHECKPOINT)
OUTLINES = select(*(column for column in CHECKPOINT.c if column.name != "body"))
WRITES = select(WRITE)
