"""What capture takes, remembers and plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lossless.capture.following import Followed
from lossless.dag.editing import Remake
from lossless.dag.ingest import Ingested
from lossless.dag.view import View, ViewStore
from lossless.store.append import Draft
from lossless.store.drafting import Drafter
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader

__all__ = ["Appended", "ErasedInStateError", "Host", "Plan", "Removal", "Standing", "Told", "Track"]


class ErasedInStateError(Exception):
    """A state holds messages that were erased. ``left``: by id, what is left of each, as its item holds it."""

    def __init__(self, left: Mapping[str, bytes]) -> None:
        super().__init__("a state holds messages that were erased")
        self.left = left


class Appended(Protocol):
    """What is used of a thread."""

    def appended(self, drafts: Sequence[Draft], done: Ingested) -> None:
        """Do what an append calls for."""


class Host(Protocol):
    """What is used of an engine."""

    namespace: str
    views: ViewStore
    drafter: Drafter
    reader: MessageReader

    def key_of(self, thread_id: str) -> ThreadKey:
        """Give a thread's key."""

    def remaker(self, key: ThreadKey) -> Remake:
        """Give what makes a leaf again without a model."""

    def knows_summary(self, key: ThreadKey) -> Callable[[str], bool]:
        """Give what tells whether a thread has a summary of an id."""

    def now(self) -> int:
        """Give the time in microseconds."""

    def thread(self, thread_id: str) -> Appended:
        """Give a handle on a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """What a captured channel holds.

    Attributes:
        name: the item of its name.
        content: the item of its value.
        kept: the items of its messages, in order; None: they have to be looked up.
        delta: whether checkpoints need not have its value: it is what was written to it since the last one that has.
        adds: whether this one has not: what was written to it since the checkpoint before comes to what it held.
    """

    name: bytes
    content: bytes
    kept: Sequence[bytes] | None
    delta: bool = False
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Removal:
    """What was written to a channel takes a message out of the state; ``id`` None: everything that it held."""

    id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a state says of a captured channel.

    Attributes:
        kept: the items of its messages, in order.
        whole: whether they are all of them; else they come to what it held.
        gone: ids of those that it held, and holds no longer.
    """

    kept: Sequence[bytes]
    whole: bool = True
    gone: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a thread stood after a checkpoint: what the channels held, what was hidden, and how far the state went.

    ``whole``: whether the checkpoint had all that the channels held, not just what came to it.
    """

    checkpoint_id: str
    whole: bool
    kept: Mapping[bytes, Sequence[bytes]]
    hidden: tuple[range, ...]
    next_seq: int
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done from which view on. ``skipped``: so many messages of each channel stand as they stood before."""

    view: View
    done: Followed
    skipped: Sequence[int]
    shown: int
    upto: int
