"""Erasing: checkpoints and writes that named a message come to hold what an erasure left of it, and nothing of its digest.

What names it is written anew, up to the rows of checkpoints and writes: nothing that is addressed by its content can be changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from lossless.checkpoints import rows
from lossless.checkpoints.items import (
    ADDRESS,
    BESIDE,
    COMPOSITE,
    DICT,
    ERASED,
    INNER,
    LIST,
    MESSAGES,
    TUPLE,
    erased_item,
    joined,
    message_key,
    pieces,
)
from lossless.checkpoints.lines import lock_pool, users_of_pool
from lossless.checkpoints.model import Place
from lossless.checkpoints.parts import inner_parts, insert_parts
from lossless.checkpoints.removal import sweep_pool
from lossless.checkpoints.rows import CHECKPOINT, WRITE
from lossless.store.digests import address
from lossless.store.prepared import Prepared
from lossless.store.tables import CheckpointShareRow

__all__ = ["erase_from_checkpoints"]

_SHARE = CheckpointShareRow.__table__  # type: ignore[attr-defined]


def erase_from_checkpoints(
    connection: Connection, namespace: str, threads: Collection[str], left: Mapping[bytes, bytes], secret: bytes
) -> None:
    """Put what is left of messages in their place, in all checkpoints and writes of some threads, and of those copied from them.

    Args:
        connection: a connection in a write transaction that has locked the threads' heads.
        namespace: the tenant.
        threads: the threads that have, or had, one of the messages.
        left: by the digests of the payloads, what is left of them.
        secret: what addresses are keyed with.
    """
    named = {int(row.pool) for digest in left for row in _POOLS.all(connection, {"namespace": namespace, "digest": digest})}
    for pool in sorted(named):
        users = users_of_pool(connection, namespace, pool)
        if not any(line.thread_id in threads for line in users):
            continue  # independent messages that say the same
        lock_pool(connection, namespace, pool)
        strands = {strand for line in users_of_pool(connection, namespace, pool) for strand in line.strands}
        rewriting = _Rewriting(left, inner_parts(connection, namespace, pool), secret)
        for strand in sorted(strands):
            _rewrite_strand(connection, namespace, pool, strand, rewriting)
        sweep_pool(connection, namespace, pool)


@dataclass(slots=True)
class _Rewriting:
    """Writes items anew. ``parts``: the content of all parts that refer to something; ``new``: parts that were written."""

    left: Mapping[bytes, bytes]
    parts: Mapping[bytes, bytes]
    secret: bytes
    new: dict[bytes, bytes] = field(default_factory=dict)
    _done: dict[bytes, bytes] = field(default_factory=dict)

    def item(self, item: bytes) -> bytes:
        """Give an item without the messages; the same one if it has none of them."""
        kind = item[:1]
        if kind in MESSAGES:
            return self._message(item)
        if kind == ADDRESS:
            return self._address(item)
        if kind not in INNER:
            return item
        start = 2 if kind in (LIST, TUPLE) else 1
        found = list(pieces(item[start:]))
        for place in range(1 if kind in (DICT, COMPOSITE) else 0, len(found), 2 if kind == DICT else 1):
            found[place] = self.item(found[place])
        return item[:start] + joined(found)

    def _message(self, item: bytes) -> bytes:
        if item[:1] == ERASED:
            return item
        left = self.left.get(message_key(item))
        if left is not None:
            return erased_item(left)
        return item[: -len(inner)] + self.item(inner) if item[:1] == BESIDE and (inner := _beside(item)) else item

    def _address(self, item: bytes) -> bytes:
        if item not in self._done:
            content = self.parts.get(item[1:])
            written = item if content is None else self.item(content)
            if content is None or written == content:
                self._done[item] = item
            else:
                digest = address(self.secret, written)
                self.new[digest] = written
                self._done[item] = ADDRESS + digest
        return self._done[item]


def _beside(item: bytes) -> bytes:
    return item[1 + len(message_key(item)) :]


def _rewrite_strand(connection: Connection, namespace: str, pool: int, strand: int, rewriting: _Rewriting) -> None:
    for table, statement in ((CHECKPOINT, rows.OUTLINES), (WRITE, rows.WRITES)):
        of_strand = (table.c.namespace == namespace, table.c.strand == strand)
        for row in connection.execute(statement.where(*of_strand)).all():
            place = Place(thread_id="", checkpoint_ns=row.checkpoint_ns, checkpoint_id=row.checkpoint_id)
            rewrite = _checkpoint if table is CHECKPOINT else _write
            values = rewrite(connection, namespace, pool, place, row, rewriting)
            if values:
                names = [column.name for column in table.primary_key if column.name not in ("namespace", "strand")]
                at = [*of_strand, *(table.c[name] == getattr(row, name) for name in names)]
                insert_parts(connection, namespace, pool, rewriting.new)
                rewriting.new.clear()
                connection.execute(update(table).where(*at).values(**values))


def _checkpoint(
    connection: Connection, namespace: str, pool: int, place: Place, row: Any, rewriting: _Rewriting
) -> dict[str, bytes]:
    before = rows.opened(connection, namespace, pool, place, "channels", row.channels)
    after = joined([rewriting.item(item) for item in pieces(before)])
    return {} if after == before else {"channels": rows.closed(connection, namespace, pool, place, "channels", after)}


def _write(connection: Connection, namespace: str, pool: int, place: Place, row: Any, rewriting: _Rewriting) -> dict[str, bytes]:
    before = rows.write_body(connection, namespace, pool, place, row)
    after = joined([rewriting.item(item) for item in pieces(before)])
    if after == before:
        return {}
    return {"body": rows.closed(connection, namespace, pool, place, "write", after, row.task_id, str(row.idx))}


_POOLS = Prepared(
    select(_SHARE.c.pool).where(_SHARE.c.namespace == bindparam("namespace"), _SHARE.c.digest == bindparam("digest")).distinct()
)
