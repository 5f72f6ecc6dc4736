"""The search index of a database, behind one contract. It holds the tokens of the analyzer, so each database finds the same."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Protocol

from sqlalchemy import Connection

from lossless.store.filters import Filters
from lossless.store.index_fts5 import Fts5Index
from lossless.store.index_sealed import SealedIndex
from lossless.store.index_tsvector import TsvectorIndex
from lossless.store.keys import Reach, ThreadKey
from lossless.store.vault import vault_of
from lossless.store.words import Expression

__all__ = ["Candidate", "Index", "index_of"]


class Candidate(Protocol):
    """A message that may match.

    Attributes:
        docid: its place in the index: later ones are higher, within a thread strictly so.
        sure: whether it matches; otherwise its tokens are to be looked at.
        passes: whether it passes the filters, all but the one by tool.
    """

    docid: int
    thread_id: str
    seq: int
    sure: bool
    passes: bool


class Index(Protocol):
    """An index over the tokens of all messages. What it gives contains every message within reach that matches."""

    def add(self, connection: Connection, key: ThreadKey, documents: Sequence[tuple[int, str]]) -> None:
        """Index messages of a thread given as (seq, tokens with spaces between)."""

    def replace(self, connection: Connection, key: ThreadKey, seq: int, before: str, after: str) -> None:
        """Index other tokens for a message; those before must be the ones that it was indexed with."""

    def remove(self, connection: Connection, key: ThreadKey, seq: int, before: str) -> None:
        """Forget the tokens of a message, whose entry is about to be removed."""

    def replace_unread(self, connection: Connection, key: ThreadKey, after: Mapping[int, str | None]) -> None:
        """Do as :meth:`replace` for messages of a thread that can't be read, by seq; None: as :meth:`remove`."""

    def last(self, connection: Connection) -> int:
        """Give the highest docid, 0 where there is none; of every namespace."""

    def newest(
        self, connection: Connection, reach: Reach, filters: Filters, expression: Expression, below: int
    ) -> Generator[Candidate]:
        """Give what matches and has a docid below a bound, newest first; what the filters leave out is marked."""

    def ranked(
        self, connection: Connection, reach: Reach, filters: Filters, expression: Expression, below: int, limit: int
    ) -> Sequence[Candidate]:
        """Give the best of what matches, passes the filters and has a docid below a bound, the newest first among equals."""


_INDEXES: dict[str, Index] = {"sqlite": Fts5Index(), "postgresql": TsvectorIndex()}


def index_of(connection: Connection) -> Index:
    """Give the index of the database behind a connection."""
    index = _INDEXES[connection.dialect.name]
    return SealedIndex(index) if vault_of(connection).encrypts else index
