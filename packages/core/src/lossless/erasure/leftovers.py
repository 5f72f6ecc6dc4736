"""Leftovers: rows that an erasure leaves without anything that refers to them, and that would still tell what was erased.

Summaries go with their text and their lineage; nodes of views go that name them, since a summary's id is made from its text;
blobs go that no message holds any more.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from sqlalchemy import Connection, delete, select, text

from lossless.checkpoints.sharing import shared_anywhere
from lossless.erasure.family import chunked
from lossless.erasure.reopening import Made
from lossless.store.tables import BlobRow, MessageRow, NodeRow, SummaryChildRow, SummaryMessageRow, SummaryRow

__all__ = ["remove_blobs", "remove_nodes", "remove_summaries"]

_SUMMARY = SummaryRow.__table__  # type: ignore[attr-defined]
_OVER = SummaryMessageRow.__table__  # type: ignore[attr-defined]
_CHILD = SummaryChildRow.__table__  # type: ignore[attr-defined]
_NODE = NodeRow.__table__  # type: ignore[attr-defined]
_BLOB = BlobRow.__table__  # type: ignore[attr-defined]
_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_FEW = 200
"""Up to so many digests are asked for; more are looked for among all."""


def remove_summaries(connection: Connection, namespace: str, made: Collection[Made]) -> dict[str, bytes]:
    """Remove summaries and what they were made from; give the key of each id's span."""
    spans: dict[str, bytes] = {}
    for thread_id, ids in _grouped(made):
        for chunk in chunked(sorted(ids)):
            own = (_SUMMARY.c.namespace == namespace) & (_SUMMARY.c.thread_id == thread_id) & _SUMMARY.c.id.in_(chunk)
            spans.update(
                (row.id, bytes(row.span_key)) for row in connection.execute(select(_SUMMARY.c.id, _SUMMARY.c.span_key).where(own))
            )
            for table in (_CHILD, _OVER):
                of = (table.c.namespace == namespace) & (table.c.thread_id == thread_id) & table.c.summary_id.in_(chunk)
                connection.execute(delete(table).where(of))
    for thread_id, ids in _grouped(made):  # when none is above another any more
        for chunk in chunked(sorted(ids)):
            own = (_SUMMARY.c.namespace == namespace) & (_SUMMARY.c.thread_id == thread_id) & _SUMMARY.c.id.in_(chunk)
            connection.execute(delete(_SUMMARY).where(own))
    return spans


def remove_nodes(connection: Connection, namespace: str, roots: Iterable[bytes], spans: dict[str, bytes]) -> int:
    """Remove the nodes of views that name summaries which are nowhere any more; give how many.

    Args:
        connection: a connection in a write transaction.
        namespace: the tenant.
        roots: the views that were replaced.
        spans: the summaries that were removed, by id, with the keys of their spans.
    """
    gone = set(spans) - _ids_still_there(connection, namespace, spans)
    dead: set[bytes] = set()
    for root in set(roots):
        _find_dead(connection, namespace, root, gone, dead)
    for digest in sorted(dead):
        connection.execute(delete(_NODE).where(_NODE.c.namespace == namespace, _NODE.c.digest == digest))
    return len(dead)


def remove_blobs(connection: Connection, namespace: str, digests: Collection[bytes]) -> int:
    """Remove the blobs among those given that no message holds; give how many.

    On PostgreSQL nobody stores a message from here to the end of the transaction: one that is being stored might hold a blob
    already that it found there.
    """
    if not digests:
        return 0
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE lossless_blob IN SHARE ROW EXCLUSIVE MODE"))
    unheld = sorted(set(digests) - _held(connection, namespace, set(digests)))
    for chunk in chunked(unheld):
        connection.execute(delete(_BLOB).where(_BLOB.c.namespace == namespace, _BLOB.c.digest.in_(chunk)))
    return len(unheld)


def _held(connection: Connection, namespace: str, digests: set[bytes]) -> set[bytes]:
    statement = select(_MESSAGE.c.digest).where(_MESSAGE.c.namespace == namespace)
    if len(digests) <= _FEW:
        statement = statement.where(_MESSAGE.c.digest.in_(sorted(digests)))
    held = {found for row in connection.execute(statement).scalars() if (found := bytes(row)) in digests}
    return held | (digests & shared_anywhere(connection, namespace))


def _ids_still_there(connection: Connection, namespace: str, spans: dict[str, bytes]) -> set[str]:
    """Give the ids that a summary has still: made again from what is left, or in a thread that said the same."""
    found: set[str] = set()
    for chunk in chunked(sorted(set(spans.values()))):
        statement = select(_SUMMARY.c.id).where(_SUMMARY.c.namespace == namespace, _SUMMARY.c.span_key.in_(chunk))
        found.update(connection.execute(statement).scalars())
    return found


def _find_dead(connection: Connection, namespace: str, digest: bytes, gone: set[str], dead: set[bytes]) -> bool:
    """Tell whether a node names one of the summaries, itself or through those below it, and collect those that do."""
    if digest in dead:
        return True
    row = connection.execute(select(_NODE.c.data).where(_NODE.c.namespace == namespace, _NODE.c.digest == digest)).first()
    if row is None:
        return False
    node = json.loads(row.data)
    if "leaf" in node:
        found = any(element[0] == "summary" and element[1] in gone for element in node["leaf"])
    else:
        below = [_find_dead(connection, namespace, bytes.fromhex(child), gone, dead) for child in node["inner"]]
        found = any(below)
    if found:
        dead.add(digest)
    return found


def _grouped(made: Collection[Made]) -> Iterable[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for each in made:
        found.setdefault(each.thread_id, []).append(each.id)
    return found.items()
