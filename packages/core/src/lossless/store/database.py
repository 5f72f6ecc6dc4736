"""The contract of an open database. What differs between databases stays behind it, in one module for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL

from lossless.store.vault import Vault

__all__ = ["BUSY_TIMEOUT_SECONDS", "Database", "Durability"]

Durability = Literal["full", "normal"]
T = TypeVar("T")

BUSY_TIMEOUT_SECONDS = 30
"""How long a writer waits for another one before it gives up."""


class Database(ABC):
    """One open database, to be used by any number of threads, and by a forked child on connections of its own."""

    url: URL
    vault: Vault
    schema_before: str | None = None
    """The schema that the database had when it was opened; None: it was made."""
    _engine: Engine
    on_read: Callable[[Connection], object] | None = None
    """Called at the start of each reading transaction."""

    @abstractmethod
    def read(self) -> AbstractContextManager[Connection]:
        """Give a connection that sees one unchanging state of the database."""

    @abstractmethod
    def write(self, job: Callable[[Connection], T]) -> T:
        """Run a job in a write transaction and return once it is committed.

        A job that raises leaves nothing behind and does not harm others. A job may run twice, but what it wrote is stored once:
        it runs again only when it is sure that nothing of the run before is left.

        Raises:
            StoreBusyError: others held what the job needs for longer than the busy timeout.
        """

    def _announced(self, connection: Connection) -> Connection:
        """Tell whoever wants to know that a reading transaction has begun."""
        if self.on_read is not None:
            self.on_read(connection)
        return connection

    @abstractmethod
    def purge(self, *, at_any_size: bool) -> tuple[str, ...]:
        """Remove from the files what removed rows left in them, and say in words what of it is left to do.

        Args:
            at_any_size: otherwise a large database is left for later: its files are written anew.
        """

    @abstractmethod
    def close(self) -> None:
        """Close every connection. Idempotent."""
