"""Views: ordered segments that stand for a thread's history."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from lossless.dag import vector
from lossless.dag.segments import Hidden, Raw, Segment, SummaryRef, Tail, from_json, to_json
from lossless.locks import ForkLock

__all__ = ["GENESIS", "View", "ViewStore"]


@dataclass(frozen=True, slots=True)
class View:
    """Ordered segments; the last one is the tail."""

    segments: tuple[Segment, ...]

    @property
    def tail(self) -> Tail:
        """The open-ended range at the end."""
        last = self.segments[-1]
        assert isinstance(last, Tail)
        return last

    @property
    def summaries(self) -> Iterator[SummaryRef]:
        """The summaries in it, oldest first."""
        return (segment for segment in self.segments if isinstance(segment, SummaryRef))

    def tokens(self, total_tokens: int) -> int:
        """Give the tokens of the whole view, rendered, when the thread's messages sum up to ``total_tokens``."""
        closed = sum(segment.tokens for segment in self.segments if isinstance(segment, (Raw, SummaryRef)))
        return closed + total_tokens - self.tail.base

    def messages(self, next_seq: int) -> int:
        """Count the messages that it represents: all but the hidden ones."""
        count = next_seq - self.tail.first
        for segment in self.segments:
            if isinstance(segment, Raw):
                count += segment.last - segment.first + 1
            elif isinstance(segment, SummaryRef):
                count += segment.messages
        return count

    def hidden(self) -> list[range]:
        """Give the seqs that are hidden."""
        return [range(segment.first, segment.last + 1) for segment in self.segments if isinstance(segment, Hidden)]

    def replaced(self, start: int, stop: int, segments: Iterable[Segment]) -> View:
        """Give a view in which the segments ``start`` to ``stop`` (exclusive) are replaced."""
        return View((*self.segments[:start], *segments, *self.segments[stop:]))


GENESIS = View((Tail(first=1, base=0),))
"""The view of a thread without messages."""


class ViewStore:
    """Stores views and loads them, the recently used ones from memory. Views are immutable, so the memory can't be stale."""

    def __init__(self, keep: int = 512) -> None:
        self._keep = keep
        self._lock = ForkLock()
        self._recent: OrderedDict[tuple[str, bytes], View] = OrderedDict()

    def store(self, connection: Connection, namespace: str, view: View) -> bytes:
        """Store a view and give its address (32 bytes)."""
        return vector.store(connection, namespace, _elements(view.segments))

    @staticmethod
    def address(view: View) -> bytes:
        """Give the address that a view has or would have (32 bytes)."""
        return vector.address(_elements(view.segments))

    def load(self, connection: Connection, namespace: str, address: bytes) -> View:
        """Load a view by its address."""
        key = (namespace, address)
        with self._lock:
            if key in self._recent:
                self._recent.move_to_end(key)
                return self._recent[key]
        view = View(tuple(from_json(element) for element in vector.load(connection, namespace, address)))
        with self._lock:
            self._recent[key] = view
            while len(self._recent) > self._keep:
                self._recent.popitem(last=False)
        return view


def _elements(segments: Sequence[Segment]) -> list[object]:
    return [to_json(segment) for segment in segments]
