"""What the store of checkpoints takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection

if TYPE_CHECKING:
    from lossless.checkpoints.lines import Line

__all__ = [
    "CheckpointDraft",
    "Gathered",
    "Outline",
    "Pair",
    "Place",
    "Stored",
    "StoredWrite",
    "Thinned",
    "Vouched",
    "Within",
    "WriteDraft",
]


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
class Vouched:
    """What is stored for sure as long as a checkpoint is there: all that it is made of.

    Attributes:
        place: the checkpoint's.
        channels: its joined items.
        digests: addresses of parts, and digests of messages, that these lead to.
    """

    place: Place
    channels: bytes
    digests: frozenset[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The parts that something to be stored is made of.

    Attributes:
        pool: which pool the writer took the thread's to be; None: it has none yet.
        parts: by address.
        relied: addresses of parts that are taken to be stored.
        messages: payloads of messages, by digest, that may not be stored yet.
        shared: digests of all messages that the new parts name.
        vouched: what need not be looked for if a checkpoint is there.
    """

    pool: int | None
    parts: Mapping[bytes, bytes]
    relied: frozenset[bytes]
    messages: Mapping[bytes, bytes] = field(default_factory=dict)
    shared: frozenset[bytes] = frozenset()
    vouched: Vouched | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What a checkpoint says of a thread.

    Attributes:
        view: address of the view that stood for it.
        upto: the seq that it went up to.
        owner: the thread that stores the message of that seq. A thread that is no branch of it can't go back there.
    """

    view: bytes
    upto: int
    owner: str


class Within(Protocol):
    """What is done in the transaction that stores a checkpoint."""

    def begin(self, connection: Connection) -> None:
        """Lock what it needs, before the store locks anything."""

    def seen(self, connection: Connection, line: Line) -> Mapping[str, bytes]:
        """Look at the checkpoints that this one is held against, and give their channels by their ids."""

    def finish(self, connection: Connection, line: Line, draft: CheckpointDraft) -> Pair | None:
        """Do it, when the checkpoint's parts are stored and its row is not; give what the row says of the thread."""


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
