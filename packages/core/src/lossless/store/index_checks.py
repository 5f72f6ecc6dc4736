"""Whether the search index holds the words of the messages: each message is expected, and what is held otherwise is named.

SQLite's index keeps no texts, only which word stands where; so it is read once from end to end, and each entry is summed up in a
number that does not depend on the order. PostgreSQL compares its vectors itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Protocol

from sqlalchemy import Connection, text

from lossless.store.index_fts5 import scope_of
from lossless.store.index_held import held_instances, held_sizes, held_words, size_of_entry, sums_are_right
from lossless.store.index_tsvector import to_tsvector
from lossless.store.keys import ThreadKey

__all__ = ["Fts5Check", "IndexCheck", "index_check"]

_BATCH = 500


class IndexCheck(Protocol):
    """Takes what the index should hold, message by message, and then says what it holds otherwise."""

    def expect(self, key: ThreadKey, seq: int, docid: int, terms: str) -> None:
        """Note the tokens (a space between) that an entry should have."""

    def stale(self) -> Iterator[tuple[str, int]]:
        """Give the entries that have other tokens, as (thread id, seq)."""

    def strays(self) -> int:
        """Count what the index holds of no message, in all namespaces. After :meth:`stale`."""

    def sums_are_right(self) -> bool:
        """Tell whether what all entries together are ranked with is theirs."""


def index_check(connection: Connection) -> IndexCheck:
    """Give what checks the index of the database behind a connection."""
    return _TsvectorCheck(connection) if connection.dialect.name == "postgresql" else Fts5Check(connection)


class Fts5Check:
    """See :class:`IndexCheck`. What is wrong can also be told entry by entry, with the words that are held."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._expected: dict[int, tuple[int, bytes, str, int]] = {}
        self._held: dict[int, int] = {}
        self.sizes: dict[int, bytes] = {}

    def expect(self, key: ThreadKey, seq: int, docid: int, terms: str) -> None:
        """Note the tokens that an entry should have."""
        scope, body = scope_of(key).split(), terms.split()
        tokens = [("scope", place, term) for place, term in enumerate(scope)]
        tokens += [("body", place, term) for place, term in enumerate(body)]
        self._expected[docid] = (sum(map(hash, tokens)), size_of_entry(len(body), len(scope)), key.thread_id, seq)

    def stale(self) -> Iterator[tuple[str, int]]:
        """Read the index from end to end, and give the entries that have other tokens."""
        for docid in self.wrong():
            yield self._expected[docid][2:]

    def strays(self) -> int:
        """Count the docids with words that no entry has."""
        return len(self.stray_docids())

    def sums_are_right(self) -> bool:
        """Tell whether FTS5's sums are those of the entries."""
        return sums_are_right(self._connection)

    def wrong(self) -> list[int]:
        """Give the docids of the entries that have other tokens than expected, or are ranked with another number of them."""
        held: dict[int, int] = {}
        for docid, column, place, term in held_instances(self._connection):
            held[docid] = held.get(docid, 0) + hash((column, place, term))
        self._held, self.sizes = held, held_sizes(self._connection)
        return [
            docid
            for docid, (expected, size, _thread, _seq) in self._expected.items()
            if held.get(docid, 0) != expected or self.sizes.get(docid) != size
        ]

    def stray_docids(self) -> set[int]:
        """Give the docids with words that no entry has. After :meth:`wrong`."""
        return (self._held.keys() | self.sizes.keys()) - set(
            self._connection.execute(text("SELECT docid FROM lossless_search_doc")).scalars()
        )

    def words(self, docids: Set[int]) -> dict[int, tuple[str, str]]:
        """Give the scope and the body that are held of some docids, each as it was indexed."""
        return held_words(self._connection, docids)


_DIFFERS = text(
    "SELECT d.docid FROM lossless_search_doc d "
    "JOIN unnest(CAST(:docids AS bigint[]), CAST(:held AS smallint[]), CAST(:tokens AS text[])) AS e(docid, held, tokens) "
    "ON d.docid = e.docid WHERE d.held <> e.held OR d.tokens <> CAST(e.tokens AS tsvector)"
)


class _TsvectorCheck:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: list[tuple[int, int, str]] = []
        self._places: dict[int, tuple[str, int]] = {}
        self._stale: list[tuple[str, int]] = []

    def expect(self, key: ThreadKey, seq: int, docid: int, terms: str) -> None:
        self._waiting.append((docid, *to_tsvector(terms, key)))
        self._places[docid] = (key.thread_id, seq)
        if len(self._waiting) >= _BATCH:
            self._compare()

    def stale(self) -> Iterator[tuple[str, int]]:
        self._compare()
        yield from self._stale

    def strays(self) -> int:
        return 0  # the tokens stand beside the entry

    def sums_are_right(self) -> bool:
        return True  # there are none

    def _compare(self) -> None:
        if self._waiting:
            docids, held, tokens = zip(*self._waiting, strict=True)
            values = {"docids": list(docids), "held": list(held), "tokens": list(tokens)}
            self._stale += [self._places[row.docid] for row in self._connection.execute(_DIFFERS, values)]
            self._waiting.clear()
            self._places.clear()
