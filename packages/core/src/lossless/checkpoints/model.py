"""What the store of checkpoints takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["CheckpointDraft", "Gathered", "Outline", "Place", "Stored", "StoredWrite", "Thinned", "WriteDraft"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a checkpoint stands: its thread, the namespace of its graph within it ("" for the root), its id."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteDraft:
    """A write to be stored: its index within its task, and an item each for channel and value."""

    idx: int
    channel: bytes
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWrite:
    """A write as it is stored."""

    task_id: str
    channel: bytes
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointDraft:
    """A checkpoint to be stored.

    Attributes:
        parent: the id of the one before.
        run: a hash of the run that made it.
        body: what the runtime says of itself; it refers to no part.
        channels: joined items; their content may be in parts.
        facts: metadata; it refers to no part.
    """

    place: Place
    parent: str | None
    run: bytes | None
    body: bytes
    channels: bytes
    facts: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The parts that something to be stored is made of.

    Attributes:
        pool: which pool the writer took the thread's to be; None: it has none yet.
        parts: by address.
        relied: addresses of parts that are taken to be stored.
    """

    pool: int | None
    parts: Mapping[bytes, bytes]
    relied: frozenset[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A checkpoint without its content."""

    place: Place
    parent: str | None
    run: bytes | None
    hidden: bool
    channels: bytes
    facts: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A checkpoint as it is stored, its writes in their order, and all parts that any of them is made of."""

    place: Place
    parent: str | None
    body: bytes
    channels: bytes
    facts: bytes
    writes: tuple[StoredWrite, ...]
    parts: Mapping[bytes, bytes] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinned:
    """What was removed of a thread, in numbers.

    Attributes:
        checkpoints: checkpoints that were removed.
        hidden: checkpoints that are no longer listed, but stay.
        writes: writes that were removed.
        parts: parts that were removed.
        bytes: bytes of content that went from the database; less than none where rows that copies have became the thread's own.
    """

    checkpoints: int = 0
    hidden: int = 0
    writes: int = 0
    parts: int = 0
    bytes: int = 0
