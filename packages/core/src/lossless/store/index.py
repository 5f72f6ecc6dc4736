"""The search index of a database, behind one contract. It holds the tokens of the analyzer, so each database finds the same."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from sqlalchemy import Connection

from lossless.store.index_fts5 import Fts5Index
from lossless.store.index_tsvector import TsvectorIndex
from lossless.store.keys import Reach, ThreadKey
from lossless.store.words import Expression

__all__ = ["Candidate", "Index", "index_of"]


class Candidate(Protocol):
    """A message that may match.

    Attributes:
        docid: its place in the index: later ones are higher, within a thread strictly so.
        sure: whether it matches; otherwise its tokens are to be looked at.
    """

    docid: int
    thread_id: str
    seq: int
    sure: bool


class Index(Protocol):
    """An index over the tokens of all messages. What it gives contains every message within reach that matches."""

    def add(self, connection: Connection, key: ThreadKey, documents: Sequence[tuple[int, str]]) -> None:
        """Index messages of a thread given as (seq, tokens with spaces between)."""

    def newest(self, connection: Connection, reach: Reach, expression: Expression, below: int) -> Generator[Candidate]:
        """Give what matches and has a docid below a bound, newest first."""

    def ranked(
        self, connection: Connection, reach: Reach, expression: Expression, limit: int, offset: int
    ) -> Sequence[Candidate]:
        """Give a stretch of what matches, best first, the newest first among equals."""


_INDEXES: dict[str, Index] = {"sqlite": Fts5Index(), "postgresql": TsvectorIndex()}


def index_of(connection: Connection) -> Index:
    """Give the index of the database behind a connection."""
    return _INDEXES[connection.dialect.name]
