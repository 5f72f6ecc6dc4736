"""Retaining: which threads a retention policy lets go. No lineage breaks: what a branch needs stays in the store."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, select

from lossless.dag.heads import lock_head
from lossless.dag.parts import parts_of
from lossless.store.keys import ThreadKey
from lossless.store.tables import HeadRow, ThreadRow

__all__ = ["expired", "needed_by", "still_expired"]

_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_THREAD = ThreadRow.__table__  # type: ignore[attr-defined]


def expired(connection: Connection, namespace: str, thread_ids: Collection[str] | None, before: int | None) -> list[str]:
    """Give the threads, or those among some and their parts, that were appended to last before a moment.

    Args:
        connection: a connection.
        namespace: the tenant.
        thread_ids: only among these and their parts; None: among all.
        before: microseconds; None: whenever they were appended to.
    """
    statement = select(_HEAD.c.thread_id).where(_HEAD.c.namespace == namespace, _HEAD.c.deleted_at.is_(None))
    if before is not None:
        statement = statement.where(_HEAD.c.updated_at < before)
    found = connection.execute(statement.order_by(_HEAD.c.thread_id)).scalars()
    among = None if thread_ids is None else {*thread_ids, *parts_of(connection, namespace, thread_ids)}
    return [each for each in found if among is None or each in among]


def still_expired(connection: Connection, namespace: str, thread_ids: Collection[str], before: int | None) -> list[str]:
    """Lock the heads of threads, and give those that nobody has appended to, or deleted, since they were found to be expired."""
    locked = ((name, lock_head(connection, ThreadKey(namespace, name))) for name in sorted(thread_ids))
    return [name for name, head in locked if head is not None and (before is None or head.updated_at < before)]


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
