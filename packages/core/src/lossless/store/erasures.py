"""Erasures: the record of every removal from the store, which lets it happen, and what is left of erased messages.

The tables refuse to change or drop what was stored, unless a row of ``lossless_erasure`` is open. It is opened and closed in the
transaction that removes, so nobody else ever sees it open, and nothing is removed without a record.

Its number is the namespace's epoch: what is kept in memory of messages was read under one, and is used under no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, bindparam, func, insert, select, update

from lossless.store.keys import ThreadKey
from lossless.store.namespaces import lock_namespace
from lossless.store.prepared import Prepared
from lossless.store.tables import ErasureRow, TombstoneRow
from lossless.store.times import from_stored
from lossless.store.vault import vault_of

__all__ = [
    "Kind",
    "OpenErasure",
    "Tombstone",
    "epoch_of",
    "is_pending",
    "mark_purged",
    "note_epoch",
    "read_epoch",
    "removing",
    "tombstones",
]

Kind = Literal["erase", "collect", "delete"]

_ERASURE = ErasureRow.__table__  # type: ignore[attr-defined]
_TOMBSTONE = TombstoneRow.__table__  # type: ignore[attr-defined]
_NOTED = "lossless_epoch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What is left of an erased message.

    Attributes:
        message_id: its id; a message that was revised leaves one for each of its revisions.
        thread_id: the thread that stores it.
        seq: its place there.
        hash: the salted commitment that the chain runs over, hexadecimal. Without the salt it says nothing.
        reason: why it was erased.
        erased_at: when.
    """

    message_id: str
    thread_id: str
    seq: int
    hash: str
    reason: str
    erased_at: datetime


@dataclass(slots=True)
class OpenErasure:
    """A removal that is going on: its number, and how many messages or rows it has removed."""

    number: int
    rows: int = 0


@contextmanager
def removing(
    connection: Connection, namespace: str, kind: Kind, *, thread_id: str | None, who: str, reason: str, now: int
) -> Iterator[OpenErasure]:
    """Record a removal and let it happen, inside a write transaction; one at a time in a namespace."""
    lock_namespace(connection, namespace)
    found = OpenErasure(read_epoch(connection, namespace) + 1)
    sealed = vault_of(connection).seal_text(reason, "reason of removal", namespace, str(found.number))
    named = {"namespace": namespace, "number": found.number}
    row = {**named, "kind": kind, "thread_id": thread_id, "who": who, "reason": sealed, "rows": 0, "open": 1, "at": now}
    connection.execute(insert(_ERASURE), {**row, "purged_at": None})
    yield found
    closing = update(_ERASURE).where(_ERASURE.c.namespace == namespace, _ERASURE.c.number == found.number)
    connection.execute(closing.values(open=0, rows=found.rows))


def read_epoch(connection: Connection, namespace: str) -> int:
    """Give the number of a namespace's newest removal, 0 for none."""
    return int(_EPOCH.first(connection, {"namespace": namespace}).epoch or 0)


def note_epoch(connection: Connection, namespace: str) -> int:
    """Note under which epoch a reading transaction reads, and give it."""
    epoch = read_epoch(connection, namespace)
    connection.info[_NOTED] = epoch
    return epoch


def epoch_of(connection: Connection) -> int:
    """Give the epoch that was noted for a reading transaction."""
    return int(connection.info.get(_NOTED, 0))


def is_pending(connection: Connection, namespace: str) -> bool:
    """Tell whether something that a removal removed may still be in the files."""
    statement = select(_ERASURE.c.number).where(_ERASURE.c.namespace == namespace, _ERASURE.c.purged_at.is_(None)).limit(1)
    return connection.execute(statement).first() is not None


def mark_purged(connection: Connection, namespace: str, *, up_to: int, now: int) -> None:
    """Record that nothing of the removals up to a number is left in the files."""
    pending = update(_ERASURE).where(
        _ERASURE.c.namespace == namespace, _ERASURE.c.number <= up_to, _ERASURE.c.purged_at.is_(None)
    )
    connection.execute(pending.values(purged_at=now))


def tombstones(connection: Connection, key: ThreadKey, seqs: Sequence[int] | None = None) -> list[Tombstone]:
    """Give what is left of the erased messages that a thread has, in storage order; of some of them, or of all."""
    wanted = None if seqs is None else set(seqs)
    vault = vault_of(connection)
    rows = [
        row
        for thread_id, first, last in key.ranges(1, 2**62)
        for row in _TOMBSTONES.all(connection, {"namespace": key.namespace, "thread_id": thread_id, "first": first, "last": last})
        if wanted is None or row.seq in wanted
    ]
    return [
        Tombstone(
            message_id=row.id,
            thread_id=row.thread_id,
            seq=row.seq,
            hash=bytes(row.hash).hex(),
            reason=vault.unseal_text(row.reason, "reason of tombstone", row.namespace, row.thread_id, str(row.seq)),
            erased_at=from_stored(row.erased_at),
        )
        for row in rows
    ]


_EPOCH = Prepared(select(func.max(_ERASURE.c.number).label("epoch")).where(_ERASURE.c.namespace == bindparam("namespace")))
_TOMBSTONES = Prepared(
    select(_TOMBSTONE)
    .where(
        _TOMBSTONE.c.namespace == bindparam("namespace"),
        _TOMBSTONE.c.thread_id == bindparam("thread_id"),
        _TOMBSTONE.c.seq.between(bindparam("first"), bindparam("last")),
    )
    .order_by(_TOMBSTONE.c.seq)
)
