"""Splicing: a summary takes the place of what it was made from, in whatever view stands now.

Pure functions. A splice names its sources and not positions, so it can be made on the view it was prepared on, and again on
another one in which its sources still stand together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lossless.dag.segments import Hidden, Raw, Segment, SummaryRef, Tail
from lossless.dag.view import View

__all__ = ["Source", "Splice"]


@dataclass(frozen=True, slots=True)
class Source:
    """A message that a leaf is made from. ``total_tokens``: the thread's token sum up to and including it."""

    seq: int
    tokens: int
    total_tokens: int


@dataclass(frozen=True, slots=True)
class Splice:
    """A summary, and the messages and summaries that it replaces, in view order."""

    ref: SummaryRef
    sources: tuple[Source | SummaryRef, ...]

    def apply(self, view: View) -> View | None:
        """Give the view with the summary in place of its sources, or None if they don't stand together in it."""
        left: Sequence[Source | SummaryRef] = self.sources
        start = next((n for n, found in enumerate(view.segments) if _holds(found, left[0])), None)
        if start is None:
            return None
        before: list[Segment] = []
        hidden: list[Segment] = []
        for place, segment in enumerate(view.segments[start:], start):
            if isinstance(segment, Hidden):
                hidden.append(segment)
                continue
            taken = _run_within(segment, left)
            if taken == 0:
                return None
            earlier, later = _around(segment, left[0], left[taken - 1])
            left = left[taken:]
            if (earlier and place != start) or (later and left):
                return None  # something that is not a source stands between two sources
            before.extend(earlier)
            if not left:
                return view.replaced(start, place + 1, [*before, *hidden, self.ref, *later])
        return None


def _holds(segment: Segment, source: Source | SummaryRef) -> bool:
    if isinstance(source, SummaryRef):
        return isinstance(segment, SummaryRef) and segment.id == source.id
    if isinstance(segment, Raw):
        return segment.first <= source.seq <= segment.last
    return isinstance(segment, Tail) and source.seq >= segment.first


def _run_within(segment: Segment, sources: Sequence[Source | SummaryRef]) -> int:
    """Count the sources at the front that a segment holds: one summary, or messages that follow each other."""
    count = 0
    for source in sources:
        if not _holds(segment, source) or (isinstance(segment, SummaryRef) and count == 1):
            break
        if count and isinstance(source, Source) and source.seq != _seq(sources[count - 1]) + 1:
            break
        count += 1
    return count


def _seq(source: Source | SummaryRef) -> int:
    return source.seq if isinstance(source, Source) else 0


def _around(segment: Segment, first: Source | SummaryRef, last: Source | SummaryRef) -> tuple[list[Segment], list[Segment]]:
    """Give what is left of a range before and after a run of its messages."""
    earlier: list[Segment] = []
    later: list[Segment] = []
    if not isinstance(segment, (Raw, Tail)) or not isinstance(first, Source) or not isinstance(last, Source):
        return earlier, later
    if segment.first < first.seq:
        earlier.append(Raw(segment.first, first.seq - 1, segment.base, first.total_tokens - first.tokens))
    if isinstance(segment, Tail):
        later.append(Tail(last.seq + 1, last.total_tokens))
    elif last.seq < segment.last:
        later.append(Raw(last.seq + 1, segment.last, last.total_tokens, segment.end))
    return earlier, later
