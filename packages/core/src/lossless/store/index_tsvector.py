"""The index on PostgreSQL: a ``tsvector`` of the same tokens beside each entry, under GIN.

Tokens and positions are written out here and cast: ``to_tsvector`` would split some of them. A ``tsvector`` ends at 16 383
positions, 255 of one token, and 1 MB. A message beyond that keeps its tokens without positions, or, if even these are too many,
nothing; then it is a candidate that the search looks at itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, text

from lossless.store.bounds import within_bounds
from lossless.store.filters import Filters
from lossless.store.keys import Reach, ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.words import And, Expression, Not, Or, Phrase, Prefix, Term

__all__ = ["TsvectorIndex", "to_tsquery", "to_tsvector"]

_PLACED, _UNPLACED, _ABSENT = 0, 1, 2
"""How much of a message its vector holds: tokens and positions, tokens alone, nothing."""
_MARKS = {_UNPLACED: "'-unplaced'", _ABSENT: "'-absent'"}
"""What stands in such vectors beside the tokens, so that one condition, which GIN answers, covers them; no token has a hyphen."""
_MOST_POSITIONS = 16_383
_MOST_OF_ONE = 255
_MOST_BYTES = 900_000
_MOST_OPERANDS = 2_000
_AT_ONCE = 1 << 18
"""Characters whose tokens are held at once."""
_BATCH = 500
_WINDOW, _FREQUENT = 2_000, 40
"""The newest documents are looked through so many at a time, as long as so many of them match."""

_INSERT = Prepared(
    text(
        "INSERT INTO lossless_search_doc (namespace, thread_id, seq, held, tokens) "
        "VALUES (:namespace, :thread_id, :seq, :held, CAST(:tokens AS tsvector))"
    )
)
_REPLACE = Prepared(
    text(
        "UPDATE lossless_search_doc SET held = :held, tokens = CAST(:tokens AS tsvector) "
        "WHERE namespace = :namespace AND thread_id = :thread_id AND seq = :seq"
    )
)
_THREADS = "AND d.thread_id || '' = ANY(:threads) "
# The scope's marks find what is within reach; its names are held against each row found, and are nothing to search by.
_FOUND = (
    "SELECT d.docid, d.namespace, d.thread_id, d.seq, (d.held = 0 AND CAST(:sure AS boolean)) AS sure{rank} "
    "FROM lossless_search_doc d WHERE d.namespace || '' = :namespace {within}"
    "AND d.tokens @@ CAST(:wanted AS tsquery) AND d.docid < :below "
)
_COLUMNS = "SELECT d.docid, d.thread_id, d.seq, d.sure, {passes} AS passes "
_RECENT = _COLUMNS + "FROM (" + _FOUND + "AND d.docid >= :floor) d ORDER BY d.docid DESC"
# Materialized, or the planner may walk all documents from the newest to the oldest for the few that it expects to meet soon.
_OLDER = "WITH found AS MATERIALIZED (" + _FOUND + ") " + _COLUMNS + "FROM found d ORDER BY d.docid DESC LIMIT :limit"
_RANK = ", ts_rank(d.tokens, CAST(:ranked AS tsquery)) AS rank"
_PASSED = "SELECT d.docid, d.thread_id, d.seq, d.sure, true AS passes "
_RANKED = _PASSED + "FROM (" + _FOUND + ") d WHERE {passes} ORDER BY d.rank DESC, d.docid DESC LIMIT :limit"
_LAST = Prepared(text("SELECT max(docid) FROM lossless_search_doc"))


class TsvectorIndex:
    """See ``lossless.store.index``."""

    def add(self, connection: Connection, key: ThreadKey, documents: Sequence[tuple[int, str]]) -> None:
        """Index messages; the thread's head is locked, so that a sequence gives docids in the order of seqs."""
        rows = []
        for seq, terms in documents:
            held, tokens = to_tsvector(terms, key)
            rows.append({"namespace": key.namespace, "thread_id": key.thread_id, "seq": seq, "held": held, "tokens": tokens})
        _INSERT.run(connection, *rows)

    def replace(self, connection: Connection, key: ThreadKey, seq: int, before: str, after: str) -> None:  # noqa: ARG002
        """Index other tokens for a message."""
        held, tokens = to_tsvector(after, key)
        named = {"namespace": key.namespace, "thread_id": key.thread_id, "seq": seq}
        _REPLACE.run(connection, {**named, "held": held, "tokens": tokens})

    def remove(self, connection: Connection, key: ThreadKey, seq: int, before: str) -> None:
        """Nothing is to be done: they stand in the entry."""

    def replace_unread(self, connection: Connection, key: ThreadKey, after: Mapping[int, str | None]) -> None:
        """Index other tokens for messages: what stood there need not be known."""
        for seq, terms in after.items():
            if terms is not None:
                self.replace(connection, key, seq, "", terms)

    def last(self, connection: Connection) -> int:
        """Give the highest docid."""
        return _LAST.first(connection, {})[0] or 0

    def newest(
        self, connection: Connection, reach: Reach, filters: Filters, expression: Expression, below: int
    ) -> Generator[Any]:
        """Give what matches, newest first: a frequent word is met among the newest documents, a rare one the index knows."""
        below = min(below, self.last(connection) + 1)
        frequent = True
        while frequent and below > 0:
            floor = below - _WINDOW
            rows = _run(connection, _RECENT, reach, filters, expression, below=below, floor=floor)
            yield from rows
            below, frequent = floor, len(rows) >= _FREQUENT
        while below > 0:
            rows = _run(connection, _OLDER, reach, filters, expression, below=below, limit=_BATCH)
            yield from rows
            if len(rows) < _BATCH:
                return
            below = rows[-1].docid

    def ranked(
        self, connection: Connection, reach: Reach, filters: Filters, expression: Expression, below: int, limit: int
    ) -> Sequence[Any]:
        """Give the best of what matches, by how often and how close together the words stand."""
        return _run(connection, _RANKED, reach, filters, expression, below=below, limit=limit)


def to_tsvector(terms: str, key: ThreadKey) -> tuple[int, str]:
    """Write the tokens of a thread's message (a space between) as a ``tsvector``, and how much of them it holds.

    Namespace and thread stand among them, so that GIN finds what is within reach and not what others said, too.
    """
    held, written = _written(terms)
    return held, f"{written} '{_scope_mark(key.namespace)}' '{_scope_mark(key.namespace, key.thread_id)}'".lstrip()


@lru_cache(maxsize=4096)
def _scope_mark(*names: str) -> str:
    return "-" + hashlib.sha256("\0".join(names).encode()).hexdigest()[:12]


def _written(terms: str) -> tuple[int, str]:
    places: dict[str, list[int]] = {}
    size = place = 0
    for place, token in enumerate(_in_order(terms), start=1):
        found = places.get(token)
        if found is None:
            found = places[token] = []
            size += len(token.encode()) + 6
            if size > _MOST_BYTES:
                return _ABSENT, _MARKS[_ABSENT]
        if place <= _MOST_POSITIONS and len(found) <= _MOST_OF_ONE:  # more are too many, however many they are
            found.append(place)
    most = max(map(len, places.values()), default=0)
    if place > _MOST_POSITIONS or most > _MOST_OF_ONE or size + 2 * place > _MOST_BYTES:
        return _UNPLACED, " ".join([_MARKS[_UNPLACED], *(f"'{token}'" for token in places)])
    return _PLACED, " ".join(f"'{token}':{','.join(map(str, found))}" for token, found in places.items())


def _in_order(terms: str) -> Iterator[str]:
    """Give tokens one by one; those of a large text take ten times its memory and are not held all at once."""
    start = 0
    while start < len(terms):
        end = terms.find(" ", start + _AT_ONCE)
        end = len(terms) if end < 0 else end
        yield from terms[start:end].split()
        start = end + 1


def to_tsquery(expression: Expression) -> str:
    """Write an expression as a ``tsquery``."""
    match expression:
        case Term(token=token):
            return f"'{token}'"
        case Prefix(token=token):
            return f"'{token}':*"
        case Phrase(tokens=tokens, prefix=prefix):
            return "(" + " <-> ".join(f"'{token}'" for token in tokens) + (":*" if prefix else "") + ")"
        case And(operands=operands):
            return "(" + " & ".join(map(to_tsquery, operands)) + ")"
        case Or(operands=operands):
            return "(" + " | ".join(map(to_tsquery, operands)) + ")"
        case Not(keep=keep, drop=drop):
            return f"({to_tsquery(keep)} & !{to_tsquery(drop)})"
    raise TypeError(f"no expression: {expression!r}")


def _run(
    connection: Connection, statement: str, reach: Reach, filters: Filters, expression: Expression, **numbers: int
) -> Sequence[Any]:
    loose = to_tsquery(_loosened(expression))
    sure = _operands(expression) <= _MOST_OPERANDS
    query = to_tsquery(expression) if sure else loose
    threads = [_scope_mark(reach.namespace, thread) for thread in reach.threads or ()]
    scope = " | ".join(f"'{mark}'" for mark in threads or [_scope_mark(reach.namespace)])
    values: dict[str, Any] = {
        "namespace": reach.namespace,
        "wanted": f"({scope}) & ({query} | ({loose} & {_MARKS[_UNPLACED]}) | {_MARKS[_ABSENT]})",
        "sure": sure,
        **filters.values,
        **numbers,
    }
    within, bounds = within_bounds(reach)
    if reach.threads is not None:
        within += _THREADS
        values["threads"] = list(reach.threads)
    rank = _RANK if statement is _RANKED else ""
    if rank:
        values["ranked"] = query
    written = statement.format(within=within, passes=filters.passes, rank=rank)
    return connection.execute(text(written), {**values, **bounds}).all()


def _loosened(expression: Expression) -> Expression:
    """Give what can be told without positions and is small: it matches wherever the expression does, and more."""
    match expression:
        case Phrase(tokens=tokens, prefix=prefix):
            whole = tokens[:-1] if prefix else tokens
            telling: list[Expression] = [Term(token) for token in sorted(whole, key=len, reverse=True)[:3]]
            if prefix and len(telling) < 2:
                telling.append(Prefix(tokens[-1]))
            return telling[0] if len(telling) == 1 else And(tuple(telling))
        case And(operands=operands):
            return And(tuple(map(_loosened, operands)))
        case Or(operands=operands):
            return Or(tuple(map(_loosened, operands)))
        case Not(keep=keep):
            return _loosened(keep)
    return expression


def _operands(expression: Expression) -> int:
    match expression:
        case Phrase(tokens=tokens):
            return len(tokens)
        case And(operands=operands) | Or(operands=operands):
            return sum(map(_operands, operands))
        case Not(keep=keep, drop=drop):
            return _operands(keep) + _operands(drop)
    return 1
