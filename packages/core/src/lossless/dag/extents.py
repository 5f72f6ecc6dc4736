"""Extents: how far summaries reach, without what they say, which costs most to load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from lossless.dag.segments import SummaryRef
from lossless.dag.summaries import home
from lossless.errors import NotFoundError
from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.tables import SummaryChildRow, SummaryRow

__all__ = ["Extent", "extents_under", "load_extent"]

_SUMMARY = SummaryRow.__table__  # type: ignore[attr-defined]
_CHILDREN = SummaryChildRow.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How far a summary reaches, and the segment that shows it."""

    ref: SummaryRef
    first_seq: int
    newest_seq: int


def load_extent(connection: Connection, key: ThreadKey, id: str) -> Extent:
    """Load how far a summary reaches.

    Raises:
        NotFoundError: it is not in the thread.
    """
    for thread_id, until in key.lineage():
        wanted = {"namespace": key.namespace, "thread_id": thread_id, "until": 2**62 if until is None else until, "id": id}
        row = _BY_ID.first(connection, wanted)
        if row is not None:
            return _extent(row)
    raise NotFoundError(f"there is no summary {id} in thread {key.thread_id}", hint="see the items of context()")


def extents_under(connection: Connection, key: ThreadKey, id: str) -> dict[str, Extent]:
    """Load how far the summaries right under a summary reach, all at once."""
    wanted = {"namespace": key.namespace, "thread_id": home(connection, key, id), "summary_id": id}
    return {row.id: _extent(row) for row in _CHILDREN_OF.all(connection, wanted)}


def _extent(row: Any) -> Extent:
    ref = SummaryRef(id=row.id, depth=row.depth, tokens=row.tokens, messages=row.messages, degraded=bool(row.degraded))
    return Extent(ref=ref, first_seq=row.first_seq, newest_seq=row.newest_seq)


_REACH = (
    _SUMMARY.c.id,
    _SUMMARY.c.depth,
    _SUMMARY.c.tokens,
    _SUMMARY.c.messages,
    _SUMMARY.c.degraded,
    _SUMMARY.c.first_seq,
    _SUMMARY.c.newest_seq,
)
_BY_ID = Prepared(
    select(*_REACH).where(
        _SUMMARY.c.namespace == bindparam("namespace"),
        _SUMMARY.c.thread_id == bindparam("thread_id"),
        _SUMMARY.c.id == bindparam("id"),
        _SUMMARY.c.newest_seq <= bindparam("until"),
    )
)
_CHILDREN_OF = Prepared(
    select(*_REACH)
    .select_from(_CHILDREN)
    .join(
        _SUMMARY,
        (_SUMMARY.c.namespace == _CHILDREN.c.namespace)
        & (_SUMMARY.c.thread_id == _CHILDREN.c.source_thread)
        & (_SUMMARY.c.id == _CHILDREN.c.child_id),
    )
    .where(
        _CHILDREN.c.namespace == bindparam("namespace"),
        _CHILDREN.c.thread_id == bindparam("thread_id"),
        _CHILDREN.c.summary_id == bindparam("summary_id"),
    )
)
