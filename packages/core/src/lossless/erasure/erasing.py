"""Erasing: messages are forgotten in every thread that has them, in one transaction.

What is aimed at is the message, not its content: an independent message that says the same stays. A crash leaves all of it or
none; the bytes in free pages, logs and old index segments are purged afterwards.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text

from lossless.checkpoints.erasing import erase_from_checkpoints
from lossless.dag.editing import Remake
from lossless.dag.heads import no_thread
from lossless.dag.lineage import find_key
from lossless.dag.view import ViewStore
from lossless.erasure.family import lock_family, rows_of
from lossless.erasure.forgetting import forget, not_erased
from lossless.erasure.leftovers import remove_blobs, remove_nodes, remove_summaries
from lossless.erasure.parts import lock_parts, rows_of_parts
from lossless.erasure.reopening import Reopening, summaries_over
from lossless.messages import Format
from lossless.store.erasures import Tombstone, removing, tombstones
from lossless.store.keys import ThreadKey
from lossless.store.namespaces import read_secret

__all__ = ["Eraser", "who_am_i"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Eraser:
    """Erases messages of a namespace.

    Attributes:
        formats: gives the readers of formats, for call ids and search tokens.
        remaker: gives what makes a leaf of a thread again without a model.
    """

    views: ViewStore
    formats: Callable[[], Mapping[str, Format]]
    remaker: Callable[[ThreadKey], Remake]

    def erase(
        self,
        connection: Connection,
        namespace: str,
        thread_id: str,
        ids: Collection[str] | None,
        *,
        reason: str,
        who: str,
        now: int,
    ) -> tuple[list[Tombstone], tuple[str, ...]]:
        """Erase messages, inside a write transaction; give what is left of them, and the threads that had one of them.

        Args:
            connection: a connection in a write transaction.
            namespace: the tenant.
            thread_id: the thread.
            ids: of its messages; None: all of them, those that it has from the thread it was branched from among them.
            reason: recorded with the erasure.
            who: recorded likewise.
            now: the time, in microseconds.

        Raises:
            NotFoundError: the thread or one of the messages is not there; then nothing is erased.
        """
        key = find_key(connection, namespace, thread_id, whole=True)
        if key is None:
            raise no_thread(thread_id)
        if connection.dialect.name == "sqlite":
            connection.execute(text("PRAGMA secure_delete = ON"))
        with removing(connection, namespace, "erase", thread_id=thread_id, who=who, reason=reason, now=now) as erasure:
            family = lock_family(connection, key)
            targets = rows_of(connection, key, ids, family)
            beside = lock_parts(connection, namespace, family)
            family |= beside
            targets |= rows_of_parts(connection, namespace, beside, targets, whole=() if ids is not None else [key.thread_id])
            # A summary of what is left of an erased message tells nothing of it, and stays.
            affected = summaries_over(connection, namespace, family, not_erased(connection, namespace, targets))
            freed = forget(connection, namespace, targets, self.formats, erasure, reason=reason, now=now)
            showing = [other for other in family.values() if any(other.owner(each.seq) == each.thread_id for each in targets)]
            reopening = Reopening(connection, family, affected, self.remaker, self.views, now)
            reopening.begin()
            spans = remove_summaries(connection, namespace, affected)
            if freed:
                for other in showing:
                    reopening.swing_head(other)
            reopening.replace_views()
            erase_from_checkpoints(connection, namespace, family, freed, read_secret(connection, namespace) or b"")
            remove_nodes(connection, namespace, reopening.left, spans)
            remove_blobs(connection, namespace, freed)
        if connection.dialect.name == "sqlite":
            connection.execute(text("PRAGMA secure_delete = OFF"))
        left = [
            tombstone
            for name in sorted({target.thread_id for target in targets})
            for tombstone in tombstones(
                connection, ThreadKey(namespace, name), [each.seq for each in targets if each.thread_id == name]
            )
        ]
        return left, tuple(sorted(other.thread_id for other in showing))


def who_am_i() -> str:
    """Give the name of the user that this process runs as; empty where it has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
