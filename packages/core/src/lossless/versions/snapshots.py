"""Snapshots: frozen heads with names. A name is unique in its thread and never moves."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from lossless.dag.heads import create_thread, key_at, lock_head
from lossless.dag.view import ViewStore
from lossless.errors import ExistsError, MessageError
from lossless.store.drafting import DEFAULT_FORMAT
from lossless.store.keys import ThreadKey, checked_name
from lossless.store.namespaces import name_secret
from lossless.store.read import known_seqs
from lossless.store.tables import SnapshotRow
from lossless.store.times import from_stored
from lossless.store.vault import vault_of

__all__ = ["Snapshot", "describe_snapshot", "find_snapshot", "is_as_it_was_taken", "list_snapshots", "take_snapshot"]

_SNAPSHOT = SnapshotRow.__table__  # type: ignore[attr-defined]
_NEWEST_FIRST = (_SNAPSHOT.c.created_at.desc(), _SNAPSHOT.c.seq.desc(), _SNAPSHOT.c.name)
_GENERATED = re.compile(r"m_[0-9]+(\.[0-9]+)?|(sum|snap|file)_[0-9a-f]+")
"""The ids that are made up here; a snapshot of such a name would hide what has it."""
_TELLING = ("name", "description", "tags", "parent")
"""The columns that tell content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A frozen head.

    Attributes:
        id: derived from the thread and what the snapshot says, its view aside.
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
    key = key_at(connection, key, head)
    view = views.load(connection, key.namespace, head.view)
    if find_snapshot(connection, key, name) is not None:
        raise ExistsError(f"thread {key.thread_id} has a snapshot {name} already", hint="names never move; choose another one")
    if known_seqs(connection, key, [name]):
        raise ExistsError(f"thread {key.thread_id} has a message of the id {name}", hint="choose another name")
    earlier = _newest_name(connection, key)
    row: dict[str, Any] = {
        "namespace": key.namespace,
        "thread_id": key.thread_id,
        "name": name,
        "description": description,
        "tags": json.dumps(list(tags)),
        "view": head.view,
        "seq": head.next_seq - 1,
        "tokens": view.tokens(head.total_tokens),
        "parent": earlier,
        "created_at": now,
    }
    row["id"] = _snapshot_id(connection, key, row)
    connection.execute(insert(_SNAPSHOT), _sealed(connection, key, row))
    return _snapshot(row)


def list_snapshots(connection: Connection, key: ThreadKey) -> list[Snapshot]:
    """Give a thread's snapshots, the newest first."""
    statement = (
        select(_SNAPSHOT)
        .where(_SNAPSHOT.c.namespace == key.namespace, _SNAPSHOT.c.thread_id == key.thread_id)
        .order_by(*_NEWEST_FIRST)
    )
    return [_snapshot(_unsealed(connection, row)) for row in connection.execute(statement)]


def find_snapshot(connection: Connection, key: ThreadKey, name: str) -> Snapshot | None:
    """Give a thread's snapshot by name or id, or None."""
    within = (_SNAPSHOT.c.namespace == key.namespace) & (_SNAPSHOT.c.thread_id == key.thread_id)
    for column, wanted in ((_SNAPSHOT.c.name, _stored_name(connection, key, name)), (_SNAPSHOT.c.id, name)):
        row = connection.execute(select(_SNAPSHOT).where(within, column == wanted)).first()
        if row is not None:
            return _snapshot(_unsealed(connection, row))
    return None


def _newest_name(connection: Connection, key: ThreadKey) -> str | None:
    statement = (
        select(_SNAPSHOT)
        .where(_SNAPSHOT.c.namespace == key.namespace, _SNAPSHOT.c.thread_id == key.thread_id)
        .order_by(*_NEWEST_FIRST)
        .limit(1)
    )
    row = connection.execute(statement).first()
    return None if row is None else str(_unsealed(connection, row)["name"])


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


def is_as_it_was_taken(connection: Connection, key: ThreadKey, row: Any) -> bool:
    """Tell whether a stored snapshot says what it said when it was taken; its view is looked at apart.

    Raises:
        CorruptError: it can't be unsealed.
    """
    told = _unsealed(connection, row)
    return bool(told["id"] == _snapshot_id(connection, key, told))


def _snapshot_id(connection: Connection, key: ThreadKey, row: Mapping[str, Any]) -> str:
    secret = name_secret(connection, key.namespace)
    told = json.dumps([key.namespace, key.thread_id, *(row[column] for column in _TELLING), row["seq"]]).encode()
    digest = hashlib.sha256(told).digest() if secret is None else hmac.digest(secret, told, "sha256")
    return "snap_" + digest.hex()[:16]


def _stored_name(connection: Connection, key: ThreadKey, name: str) -> str:
    secret = name_secret(connection, key.namespace)
    return name if secret is None else vault_of(connection).name(secret, name, "snapshot", key.thread_id)


def _sealed(connection: Connection, key: ThreadKey, row: Mapping[str, Any]) -> dict[str, Any]:
    """Give a row as it is stored. With a cipher, ``name`` only finds it; what it tells is sealed together."""
    vault = vault_of(connection)
    if not vault.encrypts:
        return dict(row)
    told = json.dumps([row[column] for column in _TELLING])
    name = _stored_name(connection, key, row["name"])
    return {
        **row,
        "name": name,
        "description": vault.seal_text(told, "snapshot", key.namespace, key.thread_id, name),
        "tags": "[]",
        "parent": None,
    }


def _unsealed(connection: Connection, row: Any) -> Mapping[str, Any]:
    vault = vault_of(connection)
    if not vault.encrypts:
        return dict(row._mapping)
    told = json.loads(vault.unseal_text(row.description, "snapshot", row.namespace, row.thread_id, row.name))
    return {**row._mapping, **dict(zip(_TELLING, told, strict=True))}


def _snapshot(row: Mapping[str, Any]) -> Snapshot:
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
