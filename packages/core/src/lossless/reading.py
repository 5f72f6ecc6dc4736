"""Looking into a thread: search it, expand it, describe what is in it. The half of a handle that changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lossless.dag.describing import describe, expand
from lossless.dag.heads import read_head
from lossless.dag.history import ViewRecord, view_records
from lossless.messages import Message, MessageRef
from lossless.store.keys import ThreadKey
from lossless.store.pages import Page
from lossless.store.rereading import rereads
from lossless.store.search import Hit, Mode
from lossless.store.shown import shown_messages
from lossless.twins import async_twin
from lossless.versions.exporting import exported
from lossless.versions.snapshots import Snapshot, describe_snapshot, find_snapshot, list_snapshots

if TYPE_CHECKING:
    from lossless.engine import Engine

__all__ = ["Reading"]


class Reading:
    """What a ``Thread`` looks into itself with."""

    _engine: Engine
    _id: str

    @property
    def _key(self) -> ThreadKey:
        return self._engine.key_of(self._id)

    def grep(
        self,
        pattern: str,
        *,
        mode: Mode = "exact",
        regex: bool = False,
        role: str | Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        tool: str | Iterable[str] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Hit]:
        """Search this thread; see ``Engine.grep``."""
        filters: dict[str, Any] = {"role": role, "since": since, "until": until, "tool": tool}
        return self._engine.grep(pattern, thread=self._id, mode=mode, regex=regex, limit=limit, cursor=cursor, **filters)

    @rereads
    def count(self) -> int:
        """Count the messages that ``messages()`` gives, without reading them; 0 for a thread that is not there."""
        engine, key = self._engine, self._key
        with engine.database.read() as connection:
            head = read_head(connection, key)
            return 0 if head is None else engine.views.load(connection, key.namespace, head.view).messages(head.next_seq)

    @rereads
    def refs(self) -> list[MessageRef]:
        """Give ids and seqs of the messages that ``messages()`` gives, in its order, without reading them."""
        engine, key = self._engine, self._key
        with engine.database.read() as connection:
            head = read_head(connection, key)
            if head is None:
                return []
            view = engine.views.load(connection, key.namespace, head.view)
            shown = shown_messages(connection, key, [(gone.start, gone.stop) for gone in view.hidden()])
        return [MessageRef(each.id, each.seq) for each in shown]

    @rereads
    def expand(self, id: str, *, sources_only: bool = False, offset: int = 0, limit: int | None = None) -> list[Message]:
        """Give the messages under a summary, or behind a message's id, verbatim and in order.

        Args:
            id: of a summary, or of a message.
            sources_only: only what users said and tools answered, without what the assistant concluded.
            offset: how many messages to leave out at the start; pages have neither gaps nor overlaps.
            limit: how many messages to give at the most; None: all.

        Raises:
            NotFoundError: there is no such id in this thread.
        """
        engine, key = self._engine, self._key
        with engine.database.read() as connection:
            return expand(connection, key, engine.reader, id, sources_only=sources_only, offset=offset, limit=limit)

    @rereads
    def describe(self, id: str) -> dict[str, Any]:
        """Describe a summary, a message or a snapshot: kind, tokens, sources, parents, depth, completeness and more.

        Args:
            id: of any of them, or a snapshot's name.

        Raises:
            NotFoundError: there is no such id in this thread.
        """
        engine, key = self._engine, self._key
        with engine.database.read() as connection:
            snapshot = find_snapshot(connection, key, id)
            if snapshot is not None:
                return describe_snapshot(snapshot)
            return describe(connection, key, engine.reader, id)

    @rereads
    def snapshots(self) -> list[Snapshot]:
        """Give the thread's snapshots, the newest first."""
        engine, key = self._engine, self._key
        with engine.database.read() as connection:
            return list_snapshots(connection, key)

    @rereads
    def views(self, limit: int | None = None, *, diff: bool = False) -> list[ViewRecord]:
        """Give the views that the thread had, newest first: when and why each was swung in.

        Args:
            limit: how many to give at the most.
            diff: whether each says what it changed, too.
        """
        engine, key = self._engine, self._key
        with engine.database.read() as connection:
            return view_records(connection, key, limit=limit, views=engine.views if diff else None)

    @rereads
    def export(self, deleted: bool = False) -> list[bytes]:
        """Give the payloads of the messages, in the view's order, each as one line of JSON, byte for byte as it was stored.

        Lone surrogates are written as escapes, so that each line is UTF-8. Values that JSON has no word for are written as
        ``{"$lossless": …}``; importing them gives the same values back.

        Args:
            deleted: whether those that were deleted from the view or replaced are given too.
        """
        engine = self._engine
        return list(exported(engine.database, self._key, engine.views, engine.reader, deleted=deleted))

    # The same, async

    agrep = async_twin(grep)
    aexpand = async_twin(expand)
    adescribe = async_twin(describe)
    acount = async_twin(count)
    aexport = async_twin(export)
    arefs = async_twin(refs)
    asnapshots = async_twin(snapshots)
    aviews = async_twin(views)
