"""What SQLite's index holds: it keeps no texts, only which word stands where, so an entry is put together from all its words.

What it ranks by it keeps apart, as varints: of each entry how many words its columns have, and the sums of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Any

from sqlalchemy import Connection, text

__all__ = ["held_instances", "held_sizes", "held_words", "mend_sums", "size_of_entry", "sums_are_right"]

_VOCABULARY = "lossless_held_words"
_SIZES = text("SELECT id, sz FROM lossless_search_docsize")
_SUMS = text("SELECT block FROM lossless_search_data WHERE id = 1")
_SET_SUMS = text("REPLACE INTO lossless_search_data (id, block) VALUES (1, :sums)")


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


def held_sizes(connection: Connection) -> dict[int, bytes]:
    """Give how many words each entry is ranked with, by docid, as :func:`size_of_entry` writes it."""
    return {row.id: bytes(row.sz) for row in connection.execute(_SIZES)}


def size_of_entry(body: int, scope: int) -> bytes:
    """Write how many words the columns of an entry have."""
    return _varint(body) + _varint(scope)


def sums_are_right(connection: Connection) -> bool:
    """Tell whether the sums that entries are ranked with are those of the entries."""
    held, wanted = connection.execute(_SUMS).scalar(), _sums(connection)
    return wanted == _sums_of(()) or (held is not None and bytes(held) == wanted)


def mend_sums(connection: Connection) -> None:
    """Write the sums again, in a write transaction in which nothing else is written: FTS5 writes its own when it ends."""
    if not sums_are_right(connection):
        connection.execute(_SET_SUMS, {"sums": _sums(connection)})


def _sums(connection: Connection) -> bytes:
    return _sums_of(_read_varints(size) for size in held_sizes(connection).values())


def _sums_of(sizes: Iterable[tuple[int, ...]]) -> bytes:
    entries = body = scope = 0
    for found in sizes:
        entries += 1
        body, scope = body + sum(found[:1]), scope + sum(found[1:2])
    return _varint(entries) + size_of_entry(body, scope)


def _varint(number: int) -> bytes:
    """Write a number below 2**56 as SQLite does: seven bits a byte, all but the last one marked."""
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.append(number & 0x7F | 0x80)
    return bytes(reversed(groups))


def _read_varints(data: bytes) -> tuple[int, ...]:
    found, number = [], 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            found.append(number)
            number = 0
    return tuple(found)
