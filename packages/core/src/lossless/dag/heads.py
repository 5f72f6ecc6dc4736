"""Heads: the one mutable row of a thread, swung from view to view by compare-and-swap, and the log of its moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, insert, null, select, text, update

from lossless.dag.lineage import find_key
from lossless.dag.view import GENESIS, View, ViewStore
from lossless.errors import CorruptError, NotFoundError
from lossless.store.append import open_calls, stored_calls
from lossless.store.digests import EMPTY_CHAIN
from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new
from lossless.store.tables import HeadLogRow, HeadRow, ThreadRow

__all__ = [
    "DELETED",
    "Head",
    "Move",
    "begin_thread",
    "begun_at",
    "create_thread",
    "keep_collectors_out",
    "key_at",
    "lock_existing_head",
    "lock_head",
    "moves",
    "no_thread",
    "read_head",
    "set_head",
    "swing",
    "swung_at",
]

_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_LOG = HeadLogRow.__table__  # type: ignore[attr-defined]
DELETED = "deleted"
"""Why a head was swung when its thread was deleted: to a view that hides all."""
_THREAD = ThreadRow.__table__  # type: ignore[attr-defined]


class Head(NamedTuple):
    """Where a thread stands.

    Attributes:
        view: address of its view.
        generation: how often the view was swung; compare-and-swap is on this alone, so appends can't starve a promotion.
        next_seq: the seq that the next message gets.
        total_tokens: tokens of all its messages, hidden ones included.
        chain: the chain's value after its last message.
        open_calls: tool calls without a result yet: (call id, seq of the message that made it).
        lookalike_ids: whether a caller gave ids like those that are derived.
        updated_at: time of the last append, microseconds.
        format: the serialisation of the thread's payloads unless an append says otherwise.
        since: the first seq that may be seen, 1 unless it was deleted and begun again.
        parent: the thread that it was branched from, or None; ``cut``: the last seq that it has from there.
        part_of: the thread that it is part of, if any.
    """

    view: bytes
    generation: int
    next_seq: int
    total_tokens: int
    chain: bytes
    open_calls: tuple[tuple[str, int], ...]
    lookalike_ids: bool
    updated_at: int
    format: str
    since: int = 1
    parent: str | None = None
    cut: int = 0
    part_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One swing of a head. ``undoes``: the generation of the move that it takes back, or None."""

    generation: int
    view: bytes
    next_seq: int
    why: str
    by_hand: bool
    undoes: int | None
    at: int


_OF_THREAD = (
    select(_HEAD, _THREAD.c.format, _THREAD.c.parent, _THREAD.c.cut, _THREAD.c.part_of)
    .join(_THREAD, (_THREAD.c.namespace == _HEAD.c.namespace) & (_THREAD.c.thread_id == _HEAD.c.thread_id))
    .where(_HEAD.c.namespace == bindparam("namespace"), _HEAD.c.thread_id == bindparam("thread_id"))
)
_THERE = _OF_THREAD.where(_HEAD.c.deleted_at.is_(None))
_SELECT_HEAD = Prepared(_THERE)
_SELECT_ANY_HEAD = Prepared(_OF_THREAD)
_LOCK_HEAD = Prepared(_THERE.with_for_update(of=_HEAD))
_LOCK_ANY_HEAD = Prepared(_OF_THREAD.with_for_update(of=_HEAD))
_REVIVE = Prepared(
    update(_HEAD)
    .where(
        _HEAD.c.namespace == bindparam("key_namespace"),
        _HEAD.c.thread_id == bindparam("key_thread"),
        _HEAD.c.deleted_at.is_not(None),
    )
    .values(deleted_at=null(), updated_at=bindparam("now"))
)
_INSERT_HEAD = Prepared(insert(_HEAD))
_INSERT_MOVE = Prepared(insert(_LOG))
_INSERT_THREAD = Prepared(insert_new(_THREAD))
_KEEP_OUT = Prepared(text(f"LOCK TABLE {_HEAD.name} IN ROW EXCLUSIVE MODE"))


def read_head(connection: Connection, key: ThreadKey, *, deleted: bool = False) -> Head | None:
    """Give where a thread stands, or None if there is none; ``deleted``: also of one that was deleted."""
    statement = _SELECT_ANY_HEAD if deleted else _SELECT_HEAD
    return _head(connection, key, statement.first(connection, {"namespace": key.namespace, "thread_id": key.thread_id}))


def lock_head(connection: Connection, key: ThreadKey, *, deleted: bool = False) -> Head | None:
    """Give where a thread stands, and keep other writers from moving it until this transaction ends; ``deleted`` as above.

    What depends on where the thread stands is read after this. On SQLite the write transaction holds the whole database already.
    """
    statement = _LOCK_ANY_HEAD if deleted else _LOCK_HEAD
    return _head(connection, key, statement.first(connection, {"namespace": key.namespace, "thread_id": key.thread_id}))


def keep_collectors_out(connection: Connection) -> None:
    """Let nobody collect garbage before this transaction ends: rows that no view names yet are about to be named by one.

    Called before the epoch is read. Garbage is collected with this table locked against writers, so a collection that ran first
    shows in the epoch. SQLite has one writer anyway.
    """
    if connection.dialect.name == "postgresql":
        _KEEP_OUT.run(connection, {})


def lock_existing_head(connection: Connection, key: ThreadKey) -> Head:
    """Do as :func:`lock_head` for a thread that must be there.

    Raises:
        NotFoundError: it is not.
    """
    head = lock_head(connection, key)
    if head is None:
        raise no_thread(key.thread_id)
    return head


def no_thread(thread_id: str) -> NotFoundError:
    """Make the error that says that there is no such thread."""
    return NotFoundError(f"there is no thread {thread_id}", hint="list them with threads()")


def _head(connection: Connection, key: ThreadKey, row: Any) -> Head | None:
    if row is None:
        return None
    return Head(
        view=row.view,
        generation=row.generation,
        next_seq=row.next_seq,
        total_tokens=row.total_tokens,
        chain=row.chain,
        open_calls=open_calls(connection, key, row.open_calls),
        lookalike_ids=bool(row.lookalike_ids),
        updated_at=row.updated_at,
        format=row.format,
        since=row.since,
        parent=row.parent,
        cut=row.cut,
        part_of=row.part_of,
    )


def key_at(connection: Connection, key: ThreadKey, head: Head) -> ThreadKey:
    """Give a thread's key as its head says: a caller may know it from before the thread was deleted, or made anew."""
    above = key.inherited[-1] if key.inherited else (None, 0)
    if key.since == head.since and above == (head.parent, head.cut):
        return key
    return find_key(connection, key.namespace, key.thread_id) or key


def create_thread(
    connection: Connection, key: ThreadKey, views: ViewStore, *, format: str, now: int, part_of: str | None = None
) -> Head:
    """Create a thread without messages, standing at the genesis view, or give the one that somebody else creates meanwhile.

    One that was deleted is begun again: its seqs go on, and nothing that it had before is in its view. What follows goes by
    :func:`key_at`, for the key may be of a thread of that name that is gone.
    """
    key = ThreadKey(key.namespace, key.thread_id)
    start = Head(
        view=b"",
        generation=0,
        next_seq=1,
        total_tokens=0,
        chain=EMPTY_CHAIN,
        open_calls=(),
        lookalike_ids=False,
        updated_at=now,
        format=format,
        part_of=part_of,
    )
    for _ in range(3):
        created = begin_thread(connection, key, views, GENESIS, start, why="created", part_of=part_of)
        if created is None:
            _REVIVE.run(connection, {"key_namespace": key.namespace, "key_thread": key.thread_id, "now": now})
            created = lock_head(connection, key)
        if created is not None:
            return created
        # It was deleted, and somebody collected it between the two looks: now it can be made.
    raise CorruptError(f"thread {key.thread_id} has no head", hint="run `lossless doctor`")


def begin_thread(
    connection: Connection,
    key: ThreadKey,
    views: ViewStore,
    view: View,
    start: Head,
    *,
    why: str,
    part_of: str | None = None,
) -> Head | None:
    """Create a thread that stands at a view: a new one at the genesis view, a branch where it was cut; give its head.

    None: it is there already, perhaps made by somebody else at the same moment.
    """
    identity = {"namespace": key.namespace, "thread_id": key.thread_id}
    parent = key.inherited[-1][0] if key.inherited else None
    now = start.updated_at
    row = {**identity, "format": start.format, "parent": parent, "part_of": part_of, "cut": key.cut, "created_at": now}
    if _INSERT_THREAD.run(connection, row) == 0:
        return None
    address = views.store(connection, key.namespace, view)
    head = start._replace(view=address, since=key.since, parent=parent, cut=key.cut)
    _INSERT_HEAD.run(
        connection,
        {
            **identity,
            "view": address,
            "generation": 0,
            "next_seq": head.next_seq,
            "total_tokens": head.total_tokens,
            "chain": head.chain,
            "open_calls": stored_calls(connection, key, head.open_calls),
            "lookalike_ids": int(head.lookalike_ids),
            "updated_at": now,
            "since": key.since,
            "deleted_at": None,
        },
    )
    _log(connection, key, generation=0, view=address, next_seq=head.next_seq, why=why, by_hand=False, undoes=None, at=now)
    return head


def swing(
    connection: Connection,
    key: ThreadKey,
    views: ViewStore,
    view: View,
    *,
    expected: int,
    next_seq: int,
    why: str,
    now: int,
    by_hand: bool = False,
    undoes: int | None = None,
) -> bool:
    """Make ``view`` the thread's view if its generation is still ``expected``; give whether it was."""
    address = views.store(connection, key.namespace, view)
    swung = connection.execute(
        update(_HEAD)
        .where(_HEAD.c.namespace == key.namespace, _HEAD.c.thread_id == key.thread_id, _HEAD.c.generation == expected)
        .values(view=address, generation=expected + 1)
    )
    if swung.rowcount != 1:
        return False
    _log(
        connection,
        key,
        generation=expected + 1,
        view=address,
        next_seq=next_seq,
        why=why,
        by_hand=by_hand,
        undoes=undoes,
        at=now,
    )
    return True


def moves(connection: Connection, key: ThreadKey, *, limit: int | None = None) -> list[Move]:
    """Give the moves of a thread's head, newest first, down to the one that deleted the thread, if it was begun again."""
    statement = (
        select(_LOG)
        .where(_LOG.c.namespace == key.namespace, _LOG.c.thread_id == key.thread_id)
        .order_by(_LOG.c.generation.desc())
        .limit(limit)
    )
    found: list[Move] = []
    for row in connection.execute(statement):
        facts = {name: getattr(row, name) for name in ("generation", "view", "next_seq", "why", "undoes", "at")}
        found.append(Move(**facts, by_hand=bool(row.by_hand)))
        if row.why == DELETED and key.since > 1:
            break
    return found


def begun_at(connection: Connection, key: ThreadKey) -> int:
    """Give the first seq that may be seen of a thread: 1 unless it was deleted."""
    statement = select(_HEAD.c.since).where(_HEAD.c.namespace == key.namespace, _HEAD.c.thread_id == key.thread_id)
    return connection.execute(statement).scalar() or 1


def swung_at(connection: Connection, key: ThreadKey, generation: int) -> int | None:
    """Give the next seq of a thread when its view of a generation was swung in, or None if there was no such move."""
    statement = select(_LOG.c.next_seq).where(
        _LOG.c.namespace == key.namespace, _LOG.c.thread_id == key.thread_id, _LOG.c.generation == generation
    )
    return connection.execute(statement).scalar()


def set_head(connection: Connection, key: ThreadKey, head: Head, *, deleted_at: int | None) -> None:
    """Write a head as it should be, whether there is one or not; its log is left alone. Only a repair does that.

    ``deleted_at``: when the thread was deleted, as its log says, for a head that is not there to say so.
    """
    row = {
        "view": head.view,
        "generation": head.generation,
        "next_seq": head.next_seq,
        "total_tokens": head.total_tokens,
        "chain": head.chain,
        "open_calls": stored_calls(connection, key, head.open_calls),
        "lookalike_ids": int(head.lookalike_ids),
        "updated_at": head.updated_at,
        "since": head.since,
    }
    changed = connection.execute(
        update(_HEAD).where(_HEAD.c.namespace == key.namespace, _HEAD.c.thread_id == key.thread_id).values(**row)
    )
    if changed.rowcount == 0:
        identity = {"namespace": key.namespace, "thread_id": key.thread_id}
        connection.execute(insert(_HEAD), {**identity, **row, "deleted_at": deleted_at})


def _log(connection: Connection, key: ThreadKey, **move: object) -> None:
    move["by_hand"] = int(bool(move["by_hand"]))
    _INSERT_MOVE.run(connection, {"namespace": key.namespace, "thread_id": key.thread_id, **move})
