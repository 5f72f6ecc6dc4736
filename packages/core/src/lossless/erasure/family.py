"""Families: the threads that a message can be seen from, and the rows that are the same message in all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection, select

from lossless.dag.heads import lock_head
from lossless.dag.lineage import branch_key, find_key
from lossless.errors import NotFoundError
from lossless.store.ids import seqs_with_ids
from lossless.store.keys import ThreadKey
from lossless.store.tables import MessageRow, ThreadRow
from lossless.store.usual import usual

__all__ = ["Target", "chunked", "lock_family", "rows_of", "rows_of_thread"]

_THREAD = ThreadRow.__table__  # type: ignore[attr-defined]
_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_CHUNK = 500
V = TypeVar("V")


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """A stored message: the thread that stores it, and its seq."""

    thread_id: str
    seq: int


def lock_family(connection: Connection, key: ThreadKey) -> dict[str, ThreadKey]:
    """Lock the heads of all threads that have messages in common with one, and give their keys by id.

    They are locked in the order of their names, and looked for again until no branch has come.
    """
    locked: dict[str, ThreadKey] = {}
    while True:
        found = _family(connection, key)
        new = sorted(set(found) - set(locked))
        if not new:
            return locked
        for name in new:
            lock_head(connection, found[name], deleted=True)
            locked[name] = found[name]


def rows_of_thread(connection: Connection, key: ThreadKey) -> dict[str, Target]:
    """Give the first row of every message that a thread has, those that it inherits among them, by id."""
    first: dict[str, Target] = {}
    for thread_id, start, stop in key.ranges(1, 2**62):
        statement = select(*usual("id", "seq")).where(
            _MESSAGE.c.namespace == key.namespace,
            _MESSAGE.c.thread_id == thread_id,
            _MESSAGE.c.seq.between(start, stop),
        )
        for row in connection.execute(statement.order_by(_MESSAGE.c.seq)):
            first.setdefault(row.id, Target(thread_id, row.seq))
    return first


def rows_of(connection: Connection, key: ThreadKey, ids: Collection[str] | None, family: Mapping[str, ThreadKey]) -> set[Target]:
    """Give every row that is one of the messages: its revisions, too, and those in other threads that have it.

    Args:
        connection: a connection.
        key: the thread that the ids are of.
        ids: of the messages; None: all that the thread has.
        family: the threads that have messages in common with it.

    Raises:
        NotFoundError: one of them is not in the thread.
    """
    first = rows_of_thread(connection, key) if ids is None else _first_rows(connection, key, ids)
    found: set[Target] = set()
    for thread_id, other in family.items():
        for chunk in chunked(sorted(first)):
            for id, seq in seqs_with_ids(connection, key.namespace, thread_id, chunk, 1, 2**62):
                origin = first[id]
                # An id that is given again where the message can't be seen from is another message.
                if other.owner(origin.seq) == origin.thread_id and seq >= origin.seq:
                    found.add(Target(thread_id, seq))
    return found


def chunked(values: Iterable[V]) -> Iterator[list[V]]:
    """Give values in lists that are short enough for a statement."""
    chunk: list[V] = []
    for value in values:
        chunk.append(value)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _first_rows(connection: Connection, key: ThreadKey, ids: Collection[str]) -> dict[str, Target]:
    first: dict[str, Target] = {}
    for thread_id, start, stop in key.ranges(1, 2**62):
        for chunk in chunked(sorted(set(ids))):
            for id, seq in seqs_with_ids(connection, key.namespace, thread_id, chunk, start, stop):
                first.setdefault(id, Target(thread_id, seq))
    for id in ids:
        if id not in first:
            raise NotFoundError(f"there is no message {id} in thread {key.thread_id}", hint="list them with messages()")
    return first


def _family(connection: Connection, key: ThreadKey) -> dict[str, ThreadKey]:
    """Give the thread, those that it comes from, and all that come from any of these."""
    statement = select(_THREAD.c.thread_id, _THREAD.c.parent, _THREAD.c.cut).where(
        _THREAD.c.namespace == key.namespace, _THREAD.c.parent.is_not(None)
    )
    branches: dict[str, list[tuple[str, int]]] = {}
    for row in connection.execute(statement):
        branches.setdefault(row.parent, []).append((row.thread_id, row.cut))
    oldest = key.inherited[0][0] if key.inherited else key.thread_id
    root = find_key(connection, key.namespace, oldest, whole=True)
    if root is None:
        return {}
    found = {root.thread_id: root}
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        for thread_id, cut in branches.get(parent.thread_id, ()):
            found[thread_id] = branch_key(parent, thread_id, cut)
            waiting.append(found[thread_id])
    return found
