"""A checkpointer that stores each message, each file, each value once, however many checkpoints hold it."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from lossless import Engine
from lossless.capture import Capture
from lossless.checkpoints import CheckpointStore, Details, Outline, Place, Seen, Thinned
from lossless.errors import ConfigError, NotFoundError
from lossless.sharing import shared_engine
from lossless.twins import async_twin
from lossless_langchain.codec import FORMAT
from lossless_langgraph.coding import Coding
from lossless_langgraph.connecting import Connection, database_url
from lossless_langgraph.deltas import delta_history
from lossless_langgraph.filters import matches
from lossless_langgraph.leaves import StockLeaves, leaves_for, removal_in
from lossless_langgraph.memory import Memory
from lossless_langgraph.naming import checked_channels, checked_thread, run_mark, where_of
from lossless_langgraph.removing import newest_of_each, thinned
from lossless_langgraph.retention import Retained, checked_rule, summed
from lossless_langgraph.storing import until_stored

__all__ = ["LosslessSaver"]

T = TypeVar("T")

_PAGE = 64
_LONGEST_VERSION = 10**16


class LosslessSaver(BaseCheckpointSaver[str]):
    """Keeps the checkpoints of graphs in an engine's database, for sync and async graphs alike, from any event loop and thread.

    Elements of lists, values of dicts and what is sent to nodes are stored once for all checkpoints of a thread, its pending
    writes, sub-graphs and copies.

    Args:
        engine_or_url: an engine, or the URL of its database; engines of the same URL are shared.
        serde: what writes values that are neither plain nor messages; with any but LangGraph's own, all values, and then nothing
            is captured.
        capture: channels whose messages are messages of the engine's thread of the same id, too; its view follows the state.

    Raises:
        ConfigError: channels are to be captured by an engine without a cipher, although the serializer encrypts.
        StoreOpenError: the database can't be opened.
    """

    def __init__(
        self,
        engine_or_url: Engine | str,
        *,
        serde: SerializerProtocol | None = None,
        capture: Collection[str] = ("messages",),
    ) -> None:
        super().__init__(serde=serde)
        self.capture = checked_channels(capture)
        self.engine = engine_or_url if isinstance(engine_or_url, Engine) else shared_engine(database_url(engine_or_url))
        if self.capture and not self.engine.encrypted and leaves_for(self.serde).encrypts:
            raise ConfigError(
                "the serializer encrypts, and the engine would keep the messages of the channels it captures in clear",
                hint="give capture=(), or an Engine(cipher=…)",
            )
        self._store = CheckpointStore(self.engine.database, self.engine.secrets, self.engine.namespace)
        self._capture = Capture(self.engine, FORMAT, removal_in)
        self._memory = Memory()

    @classmethod
    def from_conn_string(
        cls, conn_string: str, *, serde: SerializerProtocol | None = None, capture: Collection[str] = ("messages",)
    ) -> Connection[LosslessSaver]:
        """Give a saver on an engine of its own, for ``with`` and ``async with``; leaving closes it.

        Args:
            conn_string: a URL, the path of an SQLite database, or ``:memory:``.
            serde: as for the saver.
            capture: as for the saver.
        """
        return Connection(lambda: cls(Engine(database_url(conn_string)), serde=serde, capture=capture))

    def setup(self) -> None:
        """Do nothing: opening the engine has made the tables. It is there for code that calls it."""

    # Reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Give a checkpoint, or without ``checkpoint_id`` the newest; None if there is none.

        Raises:
            CorruptError: a value can't be read; the error names thread, channel and path.
        """
        thread_id, checkpoint_ns, checkpoint_id = where_of(config)
        stored = self._store.get(thread_id, checkpoint_ns, checkpoint_id)
        return None if stored is None else self._coding().read(stored)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Give checkpoints, the newest first. Between two of them nothing is locked; values are loaded one checkpoint at a time.

        Args:
            config: whose; without ``checkpoint_ns`` those of sub-graphs too, None: of all threads.
            filter: metadata that is equal; of dicts and lists, that has at least what is named.
            before: only those older than this one.
            limit: how many at the most.
        """
        coding, left, seen = self._coding(), limit, Seen()
        for outline in self._outlines(config, before, None if filter else limit):
            if left is not None and left <= 0:
                return
            if filter and not matches(coding.facts(outline), filter):
                continue
            place = outline.place
            seen.make_room()
            stored = self._store.get(place.thread_id, place.checkpoint_ns, place.checkpoint_id, seen.parts)
            if stored is not None:  # else somebody has removed it meanwhile
                left = None if left is None else left - 1
                yield coding.read(stored, seen)

    def get_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """Give what delta channels are made of before a checkpoint: their writes, back to the newest value, and that value.

        Raises:
            CorruptError: a value can't be read; the error names thread, channel and path.
        """
        return delta_history(self._store, self._coding(), where_of(config), channels)

    # Writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; the one that ``config`` names is its parent.

        Raises:
            MessageError: a value can't be written; the error names thread, channel and path.
        """
        thread_id, checkpoint_ns, parent = where_of(config)
        place = Place(thread_id=thread_id, checkpoint_ns=checkpoint_ns, checkpoint_id=checkpoint["id"])
        facts = get_checkpoint_metadata(config, metadata)
        run = facts.get("run_id")
        coding = self._coding()
        marked = None if run is None else coding.address(run_mark(run))

        def attempt(pool: int | None, afresh: bool) -> bool:
            inherited = coding.inherited(place, parent, checkpoint, new_versions, self._store.outline, afresh=afresh)
            draft, gathered, tracks, ids = coding.draft(
                place, parent, marked, checkpoint, facts, new_versions, inherited, pool, afresh=afresh
            )
            captured = self._capture.of(place, parent, tracks, gathered.messages, ids) if tracks else None
            if not self._store.put(draft, gathered, captured):
                return False
            if captured is not None:
                captured.committed()
            self._memory.stored(gathered, draft)
            return True

        self._until_stored(coding, thread_id, attempt)
        return {"configurable": {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns, "checkpoint_id": checkpoint["id"]}}

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Store what a task wrote after the checkpoint that ``config`` names, which need not be stored yet.

        Raises:
            MessageError: a value can't be written; the error names thread, channel and path.
        """
        thread_id, checkpoint_ns, checkpoint_id = where_of(config)
        if checkpoint_id is None:
            raise ConfigError("writes belong to a checkpoint", hint='give config["configurable"]["checkpoint_id"]')
        place = Place(thread_id=thread_id, checkpoint_ns=checkpoint_ns, checkpoint_id=checkpoint_id)
        coding, replace = self._coding(), all(channel in WRITES_IDX_MAP for channel, _value in writes)

        def attempt(pool: int | None, afresh: bool) -> bool:
            drafts, gathered, ids = coding.draft_writes(place, writes, pool, afresh=afresh)
            check = self._capture.check_writes(place, ids)
            stored = self._store.put_writes(place, task_id, task_path, drafts, gathered, replace=replace, check=check)
            if stored:
                self._memory.stored(gathered)
            return stored

        if writes:
            self._until_stored(coding, thread_id, attempt)

    # Removing and copying

    def delete_thread(self, thread_id: str) -> None:
        """Remove all checkpoints and writes of a thread, and the content that no copy of it has.

        If channels are captured, the engine's thread is deleted as well: its messages go out of lists, views and search, and for
        good by ``engine.erase`` or, where nothing needs them, ``engine.collect_garbage``.
        """
        name = checked_thread(thread_id)
        if self.capture:
            with suppress(NotFoundError):
                self.engine.delete_thread(name, reason="its checkpoints were deleted")
        self._store.delete_thread(name)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints whose metadata names one of these runs; what state of others is made of stays, hidden."""
        coding = self._coding()
        runs = {coding.address(run_mark(run_id)) for run_id in run_ids}

        def kept(outlines: Sequence[Outline], _details: Details) -> set[Place]:
            return {one.place for one in outlines if one.run not in runs and not one.hidden}

        for thread_id in sorted({thread_id for run in runs for thread_id in self._store.threads_of_run(run)}):
            self._thin(coding, thread_id, kept)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Remove checkpoints.

        Args:
            thread_ids: of these threads.
            strategy: ``keep_latest``: all but the newest of each namespace; what its state is made of stays, hidden. ``delete``:
                all.

        Raises:
            ConfigError: the strategy is not known.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ConfigError(f"the strategy {strategy!r} is not known", hint="use 'keep_latest' or 'delete'")
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread_id)
            else:
                self._thin(self._coding(), checked_thread(thread_id), lambda outlines, _details: newest_of_each(outlines))

    def retain(
        self,
        thread_ids: Sequence[str] | None = None,
        *,
        keep_last: int | None = None,
        older_than: timedelta | None = None,
        dry_run: bool = False,
    ) -> Retained:
        """Remove old checkpoints, and the content that nothing is made of any more.

        What either rule keeps stays, the newest checkpoint of each namespace always, and one that waits at an interrupt with
        nothing after it. What the state of those is made of stays, hidden; copies lose nothing. A sub-graph that ran once goes
        with the checkpoint of the root graph that it ran after.

        Args:
            thread_ids: of these threads; None: of all.
            keep_last: how many of each namespace stay, the newest.
            older_than: only what is older than this goes.
            dry_run: remove nothing, and tell what would go.

        Raises:
            ConfigError: no rule is given, or one that can't be.
        """
        rule, coding = checked_rule(keep_last, older_than), self._coding()
        if isinstance(thread_ids, str):
            raise ConfigError("thread_ids is one text, not several ids", hint="give a list, such as thread_ids=['user-42']")
        names = self._store.threads() if thread_ids is None else dict.fromkeys(map(checked_thread, thread_ids))
        return summed(
            {
                name: self._thin(coding, name, lambda found, details: rule.kept(found, coding.looks(details)), dry_run=dry_run)
                for name in names
            },
            dry_run=dry_run,
        )

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Let a thread begin with all checkpoints and writes of another, in the same time however many there are.

        Afterwards each is changed and removed without the other. If channels are captured, the engine's thread is branched.

        Raises:
            ExistsError: the target has checkpoints.
        """
        source, target = checked_thread(source_thread_id), checked_thread(target_thread_id)
        if self.capture:
            self._store.copy_thread(source, target, self._capture.branch(source, target))
        else:
            self._store.copy_thread(source, target)

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """Give the next version of a channel; two branches never give the same."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:032d}.{random.randrange(_LONGEST_VERSION):016d}"  # noqa: S311 - not for secrets

    # The same, async

    aget_tuple = async_twin(get_tuple)  # type: ignore[arg-type]
    aget_delta_channel_history = async_twin(get_delta_channel_history)  # type: ignore[arg-type]
    aput = async_twin(put)  # type: ignore[arg-type]
    aput_writes = async_twin(put_writes)  # type: ignore[arg-type]
    adelete_thread = async_twin(delete_thread)  # type: ignore[arg-type]
    adelete_for_runs = async_twin(delete_for_runs)  # type: ignore[arg-type]
    aretain = async_twin(retain)
    aprune = async_twin(prune)  # type: ignore[arg-type]
    acopy_thread = async_twin(copy_thread)  # type: ignore[arg-type]
    asetup = async_twin(setup)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Give checkpoints as :meth:`list` does."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await self._anext(found)) is not None:
            yield one

    def _next(self, found: Iterator[CheckpointTuple]) -> CheckpointTuple | None:
        return next(found, None)

    _anext = async_twin(_next)

    def _coding(self) -> Coding:
        leaves = leaves_for(self.serde)
        return Coding(
            leaves=leaves,
            address=self._store.addresses(),
            digest=self._store.digests(),
            memory=self._memory,
            capture=self.capture if isinstance(leaves, StockLeaves) else (),
            redact=self.engine.plugins.redact,
        )

    def _outlines(self, config: RunnableConfig | None, before: RunnableConfig | None, limit: int | None) -> Iterator[Outline]:
        most = _PAGE if limit is None else max(1, min(_PAGE, limit))
        older = None if before is None else before.get("configurable", {}).get("checkpoint_id")
        if config is None:
            return self._store.outlines(before=older, most=most)
        thread_id, _ns, checkpoint_id = where_of(config)
        return self._store.outlines(thread_id, config["configurable"].get("checkpoint_ns"), checkpoint_id, older, most=most)

    def _until_stored(self, coding: Coding, thread_id: str, attempt: Callable[[int | None, bool], bool]) -> None:
        until_stored(coding, thread_id, attempt, self._store.pool_of, self._erased_in)

    def _erased_in(self, thread_id: str) -> dict[str, bytes]:
        with self.engine.database.read() as connection:
            return self._capture.erased_in(connection, thread_id)

    def _thin(
        self, coding: Coding, thread_id: str, kept: Callable[[Sequence[Outline], Details], set[Place]], *, dry_run: bool = False
    ) -> Thinned:
        def choose(outlines: Sequence[Outline], details: Details) -> tuple[set[Place], set[Place]]:
            return thinned(outlines, kept(outlines, details), coding.reasons)

        return self._store.thin(thread_id, choose, dry_run=dry_run)
