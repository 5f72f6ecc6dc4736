"""Upkeep of a database: verifying it, mending it, backing it up. The half of an engine that an operator works with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lossless.dag.heads import no_thread, read_head
from lossless.integrity.backup import Backup, back_up, restore_backup
from lossless.integrity.doctor import Diagnosis, Doctor
from lossless.integrity.report import Report
from lossless.integrity.verification import verify_namespace
from lossless.store.connection import Database, open_database
from lossless.store.keys import ThreadKey
from lossless.store.rereading import rereads
from lossless.twins import async_twin

if TYPE_CHECKING:
    from lossless.context.budget import Budget
    from lossless.hooks import Plugins
    from lossless.store.cipher import Cipher
    from lossless.store.read import MessageReader
    from lossless.thread import Thread

__all__ = ["Upkeep"]


class Upkeep:
    """What an ``Engine`` looks after its database with."""

    database: Database
    namespace: str
    reader: MessageReader
    plugins: Plugins
    budget: Budget | None
    _cipher: Cipher | None

    if TYPE_CHECKING:

        def thread(self, thread_id: str) -> Thread:
            """See ``Engine``."""

    @rereads
    def verify(self, thread: str | None = None) -> Report:
        """Derive again what can be derived, and say what does not match: messages, counters, views, summaries, the search index.

        Raises:
            NotFoundError: there is no such thread.
        """
        with self.database.read() as connection:
            if thread is not None and read_head(connection, ThreadKey(self.namespace, thread)) is None:
                raise no_thread(thread)
            return verify_namespace(connection, self.namespace, self.reader, self.plugins.formats, thread)

    def doctor(self, dry_run: bool = False) -> Diagnosis:
        """Make again what is derivable and does not match: heads and their counters, views, the search index, degraded summaries.

        What was stored once is never edited: a damaged message is named and left, and so is everything else that remains.

        Args:
            dry_run: only say what would be mended.
        """
        doctor = Doctor(self.database, self.namespace, self.reader, lambda: self.plugins.formats, self._remake_degraded)
        return doctor.run(dry_run=dry_run)

    def backup(self, path: str | Path) -> Backup:
        """Write a backup of the whole database, every namespace, into a new SQLite file while others write, and verify it.

        The file is itself a database that an engine can open. Of an encrypted database it is encrypted, too.

        Raises:
            ExistsError: there is such a file already.
            StoreError: it can't be written.
        """
        return back_up(self.database, Path(path), self.namespace, lambda: self.plugins.formats, self._opened)

    def restore_backup(self, path: str | Path) -> Backup:
        """Put a backup back into this database, which must hold nothing yet, and verify it.

        Raises:
            NotFoundError: there is no such file.
            ExistsError: the database holds threads.
            StoreError: the file is no backup, or it is damaged.
        """
        return restore_backup(Path(path), self.database, self.namespace, lambda: self.plugins.formats, self._opened)

    # The same, async

    averify = async_twin(verify)
    adoctor = async_twin(doctor)
    abackup = async_twin(backup)
    arestore_backup = async_twin(restore_backup)

    def _opened(self, path: str, create: bool) -> Database:
        return open_database(f"sqlite:///{path}", create=create, cipher=self._cipher)

    def _remake_degraded(self, thread_id: str) -> None:
        if self.budget is not None:
            self.thread(thread_id).compact(force=True)
