"""Deleting a thread: it goes out of lists, views and search, and its rows stay for the branches that were cut from it.

The thread's head stays, too, and says so. It stands at a view that hides everything; if the thread is begun again, its seqs go on
from there, and nothing from before can be seen of it.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, update

from lossless.dag.heads import DELETED, lock_head, no_thread, swing
from lossless.dag.lineage import find_key
from lossless.dag.segments import Hidden, Segment, Tail
from lossless.dag.view import View, ViewStore
from lossless.store.append import stored_calls
from lossless.store.erasures import removing
from lossless.store.tables import HeadRow, SnapshotRow

__all__ = ["delete_thread"]

_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_SNAPSHOT = SnapshotRow.__table__  # type: ignore[attr-defined]


def delete_thread(
    connection: Connection, namespace: str, thread_id: str, views: ViewStore, *, who: str, reason: str, now: int
) -> None:
    """Delete a thread and its snapshots, inside a write transaction.

    Raises:
        NotFoundError: it is not there.
    """
    key = find_key(connection, namespace, thread_id)
    with removing(connection, namespace, "delete", thread_id=thread_id, who=who, reason=reason, now=now) as removal:
        head = lock_head(connection, key) if key is not None else None
        if key is None or head is None:
            raise no_thread(thread_id)
        removal.rows = head.next_seq - head.since
        hidden: list[Segment] = [Hidden(1, head.next_seq - 1)] if head.next_seq > 1 else []
        view = View((*hidden, Tail(head.next_seq, head.total_tokens)))
        swing(connection, key, views, view, expected=head.generation, next_seq=head.next_seq, why=DELETED, now=now)
        of_thread = (_HEAD.c.namespace == namespace) & (_HEAD.c.thread_id == thread_id)
        gone = {"deleted_at": now, "since": head.next_seq, "open_calls": stored_calls(connection, key, ())}
        connection.execute(update(_HEAD).where(of_thread).values(**gone))
        frozen = (_SNAPSHOT.c.namespace == namespace) & (_SNAPSHOT.c.thread_id == thread_id)
        connection.execute(delete(_SNAPSHOT).where(frozen))
