"""Lineage: which threads a branch has its messages from.

It is fixed when the branch is cut, so it can be kept in memory for ever.
"""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from lossless.errors import CorruptError
from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.tables import HeadRow, ThreadRow

__all__ = ["branch_key", "find_key"]

_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_THREAD = ThreadRow.__table__  # type: ignore[attr-defined]


def find_key(connection: Connection, namespace: str, thread_id: str, *, whole: bool = False) -> ThreadKey | None:
    """Give the key of a thread with what it inherits, or None if there is no such thread.

    ``whole``: with what it had before it was deleted, if it ever was.
    """
    since = 1
    line: list[tuple[str, int]] = []  # from the thread up to the first one: its id, and where it was cut
    above: str | None = thread_id
    while above is not None:
        row = _ORIGIN.first(connection, {"namespace": namespace, "thread_id": above})
        if row is None:
            return None  # the thread itself: a foreign key keeps its parents
        if any(above == known for known, _cut in line):
            raise CorruptError(f"thread {above} is a branch of itself", hint="restore a backup")
        if not line:
            since = row.since or 1
        line.append((above, row.cut))
        above = row.parent
    key = ThreadKey(namespace, line.pop()[0])
    while line:
        key = branch_key(key, *line.pop())
    return key if whole else key._replace(since=since)


def branch_key(parent: ThreadKey, thread_id: str, cut: int) -> ThreadKey:
    """Give the key of a branch that has the messages of ``parent`` up to ``cut``."""
    further = tuple((ancestor, min(until, cut)) for ancestor, until in parent.inherited)
    return ThreadKey(parent.namespace, thread_id, (*further, (parent.thread_id, cut)), parent.since)


_ORIGIN = Prepared(
    select(_THREAD.c.parent, _THREAD.c.cut, _HEAD.c.since)
    .join(_HEAD, (_HEAD.c.namespace == _THREAD.c.namespace) & (_HEAD.c.thread_id == _THREAD.c.thread_id), isouter=True)
    .where(_THREAD.c.namespace == bindparam("namespace"), _THREAD.c.thread_id == bindparam("thread_id"))
)
