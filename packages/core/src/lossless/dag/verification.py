"""Verification: deriving again what can be derived, and naming what does not match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from lossless.dag.coverage import coverage_problems
from lossless.dag.heads import Head, moves, read_head
from lossless.dag.lineage import find_key
from lossless.dag.segments import Raw, Tail
from lossless.dag.view import ViewStore
from lossless.errors import CorruptError, LosslessError
from lossless.store.blobs import unpack
from lossless.store.digests import EMPTY_CHAIN, blob_digest, chain_link, commitment
from lossless.store.integrity import database_problems
from lossless.store.keys import ThreadKey
from lossless.store.namespaces import read_secret
from lossless.store.read import facts_of
from lossless.store.tables import BlobRow, HeadRow, MessageRow, SearchDocRow

__all__ = ["Report", "verify_namespace"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_BLOB = BlobRow.__table__  # type: ignore[attr-defined]
_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_DOC = SearchDocRow.__table__  # type: ignore[attr-defined]
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification found.

    Attributes:
        ok: whether everything matches.
        problems: what does not, in words, each naming its thread and message.
        threads: how many threads were looked at, and ``messages`` how many messages.
    """

    ok: bool
    problems: tuple[str, ...]
    threads: int
    messages: int


def verify_namespace(connection: Connection, views: ViewStore, namespace: str, thread_id: str | None = None) -> Report:
    """Verify one thread of a namespace, or all.

    Payloads are held against digests and commitments; chains, seqs, token sums and the head's counters are derived again; the
    coverage of the view is counted. For all threads, the database itself is asked, too.
    """
    problems = database_problems(connection) if thread_id is None else []
    statement = select(_HEAD.c.thread_id).where(_HEAD.c.namespace == namespace).order_by(_HEAD.c.thread_id)
    if thread_id is not None:
        statement = statement.where(_HEAD.c.thread_id == thread_id)
    threads = list(connection.execute(statement).scalars())
    messages = 0
    for name in threads:
        key = find_key(connection, namespace, name)
        assert key is not None
        try:
            head = read_head(connection, key)
            assert head is not None
            messages += head.next_seq - 1
            problems.extend(f"thread {name}: {problem}" for problem in _thread_problems(connection, views, key, head))
        except LosslessError as error:
            problems.append(f"thread {name}: {error.message}")
    return Report(not problems, tuple(problems), len(threads), messages)


def _thread_problems(connection: Connection, views: ViewStore, key: ThreadKey, head: Head) -> Iterator[str]:
    yield from _message_problems(connection, key, head)
    view = views.load(connection, key.namespace, head.view)
    yield from coverage_problems(connection, key, view, head.next_seq)
    ends = {seq for segment in view.segments if isinstance(segment, (Raw, Tail)) for seq in _ends(segment)}
    sums = {fact.seq: fact.total_tokens for fact in facts_of(connection, key, sorted(ends))}
    for segment in view.segments:
        if isinstance(segment, Tail) and sums.get(segment.first - 1, 0) != segment.base:
            yield "the view's tail has another token sum than the messages before it"
        if isinstance(segment, Raw) and (sums.get(segment.first - 1, 0), sums.get(segment.last)) != (segment.base, segment.end):
            yield f"the view's range {segment.first} to {segment.last} has another token sum than its messages"
    newest = moves(connection, key, limit=1)
    if not newest or newest[0].view != head.view or newest[0].generation != head.generation:
        yield "the head is not where its log says"


def _message_problems(connection: Connection, key: ThreadKey, head: Head) -> Iterator[str]:
    chain, total, expected = _start(connection, key)
    secret = read_secret(connection, key.namespace) or b""
    for row in _rows(connection, key):
        if row.seq != expected:
            yield f"seq {expected} is missing"
            expected = row.seq
        expected += 1
        name = f"message {row.id} (seq {row.seq})"
        yield from _payload_problems(secret, row, name)
        total += row.tokens
        if total != row.total_tokens:
            yield f"{name} has another token sum than the messages up to it"
            total = row.total_tokens
        chain = chain_link(
            chain,
            row.commitment,
            seq=row.seq,
            id=row.id,
            role=row.role,
            format=row.format,
            created_at=row.created_at,
            revises=row.revises,
        )
        if chain != row.chain:
            yield f"{name} was changed: the chain breaks there"
            chain = row.chain
        if row.docid is None:
            yield f"{name} is not in the search index"
    if (expected, total, chain) != (head.next_seq, head.total_tokens, head.chain):
        yield "the head's counters don't match the messages"


def _payload_problems(secret: bytes, row: Any, name: str) -> Iterator[str]:
    if row.data is None:
        yield f"{name} has lost its payload"
        return
    try:
        data = unpack(row.codec, row.size, row.data)
    except CorruptError as error:
        yield f"{name} was changed: {error.message}"
        return
    if blob_digest(secret, data) != row.digest or commitment(row.salt, data) != row.commitment:
        yield f"{name} was changed: its payload does not match its digest"


def _start(connection: Connection, key: ThreadKey) -> tuple[bytes, int, int]:
    """Give chain, token sum and seq that a thread's own messages begin with: a branch goes on from where it was cut."""
    if key.cut == 0:
        return EMPTY_CHAIN, 0, key.cut + 1
    statement = select(_MESSAGE.c.chain, _MESSAGE.c.total_tokens).where(
        _MESSAGE.c.namespace == key.namespace, _MESSAGE.c.thread_id == key.owner(key.cut), _MESSAGE.c.seq == key.cut
    )
    row = connection.execute(statement).one()
    return row.chain, row.total_tokens, key.cut + 1


def _rows(connection: Connection, key: ThreadKey) -> Iterator[Any]:
    statement = (
        select(_MESSAGE, _BLOB.c.codec, _BLOB.c.size, _BLOB.c.data, _DOC.c.docid)
        .join(_BLOB, (_BLOB.c.namespace == _MESSAGE.c.namespace) & (_BLOB.c.digest == _MESSAGE.c.digest), isouter=True)
        .join(
            _DOC,
            (_DOC.c.namespace == _MESSAGE.c.namespace)
            & (_DOC.c.thread_id == _MESSAGE.c.thread_id)
            & (_DOC.c.seq == _MESSAGE.c.seq),
            isouter=True,
        )
        .where(_MESSAGE.c.namespace == key.namespace, _MESSAGE.c.thread_id == key.thread_id)
        .order_by(_MESSAGE.c.seq)
        .limit(_BATCH)
    )
    after = 0
    while True:
        rows = connection.execute(statement.where(_MESSAGE.c.seq > after)).all()
        yield from rows
        if len(rows) < _BATCH:
            return
        after = rows[-1].seq


def _ends(segment: Raw | Tail) -> tuple[int, ...]:
    """Give the seqs whose token sums a range names: the one before it, and its last."""
    return (segment.first - 1, segment.last) if isinstance(segment, Raw) else (segment.first - 1,)
