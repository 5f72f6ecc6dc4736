"""Collecting: rows that no head, log, snapshot or branch leads to, and deleted threads that no other thread comes from.

What is found by reading alone is found first, so that a dry run says the same; then it is removed, in the same transaction. A
thread in which something was erased stays: its rows are what keeps erased ids from coming back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, select, text

from lossless.checkpoints.pairs import forget_pairs, views_of_checkpoints
from lossless.checkpoints.sharing import shared_anywhere
from lossless.dag.lineage import find_key
from lossless.dag.summaries import home
from lossless.erasure.family import chunked
from lossless.erasure.leftovers import remove_summaries
from lossless.erasure.reopening import Made
from lossless.erasure.wording import worded
from lossless.errors import LosslessError
from lossless.messages import Format, searchable
from lossless.store.analyzer import analyzed
from lossless.store.index import index_of
from lossless.store.keys import ThreadKey
from lossless.store.tables import (
    METADATA,
    BlobRow,
    HeadLogRow,
    HeadRow,
    MessageRow,
    NodeRow,
    SearchDocRow,
    SnapshotRow,
    SummaryChildRow,
    SummaryRow,
    ThreadRow,
    TombstoneRow,
)

__all__ = ["Garbage", "find_garbage", "keep_writers_out", "remove_garbage"]

_HEAD, _THREAD = HeadRow.__table__, ThreadRow.__table__  # type: ignore[attr-defined]
_MESSAGE, _BLOB = MessageRow.__table__, BlobRow.__table__  # type: ignore[attr-defined]
_NODE, _LOG, _SNAPSHOT = NodeRow.__table__, HeadLogRow.__table__, SnapshotRow.__table__  # type: ignore[attr-defined]
_SUMMARY, _CHILD = SummaryRow.__table__, SummaryChildRow.__table__  # type: ignore[attr-defined]
_DOC, _TOMBSTONE = SearchDocRow.__table__, TombstoneRow.__table__  # type: ignore[attr-defined]
_OF_THREADS = ("search_doc", "correction", "snapshot", "head_log", "head", "message", "thread")
"""The tables whose rows go with a thread, in an order in which none refers to one that went before."""


@dataclass(slots=True)
class Garbage:
    """What can be removed: whole threads, and single rows by their keys."""

    threads: tuple[str, ...] = ()
    summaries: set[Made] = field(default_factory=set)
    nodes: set[bytes] = field(default_factory=set)
    blobs: set[bytes] = field(default_factory=set)
    messages: int = 0

    def rows(self) -> dict[str, int]:
        """Count it, by kind."""
        return {
            "threads": len(self.threads),
            "messages": self.messages,
            "summaries": len(self.summaries),
            "nodes": len(self.nodes),
            "blobs": len(self.blobs),
        }


def find_garbage(connection: Connection, namespace: str, also: Iterable[str] = ()) -> Garbage:
    """Find what nothing in a namespace leads to; ``also``: threads that are taken for deleted.

    Before it is removed, :func:`keep_writers_out` must have been called in the same transaction.
    """
    gone = _collectable(connection, namespace, set(also))
    found = Garbage(tuple(sorted(gone)))
    reached, named, frozen = _walk_views(connection, namespace, gone)
    found.nodes = {bytes(each) for each in _column(connection, namespace, _NODE.c.digest)} - reached
    every = _all_summaries(connection, namespace)
    roots = {made for made in every if made.id in frozen and made.thread_id not in gone}
    found.summaries = every - _reached_summaries(connection, namespace, named, roots)
    held = select(_MESSAGE.c.thread_id, _MESSAGE.c.digest).where(_MESSAGE.c.namespace == namespace)
    kept = shared_anywhere(connection, namespace)
    for row in connection.execute(held):
        if row.thread_id in gone:
            found.messages += 1
        else:
            kept.add(bytes(row.digest))
    found.blobs = {bytes(each) for each in _column(connection, namespace, _BLOB.c.digest)} - kept
    return found


def remove_garbage(connection: Connection, namespace: str, garbage: Garbage, formats: Mapping[str, Format]) -> None:
    """Remove what was found, inside the transaction that it was found in, while a removal is open."""
    for thread_id in garbage.threads:
        _unindex(connection, ThreadKey(namespace, thread_id), formats)
    remove_summaries(connection, namespace, garbage.summaries)
    forget_pairs(connection, namespace, garbage.threads)
    for name in _OF_THREADS:
        table = METADATA.tables[f"lossless_{name}"]
        for thread_id in _children_first(connection, namespace, garbage.threads) if name == "thread" else garbage.threads:
            connection.execute(delete(table).where(table.c.namespace == namespace, table.c.thread_id == thread_id))
    for table, digests in ((_NODE, garbage.nodes), (_BLOB, garbage.blobs)):
        for chunk in chunked(sorted(digests)):
            connection.execute(delete(table).where(table.c.namespace == namespace, table.c.digest.in_(chunk)))


def keep_writers_out(connection: Connection) -> None:
    """Let nobody store what garbage might be found to be part of; SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        for table in ("head", "blob", "node", "summary"):
            connection.execute(text(f"LOCK TABLE lossless_{table} IN SHARE ROW EXCLUSIVE MODE"))


def _collectable(connection: Connection, namespace: str, also: set[str]) -> set[str]:
    """Give the deleted threads that no thread that stays comes from, and in which nothing was erased."""
    deleted = select(_HEAD.c.thread_id).where(_HEAD.c.namespace == namespace, _HEAD.c.deleted_at.is_not(None))
    gone = set(connection.execute(deleted).scalars()) | also
    gone -= set(_column(connection, namespace, _TOMBSTONE.c.thread_id))
    parents = select(_THREAD.c.thread_id, _THREAD.c.parent).where(_THREAD.c.namespace == namespace, _THREAD.c.parent.is_not(None))
    pairs = [(row.thread_id, row.parent) for row in connection.execute(parents)]
    while needed := {parent for thread_id, parent in pairs if thread_id not in gone} & gone:
        gone -= needed
    return gone


def _walk_views(connection: Connection, namespace: str, gone: set[str]) -> tuple[set[bytes], dict[str, set[str]], frozenset[str]]:
    """Give the nodes that views of threads that stay are made of, the summaries that each thread's views name, and those that
    checkpoints' views name."""
    nodes = connection.execute(select(_NODE).where(_NODE.c.namespace == namespace))
    below = {bytes(row.digest): json.loads(row.data) for row in nodes}
    reached: set[bytes] = set()
    named: dict[str, set[str]] = {}
    ids: dict[bytes, frozenset[str]] = {}

    def walk(digest: bytes) -> frozenset[str]:
        if digest not in ids:
            reached.add(digest)
            node = below.get(digest, {"leaf": []})
            if "leaf" in node:
                ids[digest] = frozenset(element[1] for element in node["leaf"] if element[0] == "summary")
            else:
                ids[digest] = frozenset().union(*(walk(bytes.fromhex(child)) for child in node["inner"]))
        return ids[digest]

    for table in (_HEAD, _LOG, _SNAPSHOT):
        statement = select(table.c.thread_id, table.c.view).where(table.c.namespace == namespace).distinct()
        for row in connection.execute(statement):
            if row.thread_id not in gone:
                named.setdefault(row.thread_id, set()).update(walk(bytes(row.view)))
    frozen = [walk(view) for owner, view in views_of_checkpoints(connection, namespace) if owner not in gone]
    return reached, named, frozenset().union(*frozen)


def _reached_summaries(connection: Connection, namespace: str, named: dict[str, set[str]], roots: set[Made]) -> set[Made]:
    """Give some summaries and those that views name, and all below them."""
    waiting = set(roots)
    for thread_id, ids in named.items():
        key = find_key(connection, namespace, thread_id, whole=True)
        if key is not None:
            waiting |= {Made(stored, id) for id in ids if (stored := _home(connection, key, id)) is not None}
    children: dict[Made, list[Made]] = {}
    for row in connection.execute(select(_CHILD).where(_CHILD.c.namespace == namespace)):
        children.setdefault(Made(row.thread_id, row.summary_id), []).append(Made(row.source_thread, row.child_id))
    found: set[Made] = set()
    while waiting:
        made = waiting.pop()
        found.add(made)
        waiting.update(child for child in children.get(made, ()) if child not in found)
    return found


def _home(connection: Connection, key: ThreadKey, id: str) -> str | None:
    try:
        return home(connection, key, id)
    except LosslessError:
        return None


def _all_summaries(connection: Connection, namespace: str) -> set[Made]:
    statement = select(_SUMMARY.c.thread_id, _SUMMARY.c.id).where(_SUMMARY.c.namespace == namespace)
    return {Made(row.thread_id, row.id) for row in connection.execute(statement)}


def _unindex(connection: Connection, key: ThreadKey, formats: Mapping[str, Format]) -> None:
    """Take the words of a thread's messages out of the index."""
    statement = select(_DOC.c.seq).where(_DOC.c.namespace == key.namespace, _DOC.c.thread_id == key.thread_id)
    index = index_of(connection)
    for chunk in chunked(connection.execute(statement).scalars().all()):
        unread: dict[int, str | None] = dict.fromkeys(chunk)
        for row, _data, parts in worded(connection, key, chunk, formats):
            if parts is not None:
                index.remove(connection, key, row.seq, analyzed(searchable(parts)))
                del unread[row.seq]
        if unread:
            index.replace_unread(connection, key, unread)


def _children_first(connection: Connection, namespace: str, threads: Iterable[str]) -> Iterator[str]:
    """Give threads so that none comes before one that was branched from it."""
    statement = select(_THREAD.c.thread_id, _THREAD.c.parent).where(_THREAD.c.namespace == namespace)
    parents = {row.thread_id: row.parent for row in connection.execute(statement)}

    depths: dict[str | None, int] = {None: 0}
    for thread_id in threads:
        line: list[str] = []
        above: str | None = thread_id
        while above is not None and above not in depths:
            line.append(above)
            above = parents.get(above)
        for each in reversed(line):
            depths[each] = depths[above] + 1
            above = each
    yield from sorted(threads, key=lambda thread_id: depths[thread_id], reverse=True)


def _column(connection: Connection, namespace: str, column: Any) -> Iterator[Any]:
    return iter(connection.execute(select(column).where(column.table.c.namespace == namespace)).scalars())
