"""Records: JSON, JSON Lines, tables and CSV of a tool's answer, flattened to leaves that keep their record's identifying key."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from lossless.policies.decoding import decode

__all__ = ["Leaf", "Reading", "Row", "identity_of", "read_records"]

LONGEST_VALUE = 160
"""Characters of a leaf's value; a longer one is read as running text."""

MOST_LEAVES = 50_000
"""Leaves read of one answer; the rest is counted, not read."""

_DEEPEST = 60
_WINDOW = 20_000  # characters in which a leaf's place is looked for


class Leaf(NamedTuple):
    """One value of a record, with its path in it and its place in the answer."""

    path: str
    value: str
    start: int
    end: int


class Row(NamedTuple):
    """Leaves that belong together.

    ``subject`` says of which record, by ids from the outside in, and ``owner`` is the last of these ids; both are empty where
    a leaf itself names the record.
    """

    subject: str
    owner: str
    leaves: list[Leaf]


class Reading(NamedTuple):
    """What an answer holds: rows, running text beside and inside them (with its place), and how many leaves were not read."""

    rows: list[Row]
    texts: list[tuple[int, str]]
    left_out: int


def read_records(text: str, subject: str = "") -> Reading | None:
    """Read the records of an answer, or None when it is running text; ``subject`` names a record that has no id of its own."""
    begin = _start_of_json(text)
    if begin is not None:
        found = decode(text, begin)
        if found is not None:
            value, end = found
            flat = _Flattener(text, begin)
            named = subject if isinstance(value, dict) and _identity(value)[1] else ""
            flat.visit(value, "", named, named, 0)
            before, after = text[:begin], text[end:]
            around = [(at, part) for at, part in ((0, before), (end, after)) if part.strip()]
            if flat.rows or flat.texts or flat.left_out:
                return Reading(flat.rows, around + flat.texts, flat.left_out)
    return _table(text)


# --- JSON -----------------------------------------------------------------------------------------------------------------

_START = re.compile(r"^[ \t]{0,40}(?:[\w .-]{1,40}:\s)?(?=[{\[][\s\"'{\[\]}\d-])", re.MULTILINE)


def _start_of_json(text: str) -> int | None:
    if text[:1] in ("{", "["):
        return 0
    if "{" not in text and "[" not in text:
        return None
    match = _START.search(text, 0, 20_000)
    return match.end() if match else None


class _Flattener:
    """Walks a decoded value, and follows in the text where its leaves stand."""

    __slots__ = ("_cursor", "_leaves", "_text", "left_out", "rows", "texts")

    def __init__(self, text: str, begin: int) -> None:
        self._text = text
        self._cursor = begin
        self._leaves = 0
        self.rows: list[Row] = []
        self.texts: list[tuple[int, str]] = []
        self.left_out = 0

    def visit(self, value: Any, path: str, subject: str, owner: str, depth: int) -> None:
        """Read a value that stands at ``path`` of the record called ``subject``."""
        if depth > _DEEPEST:
            self.left_out += 1
        elif isinstance(value, dict):
            self._record(value, path, subject, owner, depth)
        elif isinstance(value, (list, tuple)):
            self._list(value, path, subject, owner, depth)
        else:
            leaves: list[Leaf] = []
            self._leaf(path, value, leaves, depth)
            if leaves:
                self.rows.append(Row(subject, owner, leaves))

    def _record(self, record: dict[Any, Any], path: str, subject: str, owner: str, depth: int) -> None:
        leaves: list[Leaf] = []
        deeper: list[tuple[str, Any]] = []
        name_in_path = path.rpartition(".")[2]
        begin = self._cursor
        for key, value in record.items():
            name = key if isinstance(key, str) and "\n" not in key else " ".join(str(key).split())
            if isinstance(value, (dict, list, tuple)) and not _is_flat(value):
                if value:
                    deeper.append((name, value))
            elif value != name_in_path:
                self._leaf(name, value, leaves, depth)
        own, rank = _identity(record)
        if rank and subject and depth == 0:
            own = ""
        prefix = f"{subject} {path}".strip() if path else subject
        if leaves and path and not own and len(path) <= 24:
            self.rows.append(Row(subject, owner, [leaf._replace(path=f"{path}.{leaf.path}") for leaf in leaves]))
        elif leaves:
            self.rows.append(Row(prefix, owner, leaves))
        inner = f"{prefix} {own}".strip() if own and own != name_in_path else subject
        inner_path = "" if own else path
        reached = self._cursor
        for name, value in deeper:
            place = self._text.find(f'"{name}"', begin, begin + _WINDOW)
            begin = self._cursor = place if place >= 0 else max(begin, self._cursor)
            self.visit(value, f"{inner_path}.{name}" if inner_path else name, inner, own or owner, depth + 1)
        self._cursor = max(reached, self._cursor)

    def _list(self, values: Sequence[Any], path: str, subject: str, owner: str, depth: int) -> None:
        if _is_flat(values):
            leaves: list[Leaf] = []
            self._leaf(path, values, leaves, depth)
            if leaves:
                self.rows.append(Row(subject, owner, leaves))
            return
        for value in values:
            self.visit(value, path, subject, owner, depth + 1)

    def _leaf(self, path: str, value: Any, leaves: list[Leaf], depth: int) -> None:
        if isinstance(value, (list, tuple)):
            for part in _joined(value):
                self._leaf(path, part, leaves, depth)
            return
        written = value if isinstance(value, str) else _written(value)
        if not written or written.isspace():
            return
        self._leaves += 1
        if self._leaves > MOST_LEAVES or len(path) > 200:
            self.left_out += 1
            return
        if len(written) > LONGEST_VALUE or "\n" in written:
            self._long(written, path, depth)
            return
        start = self._text.find(written, self._cursor, self._cursor + _WINDOW)
        if start < 0:
            start = end = min(self._cursor, len(self._text))
        else:
            end = self._cursor = start + len(written)
        leaves.append(Leaf(path, written, start, end))

    def _long(self, written: str, path: str, depth: int) -> None:
        """Read a long string as text, or as the JSON that some tools wrap in a string."""
        if written.lstrip()[:1] in ("{", "["):
            found = decode(written.strip(), 0)
            if found is not None and isinstance(found[0], (dict, list)):
                self.visit(found[0], path, "", "", depth + 1)
                return
        self.texts.append((self._cursor, written))


def _written(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _is_flat(value: Any) -> bool:
    """Say whether a list holds short plain values only, so that it can stand as one leaf."""
    return isinstance(value, (list, tuple)) and all(
        isinstance(inner, (str, int, float)) and (not isinstance(inner, str) or len(inner) <= LONGEST_VALUE) for inner in value
    )


def _joined(values: Sequence[Any]) -> Iterator[str]:
    part: list[str] = []
    size = 0
    for value in values:
        written = _written(value)
        if part and size + len(written) + 2 > LONGEST_VALUE:
            yield ", ".join(part)
            part, size = [], 0
        part.append(written)
        size += len(written) + 2
    if part:
        yield ", ".join(part)


def _identity(record: dict[Any, Any]) -> tuple[str, int]:
    """Give the value by which a record is told from others, and its rank: 0 an id, 1 a name, 9 there is none."""
    best, chosen = 9, ""
    for key, value in record.items():
        if not isinstance(key, str) or isinstance(value, (dict, list, tuple)) or value is None:
            continue
        rank = _rank(key)
        if rank < best:
            written = _written(value)
            if 0 < len(written) <= 80 and "\n" not in written:
                best, chosen = rank, written
                if rank == 0:
                    break
    return chosen, best


def identity_of(row: Row) -> str:
    """Give the value by which a row's record is told from others, where the row itself holds it."""
    best, chosen = 9, ""
    for leaf in row.leaves:
        rank = _rank(leaf.path)
        if rank < best and len(leaf.value) <= 80:
            best, chosen = rank, leaf.value
    return chosen


_IDS = frozenset({"id", "uuid", "guid", "key", "sku", "code", "number", "ref", "reference", "iata", "isbn", "sha"})
_TITLES = frozenset({"name", "title", "path", "file", "filename", "email", "username", "login", "url", "label", "host"})


@lru_cache(maxsize=1 << 12)
def _rank(key: str) -> int:
    folded = key.casefold()
    if folded in _IDS or folded.endswith(("_id", "_number", "_code", "_key", "_no", "_ref", "-id")) or key.endswith(("Id", "ID")):
        return 0
    if folded in _TITLES or folded.endswith(("_name", "name")):
        return 1
    return 9


# --- tables ---------------------------------------------------------------------------------------------------------------

_RULE = re.compile(r"[\s|+:=-]+$")


def _table(text: str) -> Reading | None:
    """Read CSV, tab-separated values, or a table drawn with bars, of at least two rows under a line of names."""
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines[:3]) if line.strip()), None)
    if first is None or len(lines) - first < 3:
        return None
    delimiter = _delimiter(lines[first : first + 12])
    if delimiter is None:
        return None
    header = [cell.strip() for cell in _cells(lines[first], delimiter)]
    if len(set(header)) < len(header) or not all(_is_name(cell) for cell in header):
        return None
    rows: list[Row] = []
    left_out = 0
    start = sum(len(line) + 1 for line in lines[: first + 1])
    try:
        for line in lines[first + 1 :]:
            if line.strip() and not _RULE.match(line):
                if len(rows) * len(header) >= MOST_LEAVES:
                    left_out += len(header)
                else:
                    leaves = _row(line, start, header, delimiter)
                    if leaves:
                        rows.append(Row("", "", leaves))
            start += len(line) + 1
    except csv.Error:
        return None
    return Reading(rows, [], left_out)


def _delimiter(lines: Sequence[str]) -> str | None:
    told = [line for line in lines if line.strip() and not _RULE.match(line)]
    for delimiter in ("\t", "|", ";", ","):
        counts = [len(_cells(line, delimiter)) - 1 if '"' in line else line.count(delimiter) for line in told]
        usual = counts[0]
        like = sum(count == usual for count in counts)
        if usual >= 1 and len(told) >= 2 and like >= 0.8 * len(told) and (usual >= 2 or len(told) >= 3):
            return delimiter
    return None


def _is_name(cell: str) -> bool:
    return 0 < len(cell) <= 40 and cell.count(" ") <= 3 and not cell[0].isdigit() and cell[-1] not in ".!?"


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter == "|":
        return line.strip().strip("|").split("|")
    return next(csv.reader([line.strip("\r")], delimiter=delimiter), [])


def _row(line: str, start: int, header: Sequence[str], delimiter: str) -> list[Leaf]:
    leaves: list[Leaf] = []
    cursor = 0
    for at, cell in enumerate(_cells(line, delimiter)):
        value = cell.strip()
        if not value:
            continue
        place = line.find(value, cursor)
        cursor = place + len(value) if place >= 0 else cursor
        begin = start + max(place, 0)
        leaves.append(Leaf(header[at] if at < len(header) else "", value, begin, begin + len(value)))
    return leaves
