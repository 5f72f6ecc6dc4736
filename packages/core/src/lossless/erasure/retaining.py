"""Retaining: which threads a retention policy lets go. No lineage breaks: what a branch needs stays in the store."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, select

from lossless.store.tables import HeadRow, ThreadRow

__all__ = ["expired", "needed_by"]

_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_THREAD = ThreadRow.__table__  # type: ignore[attr-defined]


def expired(connection: Connection, namespace: str, thread_ids: Collection[str] | None, before: int | None) -> list[str]:
    """Give the threads, or those among some, that were appended to last before a moment (microseconds; None: whenever)."""
    statement = select(_HEAD.c.thread_id).where(_HEAD.c.namespace == namespace, _HEAD.c.deleted_at.is_(None))
    if before is not None:
        statement = statement.where(_HEAD.c.updated_at < before)
    found = connection.execute(statement.order_by(_HEAD.c.thread_id)).scalars()
    return [each for each in found if thread_ids is None or each in set(thread_ids)]


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
