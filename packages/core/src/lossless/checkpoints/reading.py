"""Reading rows of checkpoints and writes through the strands of a thread: of two with the same key, the nearer one counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, and_, bindparam, literal_column, or_, select

from lossless.checkpoints import rows
from lossless.checkpoints.lines import Line, users_of
from lossless.checkpoints.model import Outline, Place
from lossless.checkpoints.rows import CHECKPOINT, INHERITED, WRITE
from lossless.store.prepared import Prepared

__all__ = ["Wanted", "newest_row", "outlines_of_all", "outlines_of_line", "outlines_to_thin", "row_at", "write_keys", "writes_at"]

Wanted = tuple[str | None, str | None, str | None]
"""Which checkpoints are wanted: of this namespace, with this id, with an id smaller than this one; None: any."""
_NEWEST_FIRST = (CHECKPOINT.c.checkpoint_id.desc(), CHECKPOINT.c.checkpoint_ns.desc())


def row_at(connection: Connection, namespace: str, line: Line, place: Place) -> Any:
    """Give the row of a checkpoint, or None."""
    if len(line.strands) == 1:
        return _ROW.first(connection, _named(namespace, line, place))
    wanted = rows.CHECKPOINTS.where(*_at(CHECKPOINT, namespace, line.strands, place))
    return _nearest(line, connection.execute(wanted).all())


def newest_row(connection: Connection, namespace: str, line: Line, checkpoint_ns: str) -> Any:
    """Give the row of the newest checkpoint of a namespace, or None."""
    found = _NEWEST.first(connection, {"namespace": namespace, "strand": line.own, "checkpoint_ns": checkpoint_ns})
    if len(line.strands) == 1:
        return found
    shown = (CHECKPOINT.c.namespace == namespace, CHECKPOINT.c.checkpoint_ns == checkpoint_ns, CHECKPOINT.c.hidden == 0)
    # one look into the index for each strand, however many checkpoints it has
    newest = select(CHECKPOINT.c.checkpoint_id).where(*shown, CHECKPOINT.c.strand == INHERITED.c.strand)
    newest = newest.order_by(CHECKPOINT.c.checkpoint_id.desc()).limit(1)
    of_thread = (INHERITED.c.namespace == namespace, INHERITED.c.thread_id == line.thread_id)
    ids = [one for one in connection.execute(select(newest.scalar_subquery()).where(*of_thread)).scalars() if one is not None]
    if not ids or (found is not None and found.checkpoint_id >= max(ids)):
        return found
    place = Place(thread_id=line.thread_id, checkpoint_ns=checkpoint_ns, checkpoint_id=max(ids))
    return row_at(connection, namespace, line, place)


def writes_at(connection: Connection, namespace: str, line: Line, place: Place) -> list[Any]:
    """Give the rows of the writes after a checkpoint, in their order."""
    if len(line.strands) == 1:
        return _WRITES.all(connection, _named(namespace, line, place))
    wanted = rows.WRITES.where(*_at(WRITE, namespace, line.strands, place))
    ordered = wanted.order_by(WRITE.c.task_path, WRITE.c.task_id, WRITE.c.idx)
    return _without_farther(line, connection.execute(ordered).all(), lambda row: (row.task_id, row.idx))


def write_keys(connection: Connection, namespace: str, strands: Sequence[int], place: Place, task_id: str) -> set[int]:
    """Give the indices under which some strands have writes of a task."""
    named = (*_at(WRITE, namespace, strands, place), WRITE.c.task_id == task_id)
    return set(connection.execute(select(WRITE.c.idx).where(*named)).scalars()) if strands else set()


def outlines_of_line(
    connection: Connection, namespace: str, line: Line, wanted: Wanted, last: Place | None, most: int
) -> tuple[list[Outline], bool]:
    """Give a page of a thread's checkpoints, the newest first, and whether there are more.

    Args:
        connection: a connection.
        namespace: the tenant.
        line: the thread's.
        wanted: which.
        last: where the page before ended.
        most: rows to be read of each strand.
    """
    checkpoint_ns, _id, _before = wanted
    named = [*_wanted(namespace, wanted), *([] if last is None else _after(last))]
    if checkpoint_ns is not None:
        named.append(CHECKPOINT.c.checkpoint_ns == checkpoint_ns)
    found: list[Any] = []
    ends: list[tuple[str, str]] = []
    for strand in line.strands:
        page = rows.OUTLINES.where(*named, CHECKPOINT.c.strand == strand).order_by(*_NEWEST_FIRST).limit(most)
        of_strand = connection.execute(page).all()
        found += of_strand
        if len(of_strand) == most:
            ends.append(_key(of_strand[-1]))
    if len(line.strands) > 1:  # what stands after the end of a strand's page may not be all that there is
        found.sort(key=_key, reverse=True)
        kept = [row for row in found if not ends or _key(row) >= max(ends)]
        found = _without_farther(line, kept, _key)
    return [rows.outline(connection, namespace, line.pool, line.thread_id, row) for row in found], bool(ends)


def outlines_to_thin(connection: Connection, namespace: str, line: Line) -> list[Outline]:
    """Give all checkpoints of a thread at once, hidden ones too, in no order."""
    wanted = rows.OUTLINES.where(CHECKPOINT.c.namespace == namespace, CHECKPOINT.c.strand.in_(line.strands))
    found = _without_farther(line, connection.execute(wanted).all(), _key)
    return [rows.outline(connection, namespace, line.pool, line.thread_id, row) for row in found]


def outlines_of_all(
    connection: Connection, namespace: str, wanted: Wanted, last: str | None, most: int
) -> tuple[list[Outline], bool]:
    """Give a page of all threads' checkpoints, and whether there are more; those of one id are always on the same page.

    Args:
        connection: a connection.
        namespace: the tenant.
        wanted: which.
        last: the id that the page before ended with.
        most: rows to be read, and some more of the last id.
    """
    named = _wanted(namespace, wanted)
    if wanted[0] is not None:
        named.append(CHECKPOINT.c.checkpoint_ns == wanted[0])
    older = named if last is None else [*named, CHECKPOINT.c.checkpoint_id < last]
    order = (CHECKPOINT.c.checkpoint_id.desc(), CHECKPOINT.c.strand.desc(), CHECKPOINT.c.checkpoint_ns.desc())
    found = list(connection.execute(rows.OUTLINES.where(*older).order_by(*order).limit(most)).all())
    more = len(found) == most
    if more:
        id = found[-1].checkpoint_id
        same = connection.execute(rows.OUTLINES.where(*named, CHECKPOINT.c.checkpoint_id == id)).all()
        found = [row for row in found if row.checkpoint_id != id] + list(same)
    by_strand: dict[int, list[Any]] = {}
    for row in found:
        by_strand.setdefault(row.strand, []).append(row)
    outlines: list[Outline] = []
    for line in users_of(connection, namespace, by_strand):
        nearest = [row for strand in line.strands for row in by_strand.get(strand, ())]
        for row in _without_farther(line, nearest, _key):
            outlines.append(rows.outline(connection, namespace, line.pool, line.thread_id, row))
    outlines.sort(key=lambda one: (one.place.checkpoint_id, one.place.thread_id, one.place.checkpoint_ns), reverse=True)
    return outlines, more


def _wanted(namespace: str, wanted: Wanted) -> list[Any]:
    _ns, checkpoint_id, before = wanted
    named = [CHECKPOINT.c.namespace == namespace, CHECKPOINT.c.hidden == 0]
    if checkpoint_id is not None:
        named.append(CHECKPOINT.c.checkpoint_id == checkpoint_id)
    if before is not None:
        named.append(CHECKPOINT.c.checkpoint_id < before)
    return named


def _at(table: Any, namespace: str, strands: Sequence[int], place: Place) -> tuple[Any, ...]:
    column = table.c
    one = column.strand == strands[0] if len(strands) == 1 else column.strand.in_(strands)
    return (
        column.namespace == namespace,
        one,
        column.checkpoint_ns == place.checkpoint_ns,
        column.checkpoint_id == place.checkpoint_id,
    )


def _named(namespace: str, line: Line, place: Place) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "strand": line.own,
        "checkpoint_ns": place.checkpoint_ns,
        "checkpoint_id": place.checkpoint_id,
    }


def _nearest(line: Line, found: Sequence[Any]) -> Any:
    return min(found, key=lambda row: line.strands.index(row.strand), default=None)


def _without_farther(line: Line, found: Sequence[Any], key: Any) -> list[Any]:
    """Leave out rows for whose key there is one of a nearer strand; the order stays."""
    if len(line.strands) == 1:
        return list(found)
    rank = {strand: place for place, strand in enumerate(line.strands)}
    best: dict[Any, int] = {}
    for row in found:
        best[key(row)] = min(best.get(key(row), len(rank)), rank[row.strand])
    return [row for row in found if best[key(row)] == rank[row.strand]]


def _key(row: Any) -> tuple[str, str]:
    return row.checkpoint_id, row.checkpoint_ns


def _after(last: Place) -> Iterable[Any]:
    column = CHECKPOINT.c
    same = and_(column.checkpoint_id == last.checkpoint_id, column.checkpoint_ns < last.checkpoint_ns)
    return [column.checkpoint_id <= last.checkpoint_id, or_(column.checkpoint_id < last.checkpoint_id, same)]


def _bound(table: Any, *names: str) -> list[Any]:
    return [table.c[name] == bindparam(name) for name in names]


_KEY = ("namespace", "strand", "checkpoint_ns", "checkpoint_id")
# For a thread that inherits nothing: as most do, and as is asked most often.
_ROW = Prepared(rows.CHECKPOINTS.where(*_bound(CHECKPOINT, *_KEY)))
_WRITES = Prepared(rows.WRITES.where(*_bound(WRITE, *_KEY)).order_by(WRITE.c.task_path, WRITE.c.task_id, WRITE.c.idx))
_NEWEST = Prepared(
    rows.CHECKPOINTS.where(*_bound(CHECKPOINT, *_KEY[:3]), CHECKPOINT.c.hidden == literal_column("0"))
    .order_by(CHECKPOINT.c.checkpoint_id.desc())
    .limit(literal_column("1"))
)
