"""Threads: listing what a namespace holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, or_, select

from lossless.dag.view import ViewStore
from lossless.store.keys import Reach
from lossless.store.pages import MOST, Page, read_cursor, write_cursor
from lossless.store.tables import HeadRow, ThreadRow
from lossless.store.times import from_stored

__all__ = ["ThreadInfo", "list_threads", "threads_shown"]

_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_THREAD = ThreadRow.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadInfo:
    """A thread in a list: how many messages it stores, their tokens, and when it was begun and last appended to."""

    id: str
    messages: int
    tokens: int
    format: str
    created_at: datetime
    updated_at: datetime


def list_threads(connection: Connection, reach: Reach, *, limit: int, cursor: str | None) -> Page[ThreadInfo]:
    """List the threads within reach, the one appended to last first; those that are part of another one are left out."""
    limit = min(max(1, limit), MOST)
    statement = (
        select(_HEAD, _THREAD.c.format, _THREAD.c.created_at)
        .join(_THREAD, and_(_THREAD.c.namespace == _HEAD.c.namespace, _THREAD.c.thread_id == _HEAD.c.thread_id))
        .where(_HEAD.c.namespace == reach.namespace, _HEAD.c.deleted_at.is_(None), _THREAD.c.part_of.is_(None))
        .order_by(_HEAD.c.updated_at.desc(), _HEAD.c.thread_id)
        .limit(limit + 1)
    )
    if reach.threads is not None:
        statement = statement.where(_HEAD.c.thread_id.in_(reach.threads))
    state = read_cursor(cursor, int, str)
    if state is not None:
        at, after = state
        later = and_(_HEAD.c.updated_at == at, _HEAD.c.thread_id > after)
        statement = statement.where(or_(_HEAD.c.updated_at < at, later))
    rows = connection.execute(statement).all()
    kept = rows[:limit]
    more = write_cursor(kept[-1].updated_at, kept[-1].thread_id) if len(rows) > len(kept) else None
    threads = [
        ThreadInfo(
            id=row.thread_id,
            messages=row.next_seq - row.since,
            tokens=row.total_tokens,
            format=row.format,
            created_at=from_stored(row.created_at),
            updated_at=from_stored(row.updated_at),
        )
        for row in kept
    ]
    return Page(threads, more, len(threads))


def threads_shown(connection: Connection, reach: Reach, views: ViewStore) -> list[str]:
    """Give the ids of threads within reach that show something, in the order in which they were begun.

    Those that are part of another one are left out. It is one query, and one for each view that was not read yet.
    """
    statement = (
        select(_HEAD.c.thread_id, _HEAD.c.view, _HEAD.c.next_seq)
        .join(_THREAD, and_(_THREAD.c.namespace == _HEAD.c.namespace, _THREAD.c.thread_id == _HEAD.c.thread_id))
        .where(_HEAD.c.namespace == reach.namespace, _HEAD.c.deleted_at.is_(None), _THREAD.c.part_of.is_(None))
        .order_by(_THREAD.c.created_at, _HEAD.c.thread_id)
    )
    rows = connection.execute(statement).all()
    return [row.thread_id for row in rows if views.load(connection, reach.namespace, row.view).messages(row.next_seq)]
