"""Checkpoints in the database: putting, reading, listing, copying, removing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, and_, delete, insert, literal, or_, select, update

from lossless.checkpoints import rows
from lossless.checkpoints.model import CheckpointDraft, Gathered, Outline, Place, Stored, StoredWrite, WriteDraft
from lossless.checkpoints.parts import absent_parts, drop_pool, insert_parts, load_parts, sweep_parts
from lossless.checkpoints.rows import CHECKPOINT, POOL, WRITE
from lossless.checkpoints.trees import pieces, refers_to
from lossless.errors import ExistsError
from lossless.store.database import Database
from lossless.store.digests import blob_digest
from lossless.store.namespaces import Secrets
from lossless.store.rereading import rereads

__all__ = ["CheckpointStore"]

_POOLS = random.SystemRandom()
_PAGE = 64

Choice = Callable[[Sequence[Outline]], tuple[set[Place], set[Place]]]
"""Says of a thread's checkpoints which are to be removed, and which hidden."""


class CheckpointStore:
    """The checkpoints of one namespace, for any number of threads. Nothing it gives has to be closed."""

    def __init__(self, database: Database, secrets: Secrets, namespace: str) -> None:
        self._database = database
        self._secrets = secrets
        self._namespace = namespace

    def addresses(self) -> Callable[[bytes], bytes]:
        """Give what gives the address of content."""
        secret = self._secrets.make(self._namespace)
        return lambda identity: blob_digest(secret, identity)

    @rereads
    def pool_of(self, thread_id: str) -> int | None:
        """Give the pool of a thread's parts; None if it has no checkpoints."""
        with self._database.read() as connection:
            return rows.find_pool(connection, self._namespace, thread_id)

    @rereads
    def outline(self, place: Place) -> Outline | None:
        """Give a checkpoint without its content."""
        with self._database.read() as connection:
            pool = rows.find_pool(connection, self._namespace, place.thread_id)
            found = None if pool is None else connection.execute(self._one(place)).one_or_none()
            return None if pool is None or found is None else rows.outline(connection, self._namespace, pool, found)

    def put(self, draft: CheckpointDraft, gathered: Gathered) -> bool:
        """Store a checkpoint, in the place of one of the same id; give whether it is stored.

        If it is not, a part that was taken to be stored is not (any more): gather all, and put again.
        """

        def job(connection: Connection) -> bool:
            pool = self._admitted(connection, draft.place.thread_id, gathered)
            if pool is None:
                return False
            rows.UPSERT.run(connection, rows.checkpoint_row(connection, self._namespace, pool, draft))
            return True

        return self._database.write(job)

    def put_writes(
        self, place: Place, task_id: str, task_path: str, writes: Sequence[WriteDraft], gathered: Gathered, *, replace: bool
    ) -> bool:
        """Store what a task wrote; the result as :meth:`put`.

        Args:
            place: the checkpoint that it was written after; it need not be stored yet.
            task_id: the task.
            task_path: the task's path, which orders writes.
            writes: the writes.
            gathered: their parts.
            replace: whether those stored under the same index are replaced, rather than left.
        """
        statement = rows.REPLACE_WRITES if replace else rows.ADD_WRITES

        def job(connection: Connection) -> bool:
            pool = self._admitted(connection, place.thread_id, gathered)
            if pool is None:
                return False
            made = [rows.write_row(connection, self._namespace, pool, place, task_id, task_path, one) for one in writes]
            if made:
                statement.run(connection, *made)
            return True

        return self._database.write(job)

    @rereads
    def get(self, thread_id: str, checkpoint_ns: str, checkpoint_id: str | None = None) -> Stored | None:
        """Load a checkpoint with its content and writes; without an id the newest.

        Raises:
            CorruptError: a part of it can't be read.
        """
        with self._database.read() as connection:
            pool = rows.find_pool(connection, self._namespace, thread_id)
            if pool is None:
                return None
            if checkpoint_id is None:
                newest = self._newest(thread_id, checkpoint_ns)
                found = connection.execute(newest).one_or_none()
            else:
                place = Place(thread_id=thread_id, checkpoint_ns=checkpoint_ns, checkpoint_id=checkpoint_id)
                found = connection.execute(self._one(place)).one_or_none()
            return None if found is None else self._stored(connection, pool, found)

    def outlines(
        self,
        thread_id: str | None = None,
        checkpoint_ns: str | None = None,
        checkpoint_id: str | None = None,
        before: str | None = None,
    ) -> Iterator[Outline]:
        """Give checkpoints, the newest first, page by page; nothing is held while the caller does something else.

        Args:
            thread_id: only of this thread.
            checkpoint_ns: only of this namespace of it.
            checkpoint_id: only this one.
            before: only those whose ids are smaller.
        """
        wanted = [CHECKPOINT.c.namespace == self._namespace, CHECKPOINT.c.hidden == 0]
        for column, value in (("thread_id", thread_id), ("checkpoint_ns", checkpoint_ns), ("checkpoint_id", checkpoint_id)):
            if value is not None:
                wanted.append(CHECKPOINT.c[column] == value)
        if before is not None:
            wanted.append(CHECKPOINT.c.checkpoint_id < before)
        last: Place | None = None
        while True:
            page = self._page(wanted if last is None else [*wanted, *_after(last)])
            yield from page
            if len(page) < _PAGE:
                return
            last = page[-1].place

    def delete_thread(self, thread_id: str) -> None:
        """Remove all checkpoints and writes of a thread, and the parts that no copy of it uses."""

        def job(connection: Connection) -> None:
            pool = self._locked_pool(connection, thread_id)
            if pool is None:
                return
            for table in (CHECKPOINT, WRITE, POOL):
                connection.execute(delete(table).where(table.c.namespace == self._namespace, table.c.thread_id == thread_id))
            self._sweep(connection, pool)

        self._database.write(job)

    def copy_thread(self, source: str, target: str) -> None:
        """Copy all checkpoints and writes of a thread; content is shared, and each can be changed and removed without the other.

        Raises:
            ExistsError: the target has checkpoints.
        """

        def job(connection: Connection) -> None:
            pool = rows.hold_pool(connection, self._namespace, source)
            if pool is None:
                return
            if not rows.begin_pool(connection, self._namespace, target, pool):
                raise ExistsError(f"the thread {target!r} has checkpoints", hint="copy to a new thread, or delete it first")
            for table in (CHECKPOINT, WRITE):
                columns = [column for column in table.c if column.name != "thread_id"]
                found = select(literal(target), *columns).where(table.c.namespace == self._namespace, table.c.thread_id == source)
                connection.execute(insert(table).from_select(["thread_id", *(column.name for column in columns)], found))

        self._database.write(job)

    def thin(self, thread_id: str, choose: Choice) -> None:
        """Remove some checkpoints of a thread with their writes, hide others, and remove the parts nothing refers to any more."""

        def job(connection: Connection) -> None:
            pool = self._locked_pool(connection, thread_id)
            if pool is None:
                return
            found = connection.execute(rows.OUTLINES.where(*self._of_thread(CHECKPOINT, thread_id)))
            removed, hidden = choose([rows.outline(connection, self._namespace, pool, row) for row in found.all()])
            for place in sorted(hidden, key=_order):
                connection.execute(update(CHECKPOINT).where(*self._at(CHECKPOINT, place)).values(hidden=1))
            for place in sorted(removed, key=_order):
                for table in (CHECKPOINT, WRITE):
                    connection.execute(delete(table).where(*self._at(table, place)))
            if removed:
                self._sweep(connection, pool)

        self._database.write(job)

    @rereads
    def threads_of_run(self, run: bytes) -> list[str]:
        """Give the threads that have checkpoints of a run."""
        wanted = select(CHECKPOINT.c.thread_id).where(CHECKPOINT.c.namespace == self._namespace, CHECKPOINT.c.run == run)
        with self._database.read() as connection:
            return sorted(connection.execute(wanted.distinct()).scalars())

    def _admitted(self, connection: Connection, thread_id: str, gathered: Gathered) -> int | None:
        """Hold the thread's pool and store the parts; None if one that was relied on is not there."""
        pool = rows.hold_pool(connection, self._namespace, thread_id)
        if pool is None:
            rows.begin_pool(connection, self._namespace, thread_id, _POOLS.getrandbits(62))
            pool = rows.hold_pool(connection, self._namespace, thread_id)
        if pool is None:
            return None
        if gathered.relied and (
            pool != gathered.pool or absent_parts(connection, self._namespace, pool, gathered.relied - gathered.parts.keys())
        ):
            return None
        insert_parts(connection, self._namespace, pool, gathered.parts)
        return pool

    @rereads
    def _page(self, wanted: list[Any]) -> list[Outline]:
        order = (CHECKPOINT.c.checkpoint_id.desc(), CHECKPOINT.c.thread_id.desc(), CHECKPOINT.c.checkpoint_ns.desc())
        with self._database.read() as connection:
            found = connection.execute(rows.OUTLINES.where(*wanted).order_by(*order).limit(_PAGE)).all()
            pools: dict[str, int | None] = {}
            for thread_id in {row.thread_id for row in found}:
                pools[thread_id] = rows.find_pool(connection, self._namespace, thread_id)
            return [rows.outline(connection, self._namespace, pools[row.thread_id] or 0, row) for row in found]

    def _stored(self, connection: Connection, pool: int, found: Any) -> Stored:
        outline = rows.outline(connection, self._namespace, pool, found)
        place = outline.place
        writes: list[StoredWrite] = []
        order = (WRITE.c.task_path, WRITE.c.task_id, WRITE.c.idx)
        for row in connection.execute(rows.WRITES.where(*self._at(WRITE, place)).order_by(*order)):
            channel, value = pieces(rows.write_body(connection, self._namespace, pool, place, row))
            writes.append(StoredWrite(task_id=row.task_id, channel=channel, value=value))
        roots = [*pieces(outline.channels), *(item for one in writes for item in (one.channel, one.value))]
        addresses = {digest for item in roots for digest in refers_to(item)}
        return Stored(
            place=place,
            parent=outline.parent,
            body=rows.opened(connection, self._namespace, pool, place, "body", found.body),
            channels=outline.channels,
            facts=outline.facts,
            writes=tuple(writes),
            parts=load_parts(connection, self._namespace, pool, addresses),
        )

    def _locked_pool(self, connection: Connection, thread_id: str) -> int | None:
        """Lock the pool of a thread, so that nobody puts anything that refers to it before this transaction ends."""
        pool = rows.find_pool(connection, self._namespace, thread_id)
        if pool is not None:
            rows.lock_pool(connection, self._namespace, pool)
            pool = rows.find_pool(connection, self._namespace, thread_id)
        return pool

    def _sweep(self, connection: Connection, pool: int) -> None:
        users = rows.threads_of_pool(connection, self._namespace, pool)
        if not users:
            drop_pool(connection, self._namespace, pool)
            return
        sweep_parts(connection, self._namespace, pool, self._roots(connection, pool, users))

    def _roots(self, connection: Connection, pool: int, users: Sequence[str]) -> set[bytes]:
        found: set[bytes] = set()
        for thread_id in users:
            for row in connection.execute(rows.OUTLINES.where(*self._of_thread(CHECKPOINT, thread_id))):
                for item in pieces(rows.outline(connection, self._namespace, pool, row).channels):
                    found.update(refers_to(item))
            for row in connection.execute(rows.WRITES.where(*self._of_thread(WRITE, thread_id))):
                place = Place(thread_id=thread_id, checkpoint_ns=row.checkpoint_ns, checkpoint_id=row.checkpoint_id)
                for item in pieces(rows.write_body(connection, self._namespace, pool, place, row)):
                    found.update(refers_to(item))
        return found

    def _newest(self, thread_id: str, checkpoint_ns: str) -> Any:
        wanted = (*self._of_thread(CHECKPOINT, thread_id), CHECKPOINT.c.checkpoint_ns == checkpoint_ns, CHECKPOINT.c.hidden == 0)
        return rows.CHECKPOINTS.where(*wanted).order_by(CHECKPOINT.c.checkpoint_id.desc()).limit(1)

    def _one(self, place: Place) -> Any:
        return rows.CHECKPOINTS.where(*self._at(CHECKPOINT, place))

    def _of_thread(self, table: Any, thread_id: str) -> tuple[Any, ...]:
        return table.c.namespace == self._namespace, table.c.thread_id == thread_id

    def _at(self, table: Any, place: Place) -> tuple[Any, ...]:
        named = (table.c.checkpoint_ns == place.checkpoint_ns, table.c.checkpoint_id == place.checkpoint_id)
        return (*self._of_thread(table, place.thread_id), *named)


def _order(place: Place) -> tuple[str, str]:
    return place.checkpoint_ns, place.checkpoint_id


def _after(last: Place) -> list[Any]:
    column = CHECKPOINT.c
    same_thread = and_(column.thread_id == last.thread_id, column.checkpoint_ns < last.checkpoint_ns)
    same_id = and_(column.checkpoint_id == last.checkpoint_id, or_(column.thread_id < last.thread_id, same_thread))
    return [column.checkpoint_id <= last.checkpoint_id, or_(column.checkpoint_id < last.checkpoint_id, same_id)]
