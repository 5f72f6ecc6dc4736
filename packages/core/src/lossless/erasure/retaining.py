"""Retaining: which threads a retention policy lets go. No lineage breaks: what a branch needs stays in the store."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, select

from lossless.dag.heads import lock_head
from lossless.dag.parts import owner_of
from lossless.store.keys import ThreadKey
from lossless.store.tables import HeadRow, ThreadRow

__all__ = ["expired", "needed_by", "still_expired"]

_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_THREAD = ThreadRow.__table__  # type: ignore[attr-defined]


def expired(connection: Connection, namespace: str, thread_ids: Collection[str] | None, before: int | None) -> list[str]:
    """Give the threads, or those among some, that were appended to last before a moment, with their parts.

    A part is no thread by itself: it goes with the one that it is part of, and neither does if one of them is younger.

    Args:
        connection: a connection.
        namespace: the tenant.
        thread_ids: only among these and their parts; None: among all.
        before: microseconds; None: whenever they were appended to.
    """
    statement = (
        select(_HEAD.c.thread_id, _HEAD.c.updated_at, _THREAD.c.part_of)
        .join(_THREAD, (_THREAD.c.namespace == _HEAD.c.namespace) & (_THREAD.c.thread_id == _HEAD.c.thread_id))
        .where(_HEAD.c.namespace == namespace, _HEAD.c.deleted_at.is_(None))
    )
    rows = connection.execute(statement.order_by(_HEAD.c.thread_id)).all()
    young = {row.part_of or row.thread_id for row in rows if before is not None and row.updated_at >= before}
    among = None if thread_ids is None else set(thread_ids)
    return [
        row.thread_id
        for row in rows
        if (row.part_of or row.thread_id) not in young and (among is None or row.thread_id in among or row.part_of in among)
    ]


def still_expired(connection: Connection, namespace: str, thread_ids: Collection[str], before: int | None) -> list[str]:
    """Lock the heads of threads, and give those that nobody has appended to, or deleted, since they were found to be expired."""
    heads = {name: lock_head(connection, ThreadKey(namespace, name)) for name in sorted(thread_ids)}
    there = {name: head for name, head in heads.items() if head is not None}
    owners = {name: owner_of(connection, namespace, name) or name for name in there}
    young = {owners[name] for name, head in there.items() if before is not None and head.updated_at >= before}
    return [name for name in there if owners[name] not in young]


def needed_by(connection: Connection, namespace: str, gone: Collection[str]) -> dict[str, str]:
    """Give the threads among those that go whose rows a thread that stays needs, each with one that does."""
    statement = select(_THREAD.c.thread_id, _THREAD.c.parent).where(
        _THREAD.c.namespace == namespace, _THREAD.c.parent.is_not(None)
    )
    parents = {row.thread_id: row.parent for row in connection.execute(statement)}
    found: dict[str, str] = {}
    for thread_id in sorted(set(parents) - set(gone) - _deleted(connection, namespace)):
        above = parents.get(thread_id)
        while above is not None:
            if above in gone:
                found.setdefault(above, thread_id)
            above = parents.get(above)
    return found


def _deleted(connection: Connection, namespace: str) -> set[str]:
    statement = select(_HEAD.c.thread_id).where(_HEAD.c.namespace == namespace, _HEAD.c.deleted_at.is_not(None))
    return set(connection.execute(statement).scalars())
