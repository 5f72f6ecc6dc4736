"""What an engine can remove: messages for good, threads from lists and views, rows that nothing refers to any more."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from lossless.dag.parts import parts_of
from lossless.erasure.collecting import Garbage, find_garbage, keep_writers_out, remove_garbage
from lossless.erasure.deleting import delete_thread
from lossless.erasure.erasing import Eraser, who_am_i
from lossless.erasure.model import Collected, Erasure, Removal, Retention
from lossless.erasure.records import list_removals
from lossless.erasure.retaining import expired, needed_by, still_expired
from lossless.errors import ConfigError, LosslessError, StoreError
from lossless.hooks import Plugins
from lossless.store import times
from lossless.store.erasures import Tombstone, is_pending, mark_purged, note_epoch, read_epoch, removing, tombstones
from lossless.store.keys import ThreadKey
from lossless.twins import async_twin

if TYPE_CHECKING:
    from lossless.context.builder import ContextBuilder
    from lossless.dag.editing import Remake
    from lossless.dag.view import ViewStore
    from lossless.store.connection import Database
    from lossless.store.read import MessageReader
    from lossless.store.recent import Recent

__all__ = ["Removals"]

_log = logging.getLogger("lossless")
_LATER = "the bytes are removed from the files when the engine is closed, or by purge()"


class Removals:
    """The part of an engine that removes."""

    namespace: str
    database: Database
    views: ViewStore
    reader: MessageReader
    builder: ContextBuilder
    plugins: Plugins
    remaker: Callable[[ThreadKey], Remake]
    key_of: Callable[[str], ThreadKey]
    _keys: Recent[str, ThreadKey]
    _epoch: int
    _purge_owed: bool

    def erase(
        self,
        thread_id: str,
        message_ids: str | Sequence[str] | None = None,
        reason: str = "requested",
        *,
        by: str | None = None,
        purge: bool = True,
    ) -> Erasure:
        """Erase messages for good: in every thread, view, snapshot, summary and index entry that has something of them.

        An independent message that says the same stays. Tool calls and their results keep their ids, so that contexts stay
        valid. Copies elsewhere, backups above all, are out of reach.

        Args:
            thread_id: the thread.
            message_ids: of its messages; None: all of them, those that it has from the thread it was branched from among them.
            reason: recorded with the erasure, and in each tombstone.
            by: who asked for it; None: the user that this process runs as.
            purge: whether the bytes are removed from the files at once; otherwise when the engine is closed, or by ``purge()``.

        Returns:
            A tombstone for each message, and what is left to do in the files.

        Raises:
            NotFoundError: the thread or one of the messages is not there; then nothing is erased.
        """
        ids = [message_ids] if isinstance(message_ids, str) else message_ids
        who = who_am_i() if by is None else by
        eraser = Eraser(views=self.views, formats=lambda: self.plugins.formats, remaker=self.remaker)

        def job(connection: Connection) -> tuple[list[Tombstone], tuple[str, ...]]:
            return eraser.erase(connection, self.namespace, thread_id, ids, reason=reason, who=who, now=times.now())

        left, threads = self.database.write(job)
        self._forget()
        self._purge_owed = True
        pending = self._purge_if_possible() if purge else (_LATER,)
        self.plugins.event("erased", thread_id=thread_id, messages=len(left), threads=list(threads), pending=list(pending))
        return Erasure(tombstones=tuple(left), threads=threads, pending=pending)

    def delete_thread(self, thread_id: str, *, reason: str = "requested", by: str | None = None) -> None:
        """Delete a thread, its parts and snapshots: it goes out of lists, views and search. Branches of it live on.

        Its messages stay in the store, for branches, until ``collect_garbage()`` finds that nothing needs them; ``erase`` removes
        them for good, before and after. An append to its id begins it again: seqs go on, and nothing from before is in it.

        Args:
            thread_id: the thread.
            reason: recorded with the deletion.
            by: who asked for it; None: the user that this process runs as.

        Raises:
            NotFoundError: there is no such thread.
        """
        who = who_am_i() if by is None else by

        def job(connection: Connection) -> None:
            for each in (thread_id, *parts_of(connection, self.namespace, [thread_id])):
                delete_thread(connection, self.namespace, each, self.views, who=who, reason=reason, now=times.now())

        self.database.write(job)
        self._forget()
        self.plugins.event("thread.deleted", thread_id=thread_id)

    def collect_garbage(self, dry_run: bool = False, *, by: str | None = None) -> Collected:
        """Remove rows that no head, log, snapshot or branch leads to, and deleted threads that no other thread comes from.

        It looks at the whole namespace; writers wait meanwhile. What it removed is purged from the files when the engine is
        closed, or by ``purge()``.

        Args:
            dry_run: only count.
            by: who asked for it; None: the user that this process runs as.
        """
        if dry_run:
            with self.database.read() as connection:
                garbage = find_garbage(connection, self.namespace)
            return Collected(threads=garbage.threads, rows=garbage.rows(), dry_run=True)
        return self._collect(who_am_i() if by is None else by, "collected")

    def retain(
        self,
        thread_ids: Iterable[str] | None = None,
        *,
        older_than: timedelta | datetime | None = None,
        dry_run: bool = False,
        by: str | None = None,
    ) -> Retention:
        """Let threads go: delete them, and remove from the store what no other thread needs of them.

        Args:
            thread_ids: only among these and their parts; None: among all.
            older_than: only those that were last appended to before this moment, or longer ago than this.
            dry_run: only say what would go.
            by: who asked for it; None: the user that this process runs as.

        Raises:
            ConfigError: neither threads nor an age is given: everything would go.
        """
        ids = None if thread_ids is None else list(thread_ids)
        if ids is None and older_than is None:
            raise ConfigError("a retention needs threads or an age", hint="give thread_ids= or older_than=timedelta(days=…)")
        before = None if older_than is None else _moment(older_than)
        who, reason = who_am_i() if by is None else by, "retention"
        with self.database.read() as connection:
            gone = expired(connection, self.namespace, ids, before)
            kept = needed_by(connection, self.namespace, gone)
            if dry_run:
                garbage = find_garbage(connection, self.namespace, gone)
                counted = Collected(threads=garbage.threads, rows=garbage.rows(), dry_run=True)
                return Retention(threads=tuple(gone), kept=kept, collected=counted, dry_run=True)

        def job(connection: Connection) -> list[str]:
            still = still_expired(connection, self.namespace, gone, before)
            for each in still:
                delete_thread(connection, self.namespace, each, self.views, who=who, reason=reason, now=times.now())
            return still

        deleted = self.database.write(job)
        self._forget()
        kept = {each: branch for each, branch in kept.items() if each in deleted}
        return Retention(threads=tuple(deleted), kept=kept, collected=self._collect(who, reason))

    def _collect(self, who: str, reason: str) -> Collected:
        def job(connection: Connection) -> Garbage:
            named: dict[str, Any] = {"thread_id": None, "who": who, "reason": reason, "now": times.now()}
            with removing(connection, self.namespace, "collect", **named) as removal:
                keep_writers_out(connection)
                garbage = find_garbage(connection, self.namespace)
                remove_garbage(connection, self.namespace, garbage, self.plugins.formats)
                removal.rows = sum(garbage.rows().values())
            return garbage

        garbage = self.database.write(job)
        self._forget()
        self._purge_owed = True
        self.plugins.event("collected", rows=garbage.rows(), threads=list(garbage.threads))
        return Collected(threads=garbage.threads, rows=garbage.rows(), pending=(_LATER,))

    def purge(self, *, at_any_size: bool = True) -> tuple[str, ...]:
        """Remove from the files of the database what removed rows left in them; writers wait meanwhile.

        Args:
            at_any_size: otherwise a large database is left for later.

        Returns:
            What is left to do, in words; empty when nothing is.
        """
        with self.database.read() as connection:
            epoch = read_epoch(connection, self.namespace)
            pending = is_pending(connection, self.namespace)
        if not pending:
            self._purge_owed = False
            return ()
        left = self.database.purge(at_any_size=at_any_size)
        if not left:
            now = times.now()
            self.database.write(lambda connection: mark_purged(connection, self.namespace, up_to=epoch, now=now))
            self._purge_owed = False
        return left

    def _purge_if_possible(self) -> tuple[str, ...]:
        try:
            return self.purge(at_any_size=False)
        except StoreError as error:  # the messages are erased, whatever becomes of the files
            return (f"the files could not be written anew: {error.message}",)

    def tombstones(self, thread_id: str) -> list[Tombstone]:
        """Give what is left of a thread's erased messages, in storage order."""
        with self.database.read() as connection:
            return tombstones(connection, self.key_of(thread_id))

    def removals(self, limit: int | None = None) -> list[Removal]:
        """Give the record of removals, newest first: who removed what, why and when, and whether it is gone from the files."""
        with self.database.read() as connection:
            return list_removals(connection, self.namespace, limit=limit)

    aerase = async_twin(erase)
    adelete_thread = async_twin(delete_thread)
    apurge = async_twin(purge)
    acollect_garbage = async_twin(collect_garbage)
    aretain = async_twin(retain)
    atombstones = async_twin(tombstones)
    aremovals = async_twin(removals)

    def _note_epoch(self, connection: Connection) -> None:
        """Begin to read: what was read before a removal is used no longer."""
        if note_epoch(connection, self.namespace) > self._epoch:
            self._epoch = note_epoch(connection, self.namespace)
            self._forget()

    def keep_key(self, key: ThreadKey) -> None:
        """Take the key that a write has found to be a thread's now."""
        self._keys.put(key.thread_id, key)

    def _forget(self) -> None:
        self._keys.clear()
        self.reader.forget()
        self.builder.forget()

    def _pay_purge(self) -> None:
        """Purge what is owed before the database is closed; what can't be done stays recorded as pending."""
        if not self._purge_owed:
            return
        try:
            left = self.purge()
        except LosslessError as error:
            left = (str(error),)
        for what in left:
            _log.warning("purge pending namespace=%s what=%s", self.namespace, what)


def _moment(older_than: timedelta | datetime) -> int:
    """Give the moment that is meant, in microseconds."""
    if isinstance(older_than, timedelta):
        return times.now() - round(older_than.total_seconds() * 1_000_000)
    return times.to_stored(older_than)
