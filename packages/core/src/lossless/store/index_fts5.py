"""The index on SQLite: a contentless FTS5 table over tokens, scoped by tokens for namespace and thread."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Result, bindparam, func, insert, select, text

from lossless.store.bounds import within_bounds
from lossless.store.filters import Filters
from lossless.store.index_held import held_words
from lossless.store.keys import Reach, ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.tables import SearchDocRow
from lossless.store.words import Expression, to_fts5

__all__ = ["Fts5Index", "scope_of"]

_DOC = SearchDocRow.__table__  # type: ignore[attr-defined]

_LAST_DOCUMENT = Prepared(select(func.max(_DOC.c.docid).label("last")))
_INSERT_DOCUMENT = Prepared(insert(_DOC))
_INSERT_TERMS = Prepared(text("INSERT INTO lossless_search (rowid, scope, body) VALUES (:docid, :scope, :body)"))
_FORGET_TERMS = Prepared(
    text("INSERT INTO lossless_search (lossless_search, rowid, scope, body) VALUES ('delete', :docid, :scope, :body)")
)
_DOCUMENT = Prepared(
    select(_DOC.c.docid).where(
        _DOC.c.namespace == bindparam("namespace"),
        _DOC.c.thread_id == bindparam("thread_id"),
        _DOC.c.seq == bindparam("seq"),
    )
)
_MATCHES = (
    "SELECT d.docid, d.thread_id, d.seq, 1 AS sure, {passes} AS passes "
    "FROM lossless_search JOIN lossless_search_doc d ON d.docid = lossless_search.rowid "
    "WHERE lossless_search MATCH :query AND d.namespace = :namespace AND lossless_search.rowid < :below {within}"
)
_NEWEST = _MATCHES + "ORDER BY lossless_search.rowid DESC"
_FEW = _MATCHES + "AND {passes} ORDER BY lossless_search.rowid DESC LIMIT :limit"
_RANKED = _MATCHES + "AND {passes} ORDER BY rank, d.docid DESC LIMIT :limit"
_RANKS = text(
    "SELECT lossless_search.rowid AS docid, rank FROM lossless_search WHERE lossless_search MATCH :query "
    "AND lossless_search.rowid BETWEEN :first AND :last ORDER BY lossless_search.rowid DESC LIMIT :limit"
)
_RANKED_ALONE = 200
"""Up to so many matches are ranked by their words alone: BM25 counts the documents of every word of a question, and those of
the scope are all of a tenant's."""
_OTHERS = 5_000
"""How many matches of other tenants may be among them, before the question with its scope is the cheaper one."""


class Fts5Index:
    """See ``lossless.store.index``. Whatever FTS5 finds is sure."""

    def add(self, connection: Connection, key: ThreadKey, documents: Sequence[tuple[int, str]]) -> None:
        """Index messages; there is one writer at a time, so the next docid is one more than the last."""
        scope = scope_of(key)
        if len(documents) == 1:  # then SQLite says which docid it gave, which is the same
            [(seq, body)] = documents
            row = {"docid": None, "namespace": key.namespace, "thread_id": key.thread_id, "seq": seq}
            docid = _INSERT_DOCUMENT.insert(connection, row)
            _INSERT_TERMS.run(connection, {"docid": docid, "scope": scope, "body": body})
            return
        last = self.last(connection)
        rows = [
            {"docid": last + offset, "namespace": key.namespace, "thread_id": key.thread_id, "seq": seq}
            for offset, (seq, _terms) in enumerate(documents, start=1)
        ]
        _INSERT_DOCUMENT.run(connection, *rows)
        terms = [{"docid": row["docid"], "scope": scope, "body": body} for row, (_seq, body) in zip(rows, documents, strict=True)]
        _INSERT_TERMS.run(connection, *terms)

    def replace(self, connection: Connection, key: ThreadKey, seq: int, before: str, after: str) -> None:
        """Index other tokens for a message: a contentless table must be told what it is to forget."""
        row = _DOCUMENT.first(connection, {"namespace": key.namespace, "thread_id": key.thread_id, "seq": seq})
        if row is not None:
            _FORGET_TERMS.run(connection, {"docid": row.docid, "scope": scope_of(key), "body": before})
            _INSERT_TERMS.run(connection, {"docid": row.docid, "scope": scope_of(key), "body": after})

    def remove(self, connection: Connection, key: ThreadKey, seq: int, before: str) -> None:
        """Tell the contentless table what it is to forget."""
        row = _DOCUMENT.first(connection, {"namespace": key.namespace, "thread_id": key.thread_id, "seq": seq})
        if row is not None:
            _FORGET_TERMS.run(connection, {"docid": row.docid, "scope": scope_of(key), "body": before})

    def replace_unread(self, connection: Connection, key: ThreadKey, after: Mapping[int, str | None]) -> None:
        """Forget what is held of messages, found by reading the index from end to end, and index other tokens."""
        named = {"namespace": key.namespace, "thread_id": key.thread_id}
        rows = {seq: row.docid for seq in after if (row := _DOCUMENT.first(connection, {**named, "seq": seq})) is not None}
        for docid, (scope, body) in held_words(connection, set(rows.values())).items():
            _FORGET_TERMS.run(connection, {"docid": docid, "scope": scope, "body": body})
        for seq, docid in rows.items():
            if (words := after[seq]) is not None:
                _INSERT_TERMS.run(connection, {"docid": docid, "scope": scope_of(key), "body": words})

    def last(self, connection: Connection) -> int:
        """Give the highest docid."""
        return _LAST_DOCUMENT.first(connection, {}).last or 0

    def newest(
        self, connection: Connection, reach: Reach, filters: Filters, expression: Expression, below: int
    ) -> Generator[Any]:
        """Give what matches, newest first, as it is found."""
        with _run(connection, _NEWEST, reach, filters, expression, below=below) as rows:
            yield from rows

    def ranked(
        self, connection: Connection, reach: Reach, filters: Filters, expression: Expression, below: int, limit: int
    ) -> Sequence[Any]:
        """Give the best of what matches, by FTS5's own rank (BM25)."""
        few = _run(connection, _FEW, reach, filters, expression, below=below, limit=_RANKED_ALONE + 1).all()
        if not few:
            return few
        if len(few) <= _RANKED_ALONE:
            query = f"body : ({to_fts5(expression)})"
            values = {"query": query, "first": few[-1].docid, "last": few[0].docid, "limit": _OTHERS}
            ranks = {row.docid: row.rank for row in connection.execute(_RANKS, values)}
            if all(row.docid in ranks for row in few):
                return sorted(few, key=lambda row: (ranks[row.docid], -row.docid))[:limit]
        return _run(connection, _RANKED, reach, filters, expression, below=below, limit=limit).all()


def scope_of(key: ThreadKey) -> str:
    """Give the tokens that scope the entries of a thread."""
    return f"{_scope_token(key.namespace)} {_scope_token(key.namespace, key.thread_id)}"


def _run(
    connection: Connection, statement: str, reach: Reach, filters: Filters, expression: Expression, **numbers: int
) -> Result[Any]:
    within, bounds = within_bounds(reach)
    query = _scoped(reach, to_fts5(expression))
    wanted = {"query": query, "namespace": reach.namespace, **bounds, **filters.values, **numbers}
    return connection.execute(text(statement.format(within=within, passes=filters.passes)), wanted)


@lru_cache(maxsize=4096)
def _scope_token(*names: str) -> str:
    return "s" + hashlib.sha256("\0".join(names).encode()).hexdigest()[:24]


def _scoped(reach: Reach, expression: str) -> str:
    if reach.threads is None:
        scope = _scope_token(reach.namespace)
    else:
        scope = " OR ".join(_scope_token(reach.namespace, thread) for thread in reach.threads)
    return f"(scope : ({scope})) AND (body : ({expression}))"
