"""Checkpoints of the runtime as drafts for the store, and back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple
from langgraph.checkpoint.serde.types import INTERRUPT, _DeltaSnapshot

from lossless.capture import Track
from lossless.checkpoints import (
    CheckpointDraft,
    Details,
    Gathered,
    Outline,
    Place,
    Seen,
    Stored,
    StoredWrite,
    TreeReader,
    TreeWriter,
    Vouched,
    WriteDraft,
    joined,
    pieces,
    refers_to,
    shares,
)
from lossless.checkpoints.items import LEAF
from lossless.errors import CorruptError, LosslessError, MessageError
from lossless_langgraph.keeping import Keeper
from lossless_langgraph.leaves import SerializedLeaves
from lossless_langgraph.memory import Memory
from lossless_langgraph.removing import Facts
from lossless_langgraph.retention import Looks

__all__ = ["Channels", "Coding"]

_WHOLE = 1 << 62
"""Bytes up to which what must be in one piece stands in its item."""

Channels = Mapping[str, tuple[Any, bytes]]
"""By a channel's name, its version and the item of its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """Writes and reads with one serializer.

    Attributes:
        leaves: how leaves are written.
        address: gives the address of content.
        digest: gives the digest of a message's payload: the beginning of its address.
        memory: what is remembered.
        capture: the channels whose messages are the thread's.
        redact: gives a message's payload as it may be stored.
    """

    leaves: SerializedLeaves
    address: Callable[[bytes], bytes]
    digest: Callable[[bytes], bytes]
    memory: Memory = field(repr=False)
    capture: Collection[str] = ()
    redact: Callable[[dict[str, Any]], dict[str, Any]] = lambda payload: payload

    def draft(
        self,
        place: Place,
        parent: str | None,
        run: bytes | None,
        checkpoint: Mapping[str, Any],
        facts: Mapping[str, Any],
        changed: Mapping[str, Any],
        inherited: Channels,
        pool: int | None,
        *,
        afresh: bool,
    ) -> tuple[CheckpointDraft, Gathered, list[Track], Sequence[str]]:
        """Write a checkpoint; the captured channels, and the ids of the messages in them that may be new, are given beside it.

        Args:
            place: where.
            parent: the id of the one before.
            run: a hash of its run.
            checkpoint: the runtime's.
            facts: its metadata.
            changed: the channels that changed; of the others the content of the one before stands, if the version is the same.
            inherited: the channels of the one before.
            pool: the thread's pool.
            afresh: whether nothing that is remembered is relied on.

        Raises:
            MessageError: a value can't be written.
        """
        keeper = self._keeper(place)
        writer = self._writer(pool, afresh, keeper)
        found, tracks = self._written(place, checkpoint, changed, inherited, writer, afresh=afresh)
        body = {key: value for key, value in checkpoint.items() if key != "channel_values"}
        draft = CheckpointDraft(
            place=place,
            parent=parent,
            run=run,
            body=self._whole(body),
            channels=joined(found),
            facts=self._whole(dict(facts)),
        )
        vouched = None if afresh else self.memory.vouched.get((place.thread_id, place.checkpoint_ns))
        return draft, _gathered(pool, writer, found[2::3], keeper, vouched), tracks, keeper.ids

    def _written(
        self,
        place: Place,
        checkpoint: Mapping[str, Any],
        changed: Mapping[str, Any],
        inherited: Channels,
        writer: TreeWriter,
        *,
        afresh: bool,
    ) -> tuple[list[bytes], list[Track]]:
        """Write channels: three items for each, its name, version and content; and what the captured ones hold."""
        values = checkpoint["channel_values"]
        found: list[bytes] = []
        tracks: list[Track] = []
        for name, version in checkpoint["channel_versions"].items():
            before, captured = inherited.get(name), name in self.capture
            kept: Sequence[bytes] | None = None
            if name not in changed and before is not None and before[0] == version and not (afresh and name in values):
                item = before[1]
            elif name in values:
                with self._naming(place, name, writer):
                    item = writer.captured(values[name]) if captured else writer.item(values[name])
                kept = writer.kept if captured else None
            else:
                if captured:
                    tracks.append(Track(name=self._whole(name), content=b"", kept=(), delta=True, adds=True))
                continue
            found += [self._whole(name), self._whole(version), item]
            if captured:
                tracks.append(Track(name=found[-3], content=item, kept=kept, delta=isinstance(values.get(name), _DeltaSnapshot)))
        # A state without such a channel, such as one that is forked before it was written to, holds no messages.
        absent = [name for name in self.capture if name not in checkpoint["channel_versions"]]
        tracks += [Track(name=self._whole(name), content=b"", kept=()) for name in absent]
        return found, tracks

    def draft_writes(
        self, place: Place, writes: Sequence[tuple[str, Any]], pool: int | None, *, afresh: bool
    ) -> tuple[list[WriteDraft], Gathered, Sequence[str]]:
        """Write what a task wrote; the ids of the messages in it that may be new are given beside it.

        Raises:
            MessageError: a value can't be written.
        """
        keeper, drafts = self._keeper(place), []
        writer = self._writer(pool, afresh, keeper)
        for position, (channel, value) in enumerate(writes):
            with self._naming(place, channel, writer):
                item = writer.captured(value) if channel in self.capture else writer.item(value)
            drafts.append(WriteDraft(idx=WRITES_IDX_MAP.get(channel, position), channel=self._whole(channel), value=item))
        return drafts, _gathered(pool, writer, [one.value for one in drafts], keeper), keeper.ids

    def inherited(
        self,
        place: Place,
        parent: str | None,
        checkpoint: Mapping[str, Any],
        changed: Mapping[str, Any],
        load: Callable[[Place], Outline | None],
        *,
        afresh: bool,
    ) -> Channels:
        """Give the channels of the checkpoint before, if any of them stands unchanged.

        Args:
            place: of the checkpoint that is written.
            parent: the id of the one before.
            checkpoint: the runtime's.
            changed: the channels that changed.
            load: reads a checkpoint's outline from the store.
            afresh: whether nothing that is remembered is relied on.
        """
        if parent is None or all(name in changed for name in checkpoint["channel_versions"]):
            return {}
        before = Place(thread_id=place.thread_id, checkpoint_ns=place.checkpoint_ns, checkpoint_id=parent)
        remembered = None if afresh else self.memory.channels.get(before)
        if remembered is not None:
            return self.channels_in(before, remembered)
        stored = load(before)
        return {} if stored is None else self.channels(stored)

    def channels(self, outline: Outline) -> dict[str, tuple[Any, bytes]]:
        """Read which content each channel of a checkpoint has."""
        return self.channels_in(outline.place, outline.channels)

    def channels_in(self, place: Place, channels: bytes) -> dict[str, tuple[Any, bytes]]:
        """Read which content each channel of a checkpoint has, of its joined items."""
        with _naming(place, "its channels"):
            return dict(self._channels(channels))

    def facts(self, outline: Outline) -> dict[str, Any]:
        """Read the metadata of a checkpoint."""
        with _naming(outline.place, "its metadata"):
            found: dict[str, Any] = self._read_whole(outline.facts)
            return found

    def reasons(self, outline: Outline) -> Facts:
        """Read what decides whether a checkpoint may be removed."""
        delta = self.facts(outline).get("counters_since_delta_snapshot") or {}
        return Facts(delta=frozenset(delta), valued=frozenset(self.channels(outline)))

    def looks(self, details: Details) -> Looks:
        """Give what a rule of retention may look up."""
        return Looks(
            parents=lambda outline: self.facts(outline).get("parents") or {},
            made_at=lambda place: _time(self._read_whole(details.body(place)).get("ts")),
            waits=lambda place: any(self._read_whole(channel) == INTERRUPT for channel in details.written(place)),
        )

    def written_to(self, place: Place, write: StoredWrite) -> Any:
        """Read which channel a write is to."""
        with _naming(place, "a write"):
            return self._read_whole(write.channel)

    def value(self, place: Place, channel: str, item: bytes, parts: Mapping[bytes, bytes]) -> Any:
        """Read a value of a channel by itself, of parts that are sound.

        Raises:
            CorruptError: it can't be read; the error names thread, channel and path.
        """
        reader = TreeReader(self.leaves, parts)
        with _naming(place, f"channel {channel!r}", reader):
            return reader.value(item)

    def read(self, stored: Stored, seen: Seen | None = None) -> CheckpointTuple:
        """Read a checkpoint, and let those that are read with the same ``seen`` share the work; no value is the same object.

        Raises:
            CorruptError: a value can't be read; the error names thread, channel and path.
        """
        place, parts = stored.place, self.sound(stored.parts)
        if seen is not None:
            seen.add(parts)
            parts = seen.parts
        reader = TreeReader(self.leaves, parts, None if seen is None else seen.makers)
        with _naming(place, "its state"):
            checkpoint = self._read_whole(stored.body)
            facts = self._read_whole(stored.facts)
            channels = list(self._channels(stored.channels))
        values = {}
        for name, (_version, item) in channels:
            with _naming(place, f"channel {name!r}", reader):
                values[name] = reader.value(item)
        checkpoint["channel_values"] = values
        writes = []
        for write in stored.writes:
            with _naming(place, "a write"):
                name = self._read_whole(write.channel)
            with _naming(place, f"a write to channel {name!r}", reader):
                writes.append((write.task_id, name, reader.value(write.value)))
        return CheckpointTuple(
            config=_config(place, place.checkpoint_id),
            checkpoint=checkpoint,
            metadata=facts,
            parent_config=None if stored.parent is None else _config(place, stored.parent),
            pending_writes=writes,
        )

    def _channels(self, data: bytes) -> Iterator[tuple[str, tuple[Any, bytes]]]:
        found = list(pieces(data))
        for name, version, item in zip(found[::3], found[1::3], found[2::3], strict=True):
            yield self._read_whole(name), (self._read_whole(version), item)

    def _keeper(self, place: Place) -> Keeper:
        erased = self.memory.erased.get(place.thread_id) or {}
        return Keeper(leaves=self.leaves, digest=self.digest, redact=self.redact, erased=erased)

    def _writer(self, pool: int | None, afresh: bool, keeper: Keeper) -> TreeWriter:
        instead = keeper.instead if keeper.erased else None
        if pool is None:
            return TreeWriter(leaves=self.leaves, address=self.address, keep=keeper.keep, instead=instead)
        memory, here = self.memory, pool
        if afresh:
            return TreeWriter(
                leaves=self.leaves,
                address=self.address,
                learn=lambda mark, item: memory.items.put((here, mark), item),
                learn_run=lambda mark, run: memory.runs.put((here, mark), run),
                keep=keeper.keep,
                instead=instead,
            )
        return TreeWriter(
            leaves=self.leaves,
            address=self.address,
            keep=keeper.keep,
            instead=instead,
            known=lambda digest: memory.parts.get((here, digest)) is not None,
            recall=lambda mark: memory.items.get((here, mark)),
            learn=lambda mark, item: memory.items.put((here, mark), item),
            recall_run=lambda mark: memory.runs.get((here, mark)),
            learn_run=lambda mark, run: memory.runs.put((here, mark), run),
        )

    def sound(self, parts: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
        """Give the parts that match their addresses; encrypted ones are known by what they were before, and guarded by that."""
        if self.leaves.encrypts:
            return parts
        return {digest: content for digest, content in parts.items() if self.address(content)[: len(digest)] == digest}

    def _whole(self, value: Any) -> bytes:
        """Write a value in one piece."""
        if self.leaves.encrypts or type(value) is str:
            return LEAF + self.leaves.write(value).content
        return TreeWriter(leaves=self.leaves, address=self.address, inline=_WHOLE).item(value)

    def _read_whole(self, item: bytes) -> Any:
        return TreeReader(self.leaves, {}).value(item)

    @contextmanager
    def _naming(self, place: Place, channel: str, writer: TreeWriter) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            said = error.message if isinstance(error, LosslessError) else f"{type(error).__name__}: {error}"
            raise MessageError(
                f"thread {place.thread_id!r}, channel {channel!r}{writer.path}: the value can't be stored: {said:.500}",
                hint="let the state hold what the saver's serializer knows",
            ) from error


def _gathered(
    pool: int | None, writer: TreeWriter, items: Sequence[bytes], keeper: Keeper, vouched: Vouched | None = None
) -> Gathered:
    """Give what a writer gathered. What is relied on is what new parts refer to: all that a stored part refers to is stored."""
    new = (*writer.parts.values(), *items)
    referred = {digest for content in new for digest in refers_to(content)}
    return Gathered(
        pool=pool,
        parts=writer.parts,
        relied=frozenset(referred - writer.parts.keys()),
        messages=keeper.messages,
        shared=frozenset(digest for content in new for digest in shares(content)),
        vouched=vouched,
    )


@contextmanager
def _naming(place: Place, what: str, reader: TreeReader | None = None) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        said = error.message if isinstance(error, LosslessError) else f"{type(error).__name__}: {error}"
        where = f"thread {place.thread_id!r}, checkpoint {place.checkpoint_id}, {what}{reader.path if reader is not None else ''}"
        hint = (
            error.hint
            if isinstance(error, LosslessError)
            else "restore a backup, or open it with the serializer it was written with"
        )
        raise CorruptError(f"{where}: {said:.500}", hint=hint) from error


def _time(stamp: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(stamp))
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _config(place: Place, checkpoint_id: str) -> Any:
    return {
        "configurable": {
            "thread_id": place.thread_id,
            "checkpoint_ns": place.checkpoint_ns,
            "checkpoint_id": checkpoint_id,
        }
    }
