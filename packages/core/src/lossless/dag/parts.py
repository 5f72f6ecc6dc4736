"""Parts: threads that belong to another one, such as the private messages of a graph within a graph.

A part has messages and a view of its own. Searching its owner searches it, too; deleting or erasing its owner reaches it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlalchemy import Connection, bindparam, select

from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.read import known_seqs
from lossless.store.search import Hit
from lossless.store.tables import HeadRow, ThreadRow

__all__ = ["hits_of", "owner_of", "parts_of"]

_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_THREAD = ThreadRow.__table__  # type: ignore[attr-defined]


def parts_of(connection: Connection, namespace: str, thread_ids: Collection[str], *, deleted: bool = False) -> list[str]:
    """Give the ids of the parts of some threads; ``deleted``: of those that were deleted, too."""
    statement = _ALL if deleted else _THERE
    named = ({"namespace": namespace, "owner": thread_id} for thread_id in thread_ids)
    return sorted({row.thread_id for one in named for row in statement.all(connection, one)})


def owner_of(connection: Connection, namespace: str, thread_id: str) -> str | None:
    """Give the thread that a thread is part of; None for one that is no part, or is not there."""
    row = _OWNER.first(connection, {"namespace": namespace, "thread_id": thread_id})
    return None if row is None else row.part_of


def hits_of(connection: Connection, key: ThreadKey, parts: Collection[str], hits: Sequence[Hit]) -> list[Hit]:
    """Name the thread that was searched in the hits that it has, inherited ones too; leave out what its parts repeat of them."""
    again = known_seqs(connection, key, [hit.message_id for hit in hits if hit.thread_id in parts])
    found = [hit for hit in hits if hit.thread_id not in parts or hit.message_id not in again]
    return [hit if hit.thread_id in parts else replace(hit, thread_id=key.thread_id) for hit in found]


_ALL = Prepared(
    select(_THREAD.c.thread_id).where(_THREAD.c.namespace == bindparam("namespace"), _THREAD.c.part_of == bindparam("owner"))
)
_THERE = Prepared(
    select(_THREAD.c.thread_id)
    .join(_HEAD, (_HEAD.c.namespace == _THREAD.c.namespace) & (_HEAD.c.thread_id == _THREAD.c.thread_id))
    .where(
        _THREAD.c.namespace == bindparam("namespace"),
        _THREAD.c.part_of == bindparam("owner"),
        _HEAD.c.deleted_at.is_(None),
    )
)
_OWNER = Prepared(
    select(_THREAD.c.part_of).where(_THREAD.c.namespace == bindparam("namespace"), _THREAD.c.thread_id == bindparam("thread_id"))
)
