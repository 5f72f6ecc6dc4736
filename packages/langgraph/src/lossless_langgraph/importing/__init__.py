"""Taking over what LangGraph's own savers hold. Importing again adds only what is new."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.base import SerializerProtocol
from sqlalchemy import text

from lossless import Engine
from lossless.checkpoints import CheckpointStore, Place
from lossless.errors import LosslessError
from lossless_langgraph.importing.sources import Found, FoundWrite, Key, SavedTables
from lossless_langgraph.saver import LosslessSaver

__all__ = ["Imported", "import_checkpoints"]

_PROBLEMS = 1_000
"""Problems that are told in words; more are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import took over.

    Attributes:
        threads: threads that the source has.
        checkpoints: checkpoints that were added.
        writes: pending writes that were added with them.
        messages: messages in the checkpoints that were added, each once for a thread.
        skipped: checkpoints that were there already.
        verified: checkpoints that were read back and are equal to what the source gave; None: it was not looked at.
        failed: rows that could not be taken over, or came back different.
        problems: what was wrong with them, in words; of the first 1 000.
        bytes_before: bytes that the source takes: its tables on PostgreSQL, the whole file on SQLite.
        bytes_after: bytes by which the target grew.
    """

    threads: int
    checkpoints: int
    writes: int
    messages: int
    skipped: int
    verified: int | None
    failed: int
    problems: tuple[str, ...]
    bytes_before: int
    bytes_after: int

    @property
    def ok(self) -> bool:
        """Whether every row was taken over, and nothing came back different."""
        return self.failed == 0


def import_checkpoints(
    source: str | PathLike[str], saver: LosslessSaver, *, serde: SerializerProtocol | None = None, verify: bool = True
) -> Imported:
    """Take over all threads of a ``SqliteSaver`` or ``PostgresSaver``, checkpoint by checkpoint.

    What was imported before is left as it is, so an import that was stopped can be run again. The source is only read.

    Args:
        source: the path of an SQLite database, or the URL of a database.
        saver: where to.
        serde: what reads the source's values; None: the saver's serializer. Its allowlist holds.
        verify: read each checkpoint back, and compare it with what the source gave.

    Returns:
        A report. A row that can't be read is named in it, and all others are taken over.

    Raises:
        ConfigError: the source has no tables of such a saver.
        StoreOpenError: the source can't be opened.
    """
    tables = SavedTables(source)
    try:
        taking = _Taking(saver=saver, serde=serde or saver.serde, verify=verify)
        before, threads = _bytes_of(saver.engine), tables.threads()
        for thread_id in threads:
            taking.thread(tables, thread_id)
        return taking.report(len(threads), tables.bytes_taken(), _bytes_of(saver.engine) - before)
    finally:
        tables.close()


@dataclass(slots=True, kw_only=True)
class _Taking:
    """An import on its way."""

    saver: LosslessSaver
    serde: SerializerProtocol
    verify: bool
    checkpoints: int = 0
    writes: int = 0
    messages: int = 0
    skipped: int = 0
    verified: int = 0
    failed: int = 0
    problems: list[str] = field(default_factory=list)

    def thread(self, tables: SavedTables, thread_id: str) -> None:
        """Take over a thread, the oldest checkpoint first, so that each finds what it shares with the one before."""
        engine, seen = self.saver.engine, set[Any]()
        store = CheckpointStore(engine.database, engine.secrets, engine.namespace)
        there = {one.place for one in store.outlines(thread_id)} if thread_id.strip("\0") else set[Place]()
        for key in tables.keys(thread_id):
            place = Place(thread_id=thread_id, checkpoint_ns=key.checkpoint_ns, checkpoint_id=key.checkpoint_id)
            if place in there:
                self.skipped += 1
                continue
            try:
                found = tables.read(key, self.serde)
                writes = [*self._readable(key, found.writes)]
                self._put(key, found, writes)
            except Exception as error:  # whatever a row does to a serializer, the others are taken over
                self._failed(key, "", error)
                continue
            self.checkpoints += 1
            self.writes += len(writes)
            new = {_identity(one) for one in _messages(found.checkpoint["channel_values"].values())} - seen
            self.messages += len(new)
            seen |= new
            if self.verify:
                self._compare(key, found, writes)

    def report(self, threads: int, before: int, after: int) -> Imported:
        """Give the report."""
        return Imported(
            threads=threads,
            checkpoints=self.checkpoints,
            writes=self.writes,
            messages=self.messages,
            skipped=self.skipped,
            verified=self.verified if self.verify else None,
            failed=self.failed,
            problems=tuple(self.problems),
            bytes_before=before,
            bytes_after=after,
        )

    def _readable(self, key: Key, writes: Iterable[FoundWrite]) -> Iterator[tuple[FoundWrite, Any]]:
        for one in writes:
            try:
                yield one, self.serde.loads_typed((one.kind, one.data))
            except Exception as error:
                self._failed(key, f", a write of task {one.task_id} to channel {one.channel!r}", error)

    def _put(self, key: Key, found: Found, writes: list[tuple[FoundWrite, Any]]) -> None:
        """Store writes, then the checkpoint: where that is there, all of it is."""
        if found.checkpoint["id"] != key.checkpoint_id:
            raise ValueError(f"it says that its id is {found.checkpoint['id']!r}")
        config: Any = {"configurable": {"thread_id": key.thread_id, "checkpoint_ns": key.checkpoint_ns}}
        at = {"configurable": {**config["configurable"], "checkpoint_id": key.checkpoint_id}}
        tasks: dict[tuple[str, str], list[tuple[FoundWrite, Any]]] = {}
        for one, value in writes:
            tasks.setdefault((one.task_id, one.task_path), []).append((one, value))
        for (task_id, task_path), of_task in tasks.items():
            self.saver.put_writes(at, _in_position(of_task), task_id, task_path)  # type: ignore[arg-type]
        if key.parent is not None:
            config["configurable"]["checkpoint_id"] = key.parent
        self.saver.put(config, found.checkpoint, found.metadata, found.checkpoint["channel_versions"])

    def _compare(self, key: Key, found: Found, writes: list[tuple[FoundWrite, Any]]) -> None:
        configurable = {"thread_id": key.thread_id, "checkpoint_ns": key.checkpoint_ns, "checkpoint_id": key.checkpoint_id}
        try:
            back = self.saver.get_tuple({"configurable": configurable})
            if back is None:
                raise ValueError("it is not there")
            parent = (back.parent_config or {}).get("configurable", {}).get("checkpoint_id")
            given = (found.metadata, [(one.task_id, one.channel, value) for one, value in writes], key.parent)
            same = _alike(given, (back.metadata, back.pending_writes or [], parent))
            if not same or not _alike(_in_order(found.checkpoint), _in_order(back.checkpoint)):
                raise ValueError("it came back different")
        except Exception as error:
            self._failed(key, "", error)
            return
        self.verified += 1

    def _failed(self, key: Key, where: str, error: Exception) -> None:
        self.failed += 1
        if len(self.problems) < _PROBLEMS:
            said = error.message if isinstance(error, LosslessError) else f"{type(error).__name__}: {error}"
            at = f"thread {key.thread_id!r}, namespace {key.checkpoint_ns!r}, checkpoint {key.checkpoint_id}{where}"
            self.problems.append(f"{at}: {said:.500}")


def _in_position(writes: list[tuple[FoundWrite, Any]]) -> list[tuple[str, Any]]:
    """Put a task's writes in a row again, so that each gets the index it had: special channels have indices of their own."""
    special = [(one.channel, value) for one, value in writes if one.channel in WRITES_IDX_MAP]
    placed = {one.idx: (one.channel, value) for one, value in writes if one.channel not in WRITES_IDX_MAP}
    row: list[tuple[str, Any]] = []
    for position in range(max(placed, default=-1) + 1):
        if position in placed:
            row.append(placed[position])
        elif special:
            row.append(special.pop(0))
    return row + special


def _messages(values: Iterable[Any]) -> Iterator[BaseMessage]:
    for value in values:
        if isinstance(value, BaseMessage):
            yield value
        elif isinstance(value, list):
            yield from (one for one in value if isinstance(one, BaseMessage))


def _identity(message: BaseMessage) -> Any:
    return message.id if message.id is not None else (message.type, str(message.content))


def _in_order(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """Give a checkpoint with its fields and channels in the order of their names, which says nothing."""
    return {**dict(sorted(checkpoint.items())), "channel_values": dict(sorted(checkpoint["channel_values"].items()))}


def _alike(a: Any, b: Any) -> bool:
    """Tell whether two values are the same: types too, NaN equal to itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_alike, a, b))
    return bool(a == b) or (hasattr(a, "__dict__") and not isinstance(a, type) and _alike(vars(a), vars(b)))


def _bytes_of(engine: Engine) -> int:
    """Give the bytes that a database takes: all of it on SQLite, our tables on PostgreSQL."""
    with engine.database.read() as connection:
        if connection.dialect.name == "sqlite":
            return int(connection.execute(text("PRAGMA page_count")).scalar_one()) * int(
                connection.execute(text("PRAGMA page_size")).scalar_one()
            )
        ours = "relkind IN ('r', 'p') AND starts_with(relname, 'lossless_') AND relnamespace = current_schema()::regnamespace"
        return int(connection.execute(text(f"SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE {ours}")).scalar_one())  # noqa: S608
