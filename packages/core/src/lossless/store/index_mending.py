"""Making the search index again: entries of no message go, missing ones come, and all get the words of their messages.

An entry keeps its docid, which says how new it is; one that was lost gets a free docid between its neighbours in the thread, and
where there is none, the thread's entries are made again at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, select, text

from lossless.store.index import index_of
from lossless.store.index_checks import Fts5Check
from lossless.store.index_fts5 import scope_of
from lossless.store.index_held import mend_sums
from lossless.store.index_tsvector import to_tsvector
from lossless.store.keys import ThreadKey
from lossless.store.tables import MessageRow, SearchDocRow

__all__ = ["Terms", "insert_entry", "mend_entries", "mend_ranking"]

_DOC = SearchDocRow.__table__  # type: ignore[attr-defined]
_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_BATCH = 500
_SAME = (_DOC.c.namespace == _MESSAGE.c.namespace) & (_DOC.c.thread_id == _MESSAGE.c.thread_id) & (_DOC.c.seq == _MESSAGE.c.seq)

_TAKE_OUT = text("INSERT INTO lossless_search (lossless_search, rowid, scope, body) VALUES ('delete', :docid, :scope, :body)")
_PUT_IN = text("INSERT INTO lossless_search (rowid, scope, body) VALUES (:docid, :scope, :body)")

Terms = Callable[[str, str, int], "str | None"]
"""Gives the tokens of a message (namespace, thread id, seq), a space between; None where it can't be read."""


def mend_entries(connection: Connection, namespace: str, terms: Terms) -> int:
    """Make the index of a namespace again, in a write transaction; give how many entries it has."""
    strays = select(_DOC.c.docid).outerjoin(_MESSAGE, _SAME).where(_DOC.c.namespace == namespace, _MESSAGE.c.seq.is_(None))
    gone = list(connection.execute(strays).scalars())
    if gone:
        connection.execute(delete(_DOC).where(_DOC.c.docid == bindparam("stray")), [{"stray": docid} for docid in gone])
    _add_missing(connection, namespace)
    if connection.dialect.name == "postgresql":
        _write_vectors(connection, namespace, terms)
    else:
        _write_words(connection, namespace, terms)
    count = connection.execute(select(func.count()).select_from(_DOC).where(_DOC.c.namespace == namespace)).scalar()
    return int(count or 0)


def mend_ranking(connection: Connection) -> None:
    """Make what is ranked with again, in a write transaction of its own: of SQLite's index, the sums over all entries."""
    if connection.dialect.name == "sqlite":
        mend_sums(connection)


def _add_missing(connection: Connection, namespace: str) -> None:
    statement = (
        select(_MESSAGE.c.thread_id, _MESSAGE.c.seq)
        .outerjoin(_DOC, _SAME)
        .where(_MESSAGE.c.namespace == namespace, _DOC.c.docid.is_(None), _MESSAGE.c.digest.is_not(None))
        .order_by(_MESSAGE.c.thread_id, _MESSAGE.c.seq)
    )
    crowded: set[str] = set()
    for thread_id, seq in connection.execute(statement).all():
        if thread_id in crowded:
            continue
        docid = _free_docid(connection, namespace, thread_id, seq)
        if docid is None:
            crowded.add(thread_id)
            continue
        row: dict[str, Any] = {"docid": docid, "namespace": namespace, "thread_id": thread_id, "seq": seq}
        connection.execute(insert_entry(connection), row)
    for thread_id in sorted(crowded):
        _add_again(connection, ThreadKey(namespace, thread_id))


def insert_entry(connection: Connection) -> Any:
    """Give the statement that makes an entry (docid, namespace, thread_id, seq), without words yet."""
    if connection.dialect.name == "postgresql":
        return text(
            "INSERT INTO lossless_search_doc (docid, namespace, thread_id, seq, held, tokens) "
            "VALUES (:docid, :namespace, :thread_id, :seq, 0, CAST('' AS tsvector))"
        )
    return insert(_DOC)


def _free_docid(connection: Connection, namespace: str, thread_id: str, seq: int) -> int | None:
    """Find a docid between those of the neighbours in the thread that no entry has."""
    of_thread = and_(_DOC.c.namespace == namespace, _DOC.c.thread_id == thread_id)
    before = connection.execute(select(func.max(_DOC.c.docid)).where(of_thread, _DOC.c.seq < seq)).scalar()
    after = connection.execute(select(func.min(_DOC.c.docid)).where(of_thread, _DOC.c.seq > seq)).scalar()
    if after is None:
        return None  # the end of the thread: new docids are given at the end of the index only
    candidate = before + 1 if before is not None else after - 1
    taken = connection.execute(select(_DOC.c.docid).where(_DOC.c.docid == candidate)).scalar() is not None
    return None if taken or not 0 < candidate < after else candidate


def _add_again(connection: Connection, key: ThreadKey) -> None:
    of_thread = and_(_DOC.c.namespace == key.namespace, _DOC.c.thread_id == key.thread_id)
    seqs = select(_MESSAGE.c.seq).where(
        _MESSAGE.c.namespace == key.namespace, _MESSAGE.c.thread_id == key.thread_id, _MESSAGE.c.digest.is_not(None)
    )
    connection.execute(delete(_DOC).where(of_thread))
    index_of(connection).add(connection, key, [(seq, "") for seq in connection.execute(seqs.order_by(_MESSAGE.c.seq)).scalars()])


def _write_words(connection: Connection, namespace: str, terms: Terms) -> None:
    """Take out what is wrong, which FTS5 does when it is told the words, and put in what is right."""
    check = Fts5Check(connection)
    for row in _entries(connection, namespace):
        body = terms(row.namespace, row.thread_id, row.seq)
        if body is not None:
            check.expect(ThreadKey(row.namespace, row.thread_id), row.seq, row.docid, body)
    wrong = set(check.wrong())
    leaving = wrong | check.stray_docids()
    held = check.words(leaving)
    for docid in sorted(leaving & (held.keys() | check.sizes.keys())):
        scope, body = held.get(docid, ("", ""))
        connection.execute(_TAKE_OUT, {"docid": docid, "scope": scope, "body": body})
    for row in _entries(connection, namespace):
        if row.docid in wrong:
            body = terms(row.namespace, row.thread_id, row.seq) or ""
            scope = scope_of(ThreadKey(row.namespace, row.thread_id))
            connection.execute(_PUT_IN, {"docid": row.docid, "scope": scope, "body": body})


def _write_vectors(connection: Connection, namespace: str, terms: Terms) -> None:
    statement = text(
        "UPDATE lossless_search_doc SET held = :held, tokens = CAST(:tokens AS tsvector) "
        "WHERE docid = :docid AND (held <> :held OR tokens <> CAST(:tokens AS tsvector))"
    )
    for row in _entries(connection, namespace):
        body = terms(row.namespace, row.thread_id, row.seq)
        if body is not None:
            held, tokens = to_tsvector(body, ThreadKey(row.namespace, row.thread_id))
            connection.execute(statement, {"docid": row.docid, "held": held, "tokens": tokens})


def _entries(connection: Connection, namespace: str) -> Iterator[Any]:
    """Give the entries of a namespace, batch by batch."""
    statement = select(_DOC.c.docid, _DOC.c.namespace, _DOC.c.thread_id, _DOC.c.seq).where(_DOC.c.namespace == namespace)
    after = -1
    while True:
        rows = connection.execute(statement.where(_DOC.c.docid > after).order_by(_DOC.c.docid).limit(_BATCH)).all()
        yield from rows
        if len(rows) < _BATCH:
            return
        after = rows[-1].docid
