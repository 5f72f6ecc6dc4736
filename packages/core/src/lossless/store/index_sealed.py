"""The index of an encrypted namespace: none, since tokens would tell content. Every message is a candidate."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, text

from lossless.store.bounds import within_bounds
from lossless.store.filters import Filters
from lossless.store.keys import Reach, ThreadKey
from lossless.store.words import Expression

__all__ = ["SealedIndex"]

_BATCH = 500
_ALL = (
    "SELECT d.docid, d.thread_id, d.seq, 0 AS sure, {passes} AS passes FROM lossless_search_doc d "
    "WHERE d.namespace = :namespace AND d.docid < :below {within}"
)
_NEWEST = _ALL + "ORDER BY d.docid DESC LIMIT :limit"
_PASSING = _ALL + "AND {passes} ORDER BY d.docid DESC LIMIT :limit"


class SealedIndex:
    """See ``lossless.store.index``. It keeps the order of messages, and of what they say nothing."""

    def __init__(self, documents: Any) -> None:
        self._documents = documents

    def add(self, connection: Connection, key: ThreadKey, documents: Sequence[tuple[int, str]]) -> None:
        """Note that the messages are there."""
        self._documents.add(connection, key, [(seq, "") for seq, _terms in documents])

    def replace(self, connection: Connection, key: ThreadKey, seq: int, before: str, after: str) -> None:
        """Nothing is to be done: of what messages say nothing is kept."""

    def remove(self, connection: Connection, key: ThreadKey, seq: int, before: str) -> None:
        """Nothing is to be done."""

    def replace_unread(self, connection: Connection, key: ThreadKey, after: Mapping[int, str | None]) -> None:
        """Nothing is to be done."""

    def last(self, connection: Connection) -> int:
        """Give the highest docid."""
        return int(self._documents.last(connection))

    def newest(
        self, connection: Connection, reach: Reach, filters: Filters, _expression: Expression, below: int
    ) -> Generator[Any]:
        """Give every message, newest first."""
        while True:
            rows = _run(connection, _NEWEST, reach, filters, below=below, limit=_BATCH)
            yield from rows
            if len(rows) < _BATCH:
                return
            below = rows[-1].docid

    def ranked(
        self, connection: Connection, reach: Reach, filters: Filters, _expression: Expression, below: int, limit: int
    ) -> Sequence[Any]:
        """Give the newest messages that pass the filters: which are the best is for who can read them to say."""
        return _run(connection, _PASSING, reach, filters, below=below, limit=limit)


def _run(connection: Connection, statement: str, reach: Reach, filters: Filters, **numbers: int) -> Sequence[Any]:
    within, values = within_bounds(reach)
    for number, thread_id in enumerate(reach.threads or ()):
        values[f"within_{number}"] = thread_id
    if reach.threads is not None:
        within += f"AND d.thread_id IN ({', '.join(f':within_{number}' for number in range(len(reach.threads)))}) "
    written = statement.format(within=within, passes=filters.passes)
    return connection.execute(text(written), {"namespace": reach.namespace, **values, **filters.values, **numbers}).all()
