"""Removing checkpoints of a thread, and what nothing is made of any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from lossless.checkpoints import rows
from lossless.checkpoints.items import pieces
from lossless.checkpoints.lines import Line, drop_line, own_all, users_of_pool
from lossless.checkpoints.model import Outline, Place, Thinned
from lossless.checkpoints.parts import drop_pool, sweep_parts
from lossless.checkpoints.reading import outlines_to_thin, row_at, writes_at
from lossless.checkpoints.rows import CHECKPOINT, WRITE

__all__ = ["Choice", "Details", "remove_line", "sweep_pool", "thin_line"]

Choice = Callable[[Sequence[Outline], "Details"], tuple[set[Place], set[Place]]]
"""Says of a thread's checkpoints, hidden ones among them, which are to be removed, and which hidden."""


class Details:
    """What may be asked about a thread's checkpoints besides their outlines."""

    def __init__(self, connection: Connection, namespace: str, line: Line) -> None:
        self._connection, self._namespace, self._line = connection, namespace, line

    def body(self, place: Place) -> bytes:
        """Give what the runtime says of a checkpoint."""
        row = row_at(self._connection, self._namespace, self._line, place)
        return rows.opened(self._connection, self._namespace, self._line.pool, place, "body", row.body)

    def written(self, place: Place) -> list[bytes]:
        """Give the channels that writes after a checkpoint are to, an item each."""
        found = writes_at(self._connection, self._namespace, self._line, place)
        bodies = (rows.write_body(self._connection, self._namespace, self._line.pool, place, row) for row in found)
        return [next(pieces(body)) for body in bodies]


def thin_line(connection: Connection, namespace: str, line: Line, choose: Choice) -> Thinned:
    """Remove some checkpoints of a thread with their writes, hide others, and remove the parts nothing refers to any more.

    Args:
        connection: a connection in a write transaction that has locked the line.
        namespace: the tenant.
        line: the thread's.
        choose: says which.
    """
    outlines = outlines_to_thin(connection, namespace, line)
    removed, hidden = choose(outlines, Details(connection, namespace, line))
    fresh = hidden - {one.place for one in outlines if one.hidden}
    if not removed and not fresh:
        return Thinned()
    before = _bytes_of(connection, namespace, line)
    line = own_all(connection, namespace, line)
    writes = 0
    for place in sorted(fresh, key=_order):
        connection.execute(update(CHECKPOINT).where(*_at(CHECKPOINT, namespace, line, place)).values(hidden=1))
    for place in sorted(removed, key=_order):
        connection.execute(delete(CHECKPOINT).where(*_at(CHECKPOINT, namespace, line, place)))
        writes += connection.execute(delete(WRITE).where(*_at(WRITE, namespace, line, place))).rowcount
    parts, freed = sweep_pool(connection, namespace, line.pool) if removed else (0, 0)
    after = _bytes_of(connection, namespace, line)
    return Thinned(checkpoints=len(removed), hidden=len(fresh), writes=writes, parts=parts, bytes=before - after + freed)


def remove_line(connection: Connection, namespace: str, line: Line) -> None:
    """Remove a thread, and what no copy of it is made of; its line must be locked."""
    removed = drop_line(connection, namespace, line)
    if not users_of_pool(connection, namespace, line.pool):
        drop_pool(connection, namespace, line.pool)
    elif removed:
        sweep_pool(connection, namespace, line.pool)


def sweep_pool(connection: Connection, namespace: str, pool: int) -> tuple[int, int]:
    """Remove the parts that nothing refers to any more, and give how many, and their bytes; the pool must be locked."""
    strands = {strand for line in users_of_pool(connection, namespace, pool) for strand in line.strands}
    return sweep_parts(connection, namespace, pool, _roots(connection, namespace, pool, strands))


def _roots(connection: Connection, namespace: str, pool: int, strands: Iterable[int]) -> set[bytes]:
    found: set[bytes] = set()
    for strand in sorted(strands):
        for row in connection.execute(rows.OUTLINES.where(*_of_strand(CHECKPOINT, namespace, strand))):
            found.update(pieces(rows.outline(connection, namespace, pool, "", row).channels))
        for row in connection.execute(rows.WRITES.where(*_of_strand(WRITE, namespace, strand))):
            place = Place(thread_id="", checkpoint_ns=row.checkpoint_ns, checkpoint_id=row.checkpoint_id)
            found.update(pieces(rows.write_body(connection, namespace, pool, place, row)))
    return found


def _bytes_of(connection: Connection, namespace: str, line: Line) -> int:
    """Give the bytes that all rows of a pool's threads have stored, shared strands once."""
    strands = sorted({strand for user in users_of_pool(connection, namespace, line.pool) for strand in user.strands})
    total = 0
    for table, columns in ((CHECKPOINT, ("body", "channels", "facts")), (WRITE, ("body",))):
        sizes = (func.length(table.c[name]) for name in columns)
        wanted = select(func.sum(sum(sizes))).where(table.c.namespace == namespace, table.c.strand.in_(strands))
        total += int(connection.execute(wanted).scalar_one() or 0)
    return total


def _of_strand(table: Any, namespace: str, strand: int) -> tuple[Any, ...]:
    return table.c.namespace == namespace, table.c.strand == strand


def _at(table: Any, namespace: str, line: Line, place: Place) -> tuple[Any, ...]:
    named = (table.c.checkpoint_ns == place.checkpoint_ns, table.c.checkpoint_id == place.checkpoint_id)
    return (*_of_strand(table, namespace, line.own), *named)


def _order(place: Place) -> tuple[str, str]:
    return place.checkpoint_ns, place.checkpoint_id
