"""Coverage: every message of a thread is in its view exactly once (invariant 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection

from lossless.dag.segments import Hidden, SummaryRef, Tail
from lossless.dag.summaries import sources_of
from lossless.dag.view import View
from lossless.errors import CorruptError
from lossless.store.keys import ThreadKey

__all__ = ["Extents", "gaps_and_repeats"]


class Extents:
    """What a thread's summaries and views cover, as ranges of seqs (first, last) in the order in which they are shown.

    The ranges of a summary are kept, since many views show the same summaries.
    """

    def __init__(self, connection: Connection, key: ThreadKey) -> None:
        self._connection = connection
        self._key = key
        self._known: dict[str, tuple[tuple[int, int], ...]] = {}

    def of_summary(self, id: str) -> tuple[tuple[int, int], ...]:
        """Give what a summary covers, however deep it is: a long thread in a small window has one over the other.

        Raises:
            NotFoundError: it, or a summary under it, is not there.
            CorruptError: it stands under itself.
        """
        opened: dict[str, tuple[int | str, ...]] = {}
        waiting = [id]
        while waiting:
            top = waiting[-1]
            if top in self._known:
                waiting.pop()
                continue
            if top not in opened:
                opened[top] = sources_of(self._connection, self._key, top)
            below = [source for source in opened[top] if isinstance(source, str) and source not in self._known]
            if any(source in opened for source in below):
                raise CorruptError(f"summary {top} stands under itself", hint="run `lossless verify`; restore a backup")
            waiting.extend(below)
            if not below:
                self._known[top] = tuple(_joined(self._right_under(opened[top])))
        return self._known[id]

    def _right_under(self, sources: Iterable[int | str]) -> list[tuple[int, int]]:
        """Give what the sources of a summary cover, where that of the summaries among them is known."""
        found: list[tuple[int, int]] = []
        for source in sources:
            found.extend([(source, source)] if isinstance(source, int) else self._known[source])
        return found

    def of_view(self, view: View, next_seq: int) -> Iterator[tuple[int, int, bool]]:
        """Give what a view covers when the thread's next message is ``next_seq``, and of each range whether it is hidden."""
        for segment in view.segments:
            if isinstance(segment, SummaryRef):
                yield from ((first, last, False) for first, last in self.of_summary(segment.id))
            elif not isinstance(segment, Tail):
                yield segment.first, segment.last, isinstance(segment, Hidden)
            elif segment.first < next_seq:
                yield segment.first, next_seq - 1, False


def gaps_and_repeats(ranges: list[tuple[int, int]], next_seq: int) -> Iterator[str]:
    """Say which messages ranges miss, repeat or invent; nothing when they hold each up to ``next_seq`` exactly once."""
    expected = 1
    for first, last in sorted(ranges):
        if first > last or first < 1 or last >= next_seq:
            yield f"names messages that are not there, seq {first} to {last}"
            continue
        if first > expected:
            yield f"misses {first - expected} messages, the first is seq {expected}"
        elif first < expected:
            yield f"has message seq {first} more than once"
        expected = max(expected, last + 1)
    if expected < next_seq:
        yield f"misses {next_seq - expected} messages, the first is seq {expected}"


def _joined(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join ranges that follow each other."""
    held: tuple[int, int] | None = None
    for first, last in ranges:
        if held is not None and held[1] + 1 == first:
            held = (held[0], last)
        else:
            if held is not None:
                yield held
            held = (first, last)
    if held is not None:
        yield held
