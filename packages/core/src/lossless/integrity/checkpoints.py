"""Checkpoints, held against what they refer to: parts, messages of the store, and views that one can go back to."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from lossless.checkpoints import rows
from lossless.checkpoints.items import pieces, refers_to, shares
from lossless.checkpoints.lines import Line, find_line
from lossless.checkpoints.model import Place
from lossless.checkpoints.pairs import views_of_checkpoints
from lossless.checkpoints.parts import absent_parts, inner_parts
from lossless.checkpoints.rows import CHECKPOINT, POOL, WRITE
from lossless.checkpoints.sharing import absent_messages, unnamed_messages
from lossless.dag.view import ViewStore
from lossless.errors import LosslessError
from lossless.integrity.report import Finding

__all__ = ["checkpoint_findings"]


def checkpoint_findings(connection: Connection, namespace: str, thread_id: str | None = None) -> Iterator[Finding]:
    """Check the checkpoints of one thread, or of all: that their parts and messages are there, and their views can be read."""
    wanted = select(POOL.c.thread_id).where(POOL.c.namespace == namespace).order_by(POOL.c.thread_id)
    names = connection.execute(wanted).scalars().all() if thread_id is None else [thread_id]
    done: set[int] = set()
    for name in names:
        line = find_line(connection, namespace, name)
        if line is not None:
            yield from _line_findings(connection, namespace, line, done)
    views = ViewStore()
    for owner, view in views_of_checkpoints(connection, namespace):
        if thread_id in (None, owner):
            try:
                views.load(connection, namespace, view)
            except LosslessError as error:
                text = f"the view of a checkpoint can't be read: {error.message}"
                yield Finding(kind="checkpoint", text=text, thread_id=owner)


def _line_findings(connection: Connection, namespace: str, line: Line, done: set[int]) -> Iterator[Finding]:
    """Check what a thread's checkpoints and writes, and the parts of its pool, refer to; each pool once."""
    parts: set[bytes] = set()
    messages: set[bytes] = set()
    contents = [] if line.pool in done else list(inner_parts(connection, namespace, line.pool).values())
    done.add(line.pool)
    try:
        for item in (*contents, *_items(connection, namespace, line)):
            parts.update(refers_to(item))
            messages.update(shares(item))
    except LosslessError as error:
        yield Finding(kind="checkpoint", text=f"a checkpoint can't be read: {error.message}", thread_id=line.thread_id)
    for what, absent in (
        ("parts", absent_parts(connection, namespace, line.pool, parts)),
        ("messages", absent_messages(connection, namespace, messages)),
    ):
        if absent:
            text = f"checkpoints refer to {len(absent)} {what} that are not there"
            yield Finding(kind="checkpoint", text=text, thread_id=line.thread_id)
    unnamed = unnamed_messages(connection, namespace, line.pool, messages)
    if unnamed:
        text = f"checkpoints refer to {len(unnamed)} messages that nothing keeps for them"
        yield Finding(kind="checkpoint", text=text, thread_id=line.thread_id)


def _items(connection: Connection, namespace: str, line: Line) -> Iterator[bytes]:
    for strand in line.strands:
        for table, statement in ((CHECKPOINT, rows.OUTLINES), (WRITE, rows.WRITES)):
            found = connection.execute(statement.where(table.c.namespace == namespace, table.c.strand == strand))
            for row in found:
                place = Place(thread_id=line.thread_id, checkpoint_ns=row.checkpoint_ns, checkpoint_id=row.checkpoint_id)
                if table is WRITE:
                    yield from pieces(rows.write_body(connection, namespace, line.pool, place, row))
                else:
                    yield from pieces(rows.opened(connection, namespace, line.pool, place, "channels", row.channels))
