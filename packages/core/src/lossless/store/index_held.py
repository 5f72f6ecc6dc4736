"""What SQLite's index holds: it keeps no texts, only which word stands where, so an entry is put together from all its words."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from sqlalchemy import Connection

__all__ = ["held_instances", "held_words"]

_VOCABULARY = "lossless_held_words"


def held_instances(connection: Connection) -> Iterator[tuple[int, str, int, str]]:
    """Read the index from end to end: (docid, column, place, word)."""
    driver: Any = connection.connection.driver_connection
    driver.execute(f"CREATE VIRTUAL TABLE temp.{_VOCABULARY} USING fts5vocab(main, lossless_search, instance)")
    try:
        yield from driver.execute(f'SELECT doc, col, "offset", term FROM temp.{_VOCABULARY}')  # noqa: S608 - a constant
    finally:
        driver.execute(f"DROP TABLE temp.{_VOCABULARY}")


def held_words(connection: Connection, docids: Set[int]) -> dict[int, tuple[str, str]]:
    """Give the scope and the body that are held of some docids, each as it was indexed; nothing of those without words."""
    places: dict[int, dict[str, list[tuple[int, str]]]] = {}
    for docid, column, place, word in held_instances(connection):
        if docid in docids:
            places.setdefault(docid, {"scope": [], "body": []})[column].append((place, word))
    return {docid: (_joined(found["scope"]), _joined(found["body"])) for docid, found in places.items()}


def _joined(words: list[tuple[int, str]]) -> str:
    return " ".join(word for _place, word in sorted(words))
