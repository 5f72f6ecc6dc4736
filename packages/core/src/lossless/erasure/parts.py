"""Parts of a family: threads that belong to one of its threads, or that one of them belongs to, and what they have of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, Select, select

from lossless.dag.heads import lock_head
from lossless.dag.lineage import find_key
from lossless.dag.parts import owner_of, parts_of
from lossless.erasure.family import Target, chunked
from lossless.store.keys import ThreadKey
from lossless.store.tables import MessageRow
from lossless.store.usual import usual

__all__ = ["lock_parts", "rows_of_parts"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]


def lock_parts(connection: Connection, namespace: str, family: Mapping[str, ThreadKey]) -> dict[str, ThreadKey]:
    """Lock the heads of the threads that belong to a family's threads, or that these belong to; give their keys by id."""
    owners = {owner for thread_id in family if (owner := owner_of(connection, namespace, thread_id)) is not None}
    names = {*owners, *parts_of(connection, namespace, {*family, *owners}, deleted=True)} - set(family)
    found: dict[str, ThreadKey] = {}
    for name in sorted(names):
        key = find_key(connection, namespace, name, whole=True)
        if key is not None:
            lock_head(connection, key, deleted=True)
            found[name] = key
    return found


def rows_of_parts(
    connection: Connection, namespace: str, parts: Mapping[str, ThreadKey], targets: Collection[Target], *, whole: Collection[str]
) -> set[Target]:
    """Give the rows of parts that are the messages that are aimed at: with the id and the very bytes of one.

    Args:
        connection: a connection.
        namespace: the tenant.
        parts: their keys by id.
        targets: the rows that are aimed at in other threads.
        whole: threads whose parts are aimed at as a whole.
    """
    if not parts:
        return set()
    gone = set(parts_of(connection, namespace, whole, deleted=True))
    aimed: set[tuple[str, bytes]] = set()
    by_thread: dict[str, list[int]] = {}
    for target in targets:
        by_thread.setdefault(target.thread_id, []).append(target.seq)
    for thread_id, seqs in by_thread.items():
        for chunk in chunked(sorted(seqs)):
            statement = _of(namespace, thread_id).where(_MESSAGE.c.seq.in_(chunk))
            aimed |= {(row.id, bytes(row.digest)) for row in connection.execute(statement)}
    found: set[Target] = set()
    for thread_id in parts:
        for row in connection.execute(_of(namespace, thread_id)):
            if thread_id in gone or (row.id, bytes(row.digest)) in aimed:
                found.add(Target(thread_id, row.seq))
    return found


def _of(namespace: str, thread_id: str) -> Select[Any]:
    return select(*usual("id", "seq", "digest")).where(_MESSAGE.c.namespace == namespace, _MESSAGE.c.thread_id == thread_id)
