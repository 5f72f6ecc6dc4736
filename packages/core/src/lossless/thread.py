"""A handle on one thread. Each method delegates to one room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace as changed
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import Connection

from lossless.compacting import Compacting
from lossless.context.budget import Budget
from lossless.context.model import ActiveContext
from lossless.dag.heads import read_head
from lossless.dag.ingest import Ingested, delete, ingest, sync, undo
from lossless.dag.rearranging import Rearranged, Shown, Wanted, rearrange
from lossless.dag.replacing import replace_shown
from lossless.dag.view import GENESIS
from lossless.errors import ConfigError
from lossless.messages import Message, MessageRef, rules_for
from lossless.store.append import Draft
from lossless.store.drafting import Given, listed, versioned
from lossless.store.keys import checked_name
from lossless.store.rereading import rereads
from lossless.tokens import count_tools
from lossless.twins import async_twin
from lossless.versions.branching import branch
from lossless.versions.restoring import restore
from lossless.versions.snapshots import Snapshot, take_snapshot

if TYPE_CHECKING:
    from lossless.engine import Engine

__all__ = ["Thread"]


class Thread(Compacting):
    """One conversation: append to it, ask for its active context, search it, expand it.

    A handle is cheap and holds no state; the thread itself is created by its first append or snapshot, never by looking.
    """

    def __init__(self, engine: Engine, thread_id: str, budget: Budget | None = None) -> None:
        self._engine = engine
        self._id = thread_id
        self._own_budget = budget

    @property
    def id(self) -> str:
        """The thread's id."""
        return self._id

    def __repr__(self) -> str:
        return f"Thread({self.id!r})"

    # Storing

    def append(
        self,
        messages: Given | Iterable[Given],
        *,
        compact: bool = True,
        format: str | None = None,
        created_at: datetime | None = None,
        again: bool = False,
    ) -> list[MessageRef]:
        """Store messages at the end of the thread; they are durable when this returns.

        Args:
            messages: one or many: dicts in OpenAI's or Anthropic's style, or ``Message`` objects. A message may carry an ``id``:
                the same id with the same content again adds nothing; with other content it is a revision, which takes the old
                one's place.
            compact: whether the control loop runs: above soft in the background, above hard before this returns.
            format: whose dicts they are, such as ``anthropic``; None: the thread's own, else found out.
            created_at: when they were made; None: now.
            again: whether a message that was deleted from the view is stored once more, and shown, when it is given again with
                its id; otherwise that adds nothing.

        Returns:
            One ref for each message given, in order.

        Raises:
            MessageError: one of them can't be stored; then none of them is.
        """
        return self._store(listed(messages), compact, format, created_at, partial(ingest, again=again))

    def sync(
        self, messages: Iterable[Given], *, compact: bool = True, format: str | None = None, created_at: datetime | None = None
    ) -> list[MessageRef]:
        """Take a whole transcript, or any part of it that reaches its end, and store only what is new.

        Messages with ids are recognised by them, others by their content and order. What the engine itself rendered into
        a context is recognised and left out, and so is what was deleted since, but for what the transcript ends with: that may
        have been said again. Where it can't be told what is new, messages are stored again rather than lost.

        Returns:
            Refs of the messages that were added.
        """
        return self._store(
            listed(messages), compact, format, created_at, partial(sync, read=partial(self._engine.reader.by_seq, keep=False))
        )

    def replace(
        self, messages: Iterable[Given], *, compact: bool = True, format: str | None = None, created_at: datetime | None = None
    ) -> list[MessageRef]:
        """Make the thread show exactly these messages, in this order, in one transaction; an empty list clears it.

        What is shown already and stands at the front of the list stays as it is; the rest of what is shown leaves the view and
        stays in the store, marked as deleted; the rest of the list is appended. ``undo`` brings back what left.

        Args:
            messages, compact, format, created_at: as for :meth:`append`.

        Returns:
            One ref for each message given, in order.
        """
        return self._store(listed(messages), compact, format, created_at, replace_shown, empty=True)

    def rearrange(
        self, decide: Callable[[Shown], Iterable[Wanted]], *, compact: bool = True, format: str | None = None
    ) -> list[MessageRef]:
        """Make the thread show what a function decides, given what it shows, in one transaction: nobody comes in between.

        What is to stay and is in order stays as it is; from the first message on that is not, the rest is stored once more, in
        its new order. What is left out leaves the view and stays in the store. ``undo`` brings it back.

        Args:
            decide: gives refs of what is shown, and messages that are new, in the order wanted; one with the id of a message that
                is shown revises it. It runs while other writers wait, twice if need be, and must not use the engine.
            compact, format: as for :meth:`append`.

        Returns:
            One ref for each of them, in order.

        Raises:
            MessageError: one of them can't be stored; then nothing is changed.
            NotFoundError: a ref is not of what is shown.
        """
        engine, key = self._engine, self._key
        engine.secrets.make(key.namespace)
        named = engine.drafter.format_for([], format, engine.format_of(key) if format is None else None)
        remake, now = engine.remaker(key), engine.now()

        def draft(connection: Connection, given: list[Given]) -> list[Draft]:
            known = engine.knows_summary(key, connection)
            return engine.drafter.draft(given, format=named, detect=format is None, created_at=None, known=known)

        def job(connection: Connection) -> Rearranged:
            how: dict[str, Any] = {"read": partial(engine.reader.by_seq, keep=False), "draft": draft}
            return rearrange(connection, key, engine.views, decide, remake, **how, format=named, now=now)

        done = engine.database.write(job)
        self.appended(done.drafts, done.done, compact)
        return list(done.refs)

    def delete(self, message_ids: str | Sequence[str], *, partners: bool = True) -> tuple[str, ...]:
        """Take messages out of the view; with a tool call go its results. They stay in the store, marked as deleted.

        Args:
            message_ids: one or many.
            partners: whether the results of a deleted call go with it, and the call of a deleted result. If not, contexts
                still complete or withhold what is left of the unit, as the provider needs it.

        Returns:
            The ids of all messages that left the view.

        Raises:
            NotFoundError: one of them is not in the thread; then nothing is deleted.
        """
        ids = [message_ids] if isinstance(message_ids, str) else list(message_ids)
        engine, key = self._engine, self._key
        remake = engine.remaker(key)
        return engine.database.write(lambda c: delete(c, key, engine.views, ids, remake, now=engine.now(), partners=partners))

    def undo(self) -> bool:
        """Take back the newest move made by hand: a compaction, deletion or restoration. Messages appended since stay.

        Returns:
            False if there was nothing to take back.
        """
        engine, key = self._engine, self._key
        remake = engine.remaker(key)
        undone = engine.database.write(lambda c: undo(c, key, engine.views, remake, now=engine.now()))
        return undone is not None

    # Versions

    def snapshot(self, name: str, description: str = "", tags: Sequence[str] = ()) -> Snapshot:
        """Freeze the thread's view under a name that never moves.

        Raises:
            ExistsError: the thread has a snapshot of that name, or a message of that id.
            MessageError: the name looks like an id that is made up, such as ``m_7``.
        """
        engine, key = self._engine, self._key
        engine.secrets.make(key.namespace)
        return engine.database.write(
            lambda connection: take_snapshot(connection, key, engine.views, name, description, tags, engine.now())
        )

    def branch(self, at: str | int | None = None, thread_id: str | None = None) -> Thread:
        """Begin a thread that has this one's messages up to a point; nothing is copied, and either goes its own way.

        Args:
            at: a snapshot's name, a message's id, or a seq, inclusive; None: now.
            thread_id: the id of the new thread; None: one is made up.

        Raises:
            NotFoundError: there is no such thread, snapshot or message.
            ExistsError: there is a thread of that id.
        """
        engine, key = self._engine, self._key
        name = checked_name(thread_id, "a thread id") if thread_id is not None else f"{self._id}-{uuid4().hex[:8]}"

        engine.database.write(lambda connection: branch(connection, key, name, at, engine.views, engine.reader, engine.now()))
        return Thread(engine, name, self._own_budget)

    def restore(self, what: str) -> bool:
        """Show again what the view no longer shows, or go back to a snapshot; ``undo`` takes it back.

        Args:
            what: a snapshot's name: its view, newer messages leave the view and stay in the store; the id of a message or of a
                summary in the view: shown verbatim again.

        Returns:
            False if the view showed it so already.

        Raises:
            NotFoundError: there is no such thing in the thread.
        """
        engine, key = self._engine, self._key
        return engine.database.write(lambda connection: restore(connection, key, engine.views, what, engine.now()))

    # Reading

    @rereads
    def messages(self, start: int | None = None, stop: int | None = None, deleted: bool = False) -> list[Message]:
        """Give messages verbatim, oldest first; a revision stands where its predecessor stood.

        Args:
            start: the first seq, from 1; inclusive.
            stop: where to end; exclusive.
            deleted: whether those that were deleted from the view or replaced are given too, marked.
        """
        engine, key = self._engine, self._key
        with engine.database.read() as connection:
            head = read_head(connection, key)
            if head is None:
                return []
            view = engine.views.load(connection, key.namespace, head.view)
            first, last = max(1, start or 1), head.next_seq if stop is None else min(stop, head.next_seq)
            found = engine.reader.in_place_order(connection, key, first, last)
        hidden = {seq for gone in view.hidden() for seq in gone}
        marked = [changed(message, deleted=True) if message.seq in hidden else message for message in found]
        return marked if deleted else [message for message in marked if not message.deleted]

    @rereads
    def context(
        self,
        *,
        overhead: int = 0,
        reserve: int | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        profile: str | None = None,
        format: str = "openai",
    ) -> ActiveContext:
        """Render the active context for one model call. Reads only.

        Args:
            overhead: tokens of what is sent beside it, such as a system prompt of yours.
            reserve: tokens kept for the answer; None: as the engine's budget says.
            tools: tool schemas that are sent beside it; they are counted as overhead.
            profile: whose rules the messages must meet: ``openai``, ``anthropic`` or ``gemini``; None: the format's own.
            format: ``openai``, ``anthropic``, ``langchain`` or ``llamaindex``: how the messages are written.

        Raises:
            ConfigError: the engine has neither window, model nor budget, or format or profile is unknown.
        """
        engine = self._engine
        rules = rules_for(format, profile)
        beside = overhead + count_tools(tools, engine.counter, profile=rules.name)
        budget = self._require_budget()
        limits = self._limits(budget.adjusted(overhead=beside, reserve=reserve))
        if versioned(format) not in engine.plugins.formats:
            raise ConfigError(f"the format {format!r} is not known", hint=f"one of {', '.join(sorted(engine.plugins.formats))}")
        key = self._key  # found out before: within, it would take a connection of its own
        with engine.database.read() as connection:
            head = read_head(connection, key)
            view = GENESIS if head is None else engine.views.load(connection, key.namespace, head.view)
            context = engine.builder.build(connection, key, head, view, limits=limits, profile=rules, format=versioned(format))
        return changed(context, overhead=budget.overhead + beside)

    # The same, async; ``async`` is a keyword, so one of them ends in an underscore

    aappend = async_twin(append)
    async_ = async_twin(sync)
    areplace = async_twin(replace)
    arearrange = async_twin(rearrange)
    adelete = async_twin(delete)
    aundo = async_twin(undo)
    amessages = async_twin(messages)
    acontext = async_twin(context)
    asnapshot = async_twin(snapshot)
    abranch = async_twin(branch)
    arestore = async_twin(restore)

    def _store(
        self,
        given: list[Given],
        compact: bool,
        format: str | None,
        created_at: datetime | None,
        store: Callable[..., Ingested],
        empty: bool = False,
    ) -> list[MessageRef]:
        if not given and not empty:
            return []
        engine, key = self._engine, self._key
        own = engine.format_of(key) if format is None else None
        named = engine.drafter.format_for(given, format, own)
        drafts = engine.drafter.draft(
            given, format=named, detect=format is None, created_at=created_at, known=engine.knows_summary(key)
        )
        remake = engine.remaker(key)
        now = engine.now()
        done = engine.database.write(lambda c: store(c, key, engine.views, drafts, remake, format=named, now=now))
        self.appended(drafts, done, compact)
        return list(done.refs)
