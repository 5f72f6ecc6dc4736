"""Lines: which strands of checkpoints and writes a thread is made of, and how copies share them.

A thread adds to its own strand alone. When it is copied, that strand is set aside for both: they inherit it, and go on with a
strand each. Nobody changes what is set aside, so a copy takes the same time however long its source is, and neither sees what
the other does later. Of two rows with the same key, that of the nearer strand counts. A thread that has to remove something first
takes what it inherits over into its own strand; a strand that nobody inherits any more goes.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, literal, select, union_all, update
from sqlalchemy.dialects import postgresql, sqlite

from lossless.checkpoints.rows import CHECKPOINT, INHERITED, POOL, WRITE
from lossless.errors import ExistsError
from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new

__all__ = [
    "Line",
    "begin_line",
    "copy_line",
    "drop_line",
    "find_line",
    "hold_line",
    "lock_line",
    "lock_pool",
    "own_all",
    "users_of",
    "users_of_pool",
]

_IDS = random.SystemRandom()
_DEEPEST = 50
"""Strands that a thread inherits at the most: reading looks into each. Only copying a thread that has changed since its last copy
adds one, and the copy after so many takes them over into one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a thread's checkpoints are made of.

    Attributes:
        thread_id: the thread.
        pool: where its parts are.
        strands: its own strand, then those it inherits, the nearest first.
    """

    thread_id: str
    pool: int
    strands: tuple[int, ...]

    @property
    def own(self) -> int:
        """The strand that the thread adds to."""
        return self.strands[0]


def find_line(connection: Connection, namespace: str, thread_id: str) -> Line | None:
    """Give the line of a thread, or None: it has none yet."""
    return _line(connection, _FIND, namespace, thread_id)


def hold_line(connection: Connection, namespace: str, thread_id: str) -> Line | None:
    """Give the line of a thread, or None; nobody removes parts of it or copies it before this transaction ends."""
    return _line(connection, _HOLD, namespace, thread_id)


def begin_line(connection: Connection, namespace: str, thread_id: str) -> Line | None:
    """Begin the line of a thread unless it has one, and hold it."""
    fresh = {"pool": _IDS.getrandbits(62), "strand": _IDS.getrandbits(62), "inherits": 0}
    _BEGIN.run(connection, {"namespace": namespace, "thread_id": thread_id} | fresh)
    return hold_line(connection, namespace, thread_id)


def lock_line(connection: Connection, namespace: str, thread_id: str) -> Line | None:
    """Give the line of a thread; nobody holds any line of the same pool before this transaction ends."""
    found = find_line(connection, namespace, thread_id)
    while found is not None:
        lock_pool(connection, namespace, found.pool)
        pool, found = found.pool, find_line(connection, namespace, thread_id)
        if found is not None and found.pool == pool:  # else it was deleted meanwhile, and perhaps begun again
            return found
    return None


def lock_pool(connection: Connection, namespace: str, pool: int) -> None:
    """Let nobody hold any line of a pool before this transaction ends."""
    locked, before = -1, -2
    while locked != before:  # a copy that was on its way has joined the pool while its source's row was waited for
        before, locked = locked, len(_LOCK_POOL.all(connection, {"namespace": namespace, "pool": pool}))


def users_of(connection: Connection, namespace: str, strands: Iterable[int]) -> list[Line]:
    """Give the lines that have any of these strands."""
    named = {"namespace": namespace, "strands": sorted(set(strands))}
    threads = {str(row.thread_id) for row in connection.execute(_USERS, named)} if named["strands"] else set()
    found = (find_line(connection, namespace, thread_id) for thread_id in sorted(threads))
    return [line for line in found if line is not None]


def users_of_pool(connection: Connection, namespace: str, pool: int) -> list[Line]:
    """Give the lines whose parts are in a pool."""
    threads = [row.thread_id for row in _OF_ONE_POOL.all(connection, {"namespace": namespace, "pool": pool})]
    found = (find_line(connection, namespace, thread_id) for thread_id in threads)
    return [line for line in found if line is not None]


def copy_line(connection: Connection, namespace: str, source: str, target: str) -> None:
    """Let a thread begin with all that another has; if that has nothing, do nothing.

    Raises:
        ExistsError: the target has a line.
    """
    line = _line(connection, _LOCK, namespace, source)
    if line is None:
        return
    if len(line.strands) > _DEEPEST and _holds_rows(connection, namespace, line.own):
        line = own_all(connection, namespace, line)
    shared = line.strands if _holds_rows(connection, namespace, line.own) else line.strands[1:]
    made = {"namespace": namespace, "thread_id": target, "pool": line.pool}
    if not _BEGIN.run(connection, made | {"strand": _IDS.getrandbits(62), "inherits": len(shared)}):
        raise ExistsError(f"the thread {target!r} has checkpoints", hint="copy to a new thread, or delete it first")
    placed = list(enumerate(reversed(shared)))
    rows = [{"namespace": namespace, "thread_id": target, "place": place, "strand": strand} for place, strand in placed]
    if len(shared) == len(line.strands):  # the source goes on with another strand
        place, strand = placed[-1]
        rows.append({"namespace": namespace, "thread_id": source, "place": place, "strand": strand})
        _move_on(connection, namespace, source, _IDS.getrandbits(62), len(shared))
    if rows:
        _INHERIT.run(connection, *rows)


def own_all(connection: Connection, namespace: str, line: Line) -> Line:
    """Take what a thread inherits over into its own strand; its line must be locked."""
    inherited = line.strands[1:]
    if not inherited:
        return line
    for strand in inherited:
        for table in (CHECKPOINT, WRITE):
            _take_over(connection, namespace, table, strand, line.own)
    _forget(connection, namespace, line.thread_id)
    _move_on(connection, namespace, line.thread_id, line.own, 0)
    _drop_unused(connection, namespace, inherited)
    return Line(thread_id=line.thread_id, pool=line.pool, strands=(line.own,))


def drop_line(connection: Connection, namespace: str, line: Line) -> bool:
    """Remove a thread with all rows that no other inherits, and give whether there were any; its line must be locked."""
    connection.execute(delete(POOL).where(POOL.c.namespace == namespace, POOL.c.thread_id == line.thread_id))
    _forget(connection, namespace, line.thread_id)
    return _drop_unused(connection, namespace, line.strands)


def _line(connection: Connection, statement: Prepared, namespace: str, thread_id: str) -> Line | None:
    named = {"namespace": namespace, "thread_id": thread_id}
    row = statement.first(connection, named)
    if row is None:
        return None
    inherited = _INHERITED.all(connection, named) if row.inherits else ()
    return Line(thread_id=thread_id, pool=row.pool, strands=(row.strand, *(one.strand for one in inherited)))


def _holds_rows(connection: Connection, namespace: str, strand: int) -> bool:
    named = {"namespace": namespace, "strand": strand}
    return any(statement.first(connection, named) is not None for statement in _ANY)


def _take_over(connection: Connection, namespace: str, table: Any, strand: int, own: int) -> None:
    columns = [column for column in table.c if column.name != "strand"]
    found = select(literal(own), *columns).where(table.c.namespace == namespace, table.c.strand == strand)
    inserts = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    made = inserts(table).from_select(["strand", *(column.name for column in columns)], found)
    connection.execute(made.on_conflict_do_nothing())


def _move_on(connection: Connection, namespace: str, thread_id: str, strand: int, inherits: int) -> None:
    named = (POOL.c.namespace == namespace, POOL.c.thread_id == thread_id)
    connection.execute(update(POOL).where(*named).values(strand=strand, inherits=inherits))


def _forget(connection: Connection, namespace: str, thread_id: str) -> None:
    connection.execute(delete(INHERITED).where(INHERITED.c.namespace == namespace, INHERITED.c.thread_id == thread_id))


def _drop_unused(connection: Connection, namespace: str, strands: Iterable[int]) -> bool:
    wanted = sorted(set(strands))
    used = {int(row.strand) for row in connection.execute(_USED, {"namespace": namespace, "strands": wanted})}
    unused = [strand for strand in wanted if strand not in used]
    removed = 0
    for table in (CHECKPOINT, WRITE):
        removed += connection.execute(delete(table).where(table.c.namespace == namespace, table.c.strand.in_(unused))).rowcount
    return removed > 0


_OF_THREAD = (POOL.c.namespace == bindparam("namespace"), POOL.c.thread_id == bindparam("thread_id"))
_OF_POOL = (POOL.c.namespace == bindparam("namespace"), POOL.c.pool == bindparam("pool"))
_FOUND = select(POOL.c.pool, POOL.c.strand, POOL.c.inherits).where(*_OF_THREAD)
_FIND = Prepared(_FOUND)
_HOLD = Prepared(_FOUND.with_for_update(read=True, key_share=True))
_LOCK = Prepared(_FOUND.with_for_update())
_THREADS = select(POOL.c.thread_id).where(*_OF_POOL).order_by(POOL.c.thread_id)
_OF_ONE_POOL = Prepared(_THREADS)
_LOCK_POOL = Prepared(_THREADS.with_for_update())
_BEGIN = Prepared(insert_new(POOL))
_INHERIT = Prepared(insert(INHERITED))
_INHERITED = Prepared(
    select(INHERITED.c.strand)
    .where(INHERITED.c.namespace == bindparam("namespace"), INHERITED.c.thread_id == bindparam("thread_id"))
    .order_by(INHERITED.c.place.desc())
)
_ANY = [
    Prepared(
        select(table.c.checkpoint_id)
        .where(table.c.namespace == bindparam("namespace"), table.c.strand == bindparam("strand"))
        .limit(1)
    )
    for table in (CHECKPOINT, WRITE)
]
_NAMED = [
    (table, (table.c.namespace == bindparam("namespace"), table.c.strand.in_(bindparam("strands", expanding=True))))
    for table in (POOL, INHERITED)
]
_USERS = union_all(*(select(table.c.thread_id).where(*named) for table, named in _NAMED))
_USED = union_all(*(select(table.c.strand).where(*named) for table, named in _NAMED))
