"""Scanning: looking at the messages themselves, newest first, where no index can say which of them match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select, text

from lossless.errors import CorruptError
from lossless.store.blobs import payload_of
from lossless.store.bounds import within_bounds
from lossless.store.filters import Filters
from lossless.store.index import index_of
from lossless.store.keys import Reach
from lossless.store.tables import MessageRow
from lossless.store.vault import Vault, vault_of

__all__ = ["Scanned", "newest_first", "size_of"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_BATCH = 500
_OF_ENTRY = "m.namespace = d.namespace AND m.thread_id = d.thread_id AND m.seq = d.seq"


@dataclass(frozen=True, slots=True)
class Scanned:
    """A message that a scan has come to.

    ``passes``: whether the filters let it pass and it has a payload; ``data``: that, or None where it is damaged: whoever reads
    the message then says which one it is.
    """

    position: int
    thread_id: str
    seq: int
    passes: bool
    data: bytes | None


def newest_first(connection: Connection, reach: Reach, filters: Filters, below: int) -> Iterator[Scanned]:
    """Give the messages within reach by falling position: the seq within one thread, else the place in the index."""
    single = reach.threads is not None and len(reach.threads) == 1
    position = "d.seq" if single else "d.docid"
    within, values = within_bounds(reach)
    if reach.threads is not None:
        names = [f"within_{number}" for number in range(len(reach.threads))]
        within += f"AND d.thread_id IN ({', '.join(f':{name}' for name in names)}) "
        values.update(zip(names, reach.threads, strict=True))
    entries = (
        f"SELECT {position} AS position, d.namespace, d.thread_id, d.seq FROM lossless_search_doc d "  # noqa: S608
        f"WHERE d.namespace = :namespace {within}AND {position} < :below ORDER BY {position} DESC LIMIT :batch"
    )
    statement = text(
        f"SELECT d.position, d.thread_id, d.seq, b.digest, b.codec, b.size, b.data FROM ({entries}) d "  # noqa: S608
        f"JOIN lossless_message m ON {_OF_ENTRY} "
        f"LEFT JOIN lossless_blob b ON {filters.of_message} AND b.namespace = m.namespace AND b.digest = m.digest "
        "ORDER BY d.position DESC"
    )
    wanted: dict[str, Any] = {"namespace": reach.namespace, "batch": _BATCH, **values, **filters.values}
    vault = vault_of(connection)
    while True:
        rows = connection.execute(statement, {**wanted, "below": below}).all()
        for row in rows:
            yield Scanned(row.position, row.thread_id, row.seq, row.codec is not None, _payload(vault, reach.namespace, row))
        if len(rows) < _BATCH:
            return
        below = rows[-1].position


def _payload(vault: Vault, namespace: str, row: Any) -> bytes | None:
    try:
        return payload_of(vault, namespace, row) if row.codec is not None else None
    except CorruptError:
        return None


def size_of(connection: Connection, reach: Reach) -> int:
    """Give how many messages are within reach, at the most."""
    if reach.threads is None:
        return index_of(connection).last(connection)
    largest = select(func.max(_MESSAGE.c.seq)).where(_MESSAGE.c.namespace == reach.namespace)
    return sum(connection.execute(largest.where(_MESSAGE.c.thread_id == thread)).scalar() or 0 for thread in reach.threads)
