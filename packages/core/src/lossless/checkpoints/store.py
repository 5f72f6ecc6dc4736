"""Checkpoints in the database: putting, reading, listing, copying, removing."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, select

from lossless.checkpoints import rows
from lossless.checkpoints.items import pieces
from lossless.checkpoints.lines import (
    Line,
    begin_line,
    copy_line,
    find_line,
    hold_line,
    lock_line,
    users_of,
)
from lossless.checkpoints.model import (
    CheckpointDraft,
    Gathered,
    Outline,
    Place,
    Stored,
    StoredWrite,
    Thinned,
    Within,
    WriteDraft,
)
from lossless.checkpoints.parts import absent_parts, insert_parts, load_parts
from lossless.checkpoints.reading import (
    newest_row,
    outlines_of_all,
    outlines_of_line,
    row_at,
    write_keys,
    writes_at,
)
from lossless.checkpoints.removal import Choice, remove_line, thin_line
from lossless.checkpoints.rows import CHECKPOINT, POOL
from lossless.checkpoints.sharing import share_messages
from lossless.store.database import Database
from lossless.store.digests import address, blob_digest
from lossless.store.namespaces import Secrets
from lossless.store.rereading import rereads
from lossless.store.statements import batched

__all__ = ["CheckpointStore", "Walk"]

_PAGE = 64


class Walk(Protocol):
    """Goes back from a checkpoint to those it came from."""

    def step(self, outline: Outline, writes: Sequence[StoredWrite]) -> tuple[list[bytes], bool]:
        """Give the items that are needed of a checkpoint and its writes, and whether to go further back."""


W = TypeVar("W", bound=Walk)


class CheckpointStore:
    """The checkpoints of one namespace, for any number of threads. Nothing it gives has to be closed."""

    def __init__(self, database: Database, secrets: Secrets, namespace: str) -> None:
        self._database = database
        self._secrets = secrets
        self._namespace = namespace

    def addresses(self) -> Callable[[bytes], bytes]:
        """Give what gives the address of content."""
        secret = self._secrets.make(self._namespace)
        return lambda identity: address(secret, identity)

    def digests(self) -> Callable[[bytes], bytes]:
        """Give what gives the digest of a message's payload."""
        secret = self._secrets.make(self._namespace)
        return lambda payload: blob_digest(secret, payload)

    @rereads
    def pool_of(self, thread_id: str) -> int | None:
        """Give the pool of a thread's parts; None if it has no checkpoints."""
        with self._database.read() as connection:
            line = find_line(connection, self._namespace, thread_id)
            return None if line is None else line.pool

    @rereads
    def outline(self, place: Place) -> Outline | None:
        """Give a checkpoint without its content."""
        with self._database.read() as connection:
            line = find_line(connection, self._namespace, place.thread_id)
            found = None if line is None else row_at(connection, self._namespace, line, place)
            return None if line is None or found is None else self._outline(connection, line, found)

    def put(self, draft: CheckpointDraft, gathered: Gathered, within: Within | None = None) -> bool:
        """Store a checkpoint, in the place of one of the same id; give whether it is stored.

        If it is not, a part that was taken to be stored is not (any more): gather all, and put again.

        Args:
            draft: the checkpoint.
            gathered: its parts.
            within: what is done in the same transaction.
        """

        def job(connection: Connection) -> bool:
            if within is not None:
                within.begin(connection)
            line = self._admitted(connection, draft.place.thread_id, gathered, within)
            if line is None:
                return False
            pair = within.finish(connection, line, draft) if within is not None else None
            rows.UPSERT.run(connection, rows.checkpoint_row(connection, self._namespace, line.pool, line.own, draft, pair))
            return True

        return self._database.write(job)

    def put_writes(
        self,
        place: Place,
        task_id: str,
        task_path: str,
        writes: Sequence[WriteDraft],
        gathered: Gathered,
        *,
        replace: bool,
        check: Callable[[Connection], None] = lambda _connection: None,
    ) -> bool:
        """Store what a task wrote; the result as :meth:`put`.

        Args:
            place: the checkpoint that it was written after; it need not be stored yet.
            task_id: the task.
            task_path: the task's path, which orders writes.
            writes: the writes.
            gathered: their parts.
            replace: whether those stored under the same index are replaced, rather than left.
            check: called in the transaction, before anything is stored.
        """
        statement = rows.REPLACE_WRITES if replace else rows.ADD_WRITES

        def job(connection: Connection) -> bool:
            check(connection)
            line = self._admitted(connection, place.thread_id, gathered)
            if line is None:
                return False
            held = set() if replace else write_keys(connection, self._namespace, line.strands[1:], place, task_id)
            where = (self._namespace, line.pool, line.own, place, task_id, task_path)
            made = [rows.write_row(connection, *where, one) for one in writes if one.idx not in held]
            if made:
                statement.run(connection, *made)
            return True

        return self._database.write(job)

    @rereads
    def get(
        self, thread_id: str, checkpoint_ns: str, checkpoint_id: str | None = None, held: Container[bytes] = ()
    ) -> Stored | None:
        """Load a checkpoint with its content and writes; without an id the newest. Parts that are held are left out.

        Raises:
            CorruptError: a part of it can't be read.
        """
        with self._database.read() as connection:
            line = find_line(connection, self._namespace, thread_id)
            if line is None:
                return None
            if checkpoint_id is None:
                found = newest_row(connection, self._namespace, line, checkpoint_ns)
            else:
                place = Place(thread_id=thread_id, checkpoint_ns=checkpoint_ns, checkpoint_id=checkpoint_id)
                found = row_at(connection, self._namespace, line, place)
            return None if found is None else self._stored(connection, line, found, held)

    @rereads
    def ancestors(
        self, thread_id: str, checkpoint_ns: str, checkpoint_id: str | None, begin: Callable[[], W]
    ) -> tuple[W, dict[bytes, bytes]]:
        """Go back from a checkpoint, or without an id from the newest: from parent to parent, as far as is wanted.

        Args:
            thread_id: the thread.
            checkpoint_ns: the namespace.
            checkpoint_id: the checkpoint, which is not itself stepped on.
            begin: begins a walk; it may be called again if the connection is lost.

        Returns:
            The walk, and all parts of the items that its steps gave.
        """
        walk, items = begin(), list[bytes]()
        with self._database.read() as connection:
            line = find_line(connection, self._namespace, thread_id)
            if line is None:
                return walk, {}
            place: Place | None = None
            if checkpoint_id is None:
                row = newest_row(connection, self._namespace, line, checkpoint_ns)
            else:
                place = Place(thread_id=thread_id, checkpoint_ns=checkpoint_ns, checkpoint_id=checkpoint_id)
                row = row_at(connection, self._namespace, line, place)
            more, seen = True, set[str]()
            while more and row is not None and row.parent is not None:
                seen.add(row.checkpoint_id)
                if row.parent in seen:
                    break  # one that was put again after itself is its own parent
                place = Place(thread_id=thread_id, checkpoint_ns=checkpoint_ns, checkpoint_id=row.parent)
                row = row_at(connection, self._namespace, line, place)
                if row is not None:
                    needed, more = walk.step(self._outline(connection, line, row), self._writes(connection, line, place))
                    items += needed
            return walk, load_parts(connection, self._namespace, line.pool, items)

    def outlines(
        self,
        thread_id: str | None = None,
        checkpoint_ns: str | None = None,
        checkpoint_id: str | None = None,
        before: str | None = None,
        *,
        most: int = _PAGE,
    ) -> Iterator[Outline]:
        """Give checkpoints, the newest first, page by page; nothing is held while the caller does something else.

        Args:
            thread_id: only of this thread.
            checkpoint_ns: only of this namespace of it.
            checkpoint_id: only this one.
            before: only those whose ids are smaller.
            most: how many are read at once.
        """
        wanted, last, more = (checkpoint_ns, checkpoint_id, before), None, True
        while more:
            page, more = self._page(thread_id, wanted, last, most)
            yield from page
            last = page[-1].place if page else None

    def delete_thread(self, thread_id: str) -> None:
        """Remove all checkpoints and writes of a thread, and the parts that no copy of it uses."""

        def job(connection: Connection) -> None:
            line = lock_line(connection, self._namespace, thread_id)
            if line is not None:
                remove_line(connection, self._namespace, line)

        self._database.write(job)

    def copy_thread(self, source: str, target: str, first: Callable[[Connection], None] = lambda _connection: None) -> None:
        """Let a thread begin with all checkpoints and writes of another; then each is changed and removed without the other.

        It takes the same time, and the same few rows, however many there are.

        Args:
            source: the thread.
            target: the copy.
            first: called in the transaction, before anything is locked.

        Raises:
            ExistsError: the target has checkpoints.
        """

        def job(connection: Connection) -> None:
            first(connection)
            copy_line(connection, self._namespace, source, target)

        self._database.write(job)

    def thin(self, thread_id: str, choose: Choice, *, dry_run: bool = False) -> Thinned:
        """Remove some checkpoints of a thread with their writes, hide others, and remove the parts nothing refers to any more.

        Args:
            thread_id: the thread.
            choose: says which.
            dry_run: do it all, count it, and take it back.
        """

        def job(connection: Connection) -> Thinned:
            line = lock_line(connection, self._namespace, thread_id)
            found = Thinned() if line is None else thin_line(connection, self._namespace, line, choose)
            if dry_run:
                raise _TakenBack(found)
            return found

        try:
            return self._database.write(job)
        except _TakenBack as counted:
            return counted.found

    @rereads
    def threads(self) -> list[str]:
        """Give all threads that have checkpoints or writes."""
        with self._database.read() as connection:
            return sorted(connection.execute(select(POOL.c.thread_id).where(POOL.c.namespace == self._namespace)).scalars())

    @rereads
    def threads_of_run(self, run: bytes) -> list[str]:
        """Give the threads that have checkpoints of a run."""
        wanted = select(CHECKPOINT.c.strand).where(CHECKPOINT.c.namespace == self._namespace, CHECKPOINT.c.run == run)
        with self._database.read() as connection:
            strands = connection.execute(wanted.distinct()).scalars().all()
            return [line.thread_id for line in users_of(connection, self._namespace, strands)]

    def _admitted(self, connection: Connection, thread_id: str, gathered: Gathered, within: Within | None = None) -> Line | None:
        """Hold the thread's line and store the parts; None if one that was relied on is not there."""
        line = hold_line(connection, self._namespace, thread_id) or begin_line(connection, self._namespace, thread_id)
        if line is None:
            return None
        seen = within.seen(connection, line) if within is not None else {}
        sure = self._sure(connection, line, gathered, seen)
        relied, shared = gathered.relied - sure, gathered.shared - sure
        if gathered.relied and line.pool != gathered.pool:
            return None
        if relied and absent_parts(connection, self._namespace, line.pool, relied):
            return None
        with batched(connection) if shared else nullcontext():
            if shared and not share_messages(connection, self._namespace, line.pool, shared, gathered.messages):
                return None
            insert_parts(connection, self._namespace, line.pool, gathered.parts)
        return line

    def _sure(self, connection: Connection, line: Line, gathered: Gathered, seen: Mapping[str, bytes]) -> frozenset[bytes]:
        """Give what is there for sure: all that a checkpoint is made of that is stored as it was when it was put.

        Nobody removes a checkpoint, or what one is made of, while the line is held.
        """
        vouched = gathered.vouched
        if vouched is None or vouched.digests.isdisjoint(gathered.relied | gathered.shared):
            return frozenset()
        channels = seen.get(vouched.place.checkpoint_id)
        if channels is None:
            row = row_at(connection, self._namespace, line, vouched.place)
            place = vouched.place
            channels = row and rows.opened(connection, self._namespace, line.pool, place, "channels", row.channels)
        return vouched.digests if channels == vouched.channels else frozenset()

    @rereads
    def _page(
        self, thread_id: str | None, wanted: tuple[str | None, str | None, str | None], last: Place | None, most: int
    ) -> tuple[list[Outline], bool]:
        with self._database.read() as connection:
            if thread_id is None:
                id = None if last is None else last.checkpoint_id
                return outlines_of_all(connection, self._namespace, wanted, id, most)
            line = find_line(connection, self._namespace, thread_id)
            return ([], False) if line is None else outlines_of_line(connection, self._namespace, line, wanted, last, most)

    def _outline(self, connection: Connection, line: Line, row: Any) -> Outline:
        return rows.outline(connection, self._namespace, line.pool, line.thread_id, row)

    def _stored(self, connection: Connection, line: Line, found: Any, held: Container[bytes]) -> Stored:
        outline = self._outline(connection, line, found)
        place = outline.place
        writes = self._writes(connection, line, place)
        roots = [*pieces(outline.channels), *(item for one in writes for item in (one.channel, one.value))]
        return Stored(
            place=place,
            parent=outline.parent,
            body=rows.opened(connection, self._namespace, line.pool, place, "body", found.body),
            channels=outline.channels,
            facts=outline.facts,
            writes=tuple(writes),
            parts=load_parts(connection, self._namespace, line.pool, roots, held),
        )

    def _writes(self, connection: Connection, line: Line, place: Place) -> list[StoredWrite]:
        writes: list[StoredWrite] = []
        for row in writes_at(connection, self._namespace, line, place):
            channel, value = pieces(rows.write_body(connection, self._namespace, line.pool, place, row))
            writes.append(StoredWrite(task_id=row.task_id, channel=channel, value=value))
        return writes


class _TakenBack(Exception):
    """Takes back what a job has done, with what it has counted."""

    def __init__(self, found: Thinned) -> None:
        super().__init__("taken back")
        self.found = found
