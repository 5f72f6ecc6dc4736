"""Snapshots: frozen heads with names. A name is unique in its thread and never moves."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from lossless.dag.heads import create_thread, lock_head
from lossless.dag.view import ViewStore
from lossless.errors import ExistsError, MessageError
from lossless.store.drafting import DEFAULT_FORMAT
from lossless.store.keys import ThreadKey, checked_name
from lossless.store.read import known_seqs
from lossless.store.tables import SnapshotRow
from lossless.store.times import from_stored

__all__ = ["Snapshot", "describe_snapshot", "find_snapshot", "list_snapshots", "take_snapshot"]

_SNAPSHOT = SnapshotRow.__table__  # type: ignore[attr-defined]
_NEWEST_FIRST = (_SNAPSHOT.c.created_at.desc(), _SNAPSHOT.c.seq.desc(), _SNAPSHOT.c.name)
_GENERATED = re.compile(r"m_[0-9]+(\.[0-9]+)?|(sum|snap|file)_[0-9a-f]+")
"""The ids that are made up here; a snapshot of such a name would hide what has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A frozen head.

    Attributes:
        id: derived from thread, name and view.
        name: unique in its thread.
        seq: the last message in it; 0 for none.
        tokens: of its view, as rendered.
        parent: the snapshot of the thread before it, or None.
        view: address of its view, hexadecimal.
    """

    id: str
    name: str
    thread_id: str
    description: str
    tags: tuple[str, ...]
    seq: int
    tokens: int
    parent: str | None
    view: str
    created_at: datetime


def take_snapshot(
    connection: Connection,
    key: ThreadKey,
    views: ViewStore,
    name: str,
    description: str,
    tags: Sequence[str],
    now: int,
) -> Snapshot:
    """Freeze a thread's head under a name; a thread that is not there yet is created.

    Raises:
        ExistsError: the thread has a snapshot of that name, or a message of that id.
        MessageError: the name can't be stored, or ids that are made up look like it.
    """
    checked_name(name, "a snapshot's name")
    if _GENERATED.fullmatch(name):
        raise MessageError(f"{name} looks like the id of a message, summary, file or snapshot", hint="choose another name")
    head = lock_head(connection, key) or create_thread(connection, key, views, format=DEFAULT_FORMAT, now=now)
    view = views.load(connection, key.namespace, head.view)
    if find_snapshot(connection, key, name) is not None:
        raise ExistsError(f"thread {key.thread_id} has a snapshot {name} already", hint="names never move; choose another one")
    if known_seqs(connection, key, [name]):
        raise ExistsError(f"thread {key.thread_id} has a message of the id {name}", hint="choose another name")
    earlier = _newest_name(connection, key)
    named = "\0".join([key.namespace, key.thread_id, name]).encode() + head.view
    row = {
        "namespace": key.namespace,
        "thread_id": key.thread_id,
        "name": name,
        "id": "snap_" + hashlib.sha256(named).hexdigest()[:16],
        "description": description,
        "tags": json.dumps(list(tags)),
        "view": head.view,
        "seq": head.next_seq - 1,
        "tokens": view.tokens(head.total_tokens),
        "parent": earlier,
        "created_at": now,
    }
    connection.execute(insert(_SNAPSHOT), row)
    return _snapshot(row)


def list_snapshots(connection: Connection, key: ThreadKey) -> list[Snapshot]:
    """Give a thread's snapshots, the newest first."""
    statement = (
        select(_SNAPSHOT)
        .where(_SNAPSHOT.c.namespace == key.namespace, _SNAPSHOT.c.thread_id == key.thread_id)
        .order_by(*_NEWEST_FIRST)
    )
    return [_snapshot(row._mapping) for row in connection.execute(statement)]


def find_snapshot(connection: Connection, key: ThreadKey, name: str) -> Snapshot | None:
    """Give a thread's snapshot by name or id, or None."""
    within = (_SNAPSHOT.c.namespace == key.namespace) & (_SNAPSHOT.c.thread_id == key.thread_id)
    for column in (_SNAPSHOT.c.name, _SNAPSHOT.c.id):
        row = connection.execute(select(_SNAPSHOT).where(within, column == name)).first()
        if row is not None:
            return _snapshot(row._mapping)
    return None


def _newest_name(connection: Connection, key: ThreadKey) -> str | None:
    statement = (
        select(_SNAPSHOT.c.name)
        .where(_SNAPSHOT.c.namespace == key.namespace, _SNAPSHOT.c.thread_id == key.thread_id)
        .order_by(*_NEWEST_FIRST)
        .limit(1)
    )
    return connection.execute(statement).scalar()


def describe_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """Describe a snapshot, with the names that the description of a summary or a message has."""
    return {
        "kind": "snapshot",
        "id": snapshot.id,
        "thread_id": snapshot.thread_id,
        "name": snapshot.name,
        "description": snapshot.description,
        "tags": list(snapshot.tags),
        "seq": snapshot.seq,
        "tokens": snapshot.tokens,
        "view": snapshot.view,
        "created_at": snapshot.created_at,
        "sources": [],
        "parents": [snapshot.parent] if snapshot.parent is not None else [],
        "depth": None,
        "completeness": None,
        "degraded": False,
    }


def _snapshot(row: Any) -> Snapshot:
    return Snapshot(
        id=row["id"],
        name=row["name"],
        thread_id=row["thread_id"],
        description=row["description"],
        tags=tuple(json.loads(row["tags"])),
        seq=row["seq"],
        tokens=row["tokens"],
        parent=row["parent"],
        view=bytes(row["view"]).hex(),
        created_at=from_stored(row["created_at"]),
    )
