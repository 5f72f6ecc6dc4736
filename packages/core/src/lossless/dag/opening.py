"""Opening a path: replacing a summary by what it stands for, down to single messages, along the affected path only.

Revision, removal, branching and erasure all need to change or cut inside a summary. The summary gives way to its children, the
child that is meant to its own children, and the leaf to whatever the caller makes of its messages: depth times fan-in segments,
and no model call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from sqlalchemy import Connection

from lossless.dag.segments import Raw, Segment, SummaryRef
from lossless.dag.summaries import Summary, directly_over, load_summaries, parents_of, sources_of
from lossless.dag.view import View
from lossless.store.keys import ThreadKey
from lossless.store.read import facts_of

__all__ = ["covering", "open_paths", "ref_to", "runs"]


def covering(connection: Connection, key: ThreadKey, view: View, seqs: Iterable[int]) -> dict[int, str]:
    """Give, for each message that is under a summary of the view, the id of that summary."""
    shown = {ref.id for ref in view.summaries}
    found: dict[int, str] = {}
    if not shown:
        return found
    for seq in seqs:
        above = shown.intersection(_ancestors(connection, key, seq))
        if above:
            found[seq] = min(above)
    return found


def open_paths(
    connection: Connection,
    key: ThreadKey,
    view: View,
    seqs: Iterable[int],
    message_segments: Callable[[tuple[int, ...]], Iterable[Segment]],
) -> View:
    """Give a view in which no summary stands for any of the messages.

    Args:
        connection: a connection that sees the view's summaries.
        key: the thread.
        view: the view to open.
        seqs: the messages that must be reached.
        message_segments: given messages that stood right under a summary that gives way, what is to stand for them.
    """
    touched = {id for seq in seqs for id in _ancestors(connection, key, seq)}

    def opened(ref: SummaryRef) -> Iterable[Segment]:
        if ref.id not in touched:
            return [ref]
        segments: list[Segment] = []
        sources = sources_of(connection, key, ref.id)
        summaries = load_summaries(connection, key, [source for source in sources if isinstance(source, str)])
        for is_message, group in groupby(sources, key=lambda source: isinstance(source, int)):
            if is_message:
                segments.extend(message_segments(tuple(source for source in group if isinstance(source, int))))
            else:
                segments.extend(found for id in group for found in opened(ref_to(summaries[str(id)])))
        return segments

    segments: list[Segment] = []
    for segment in view.segments:
        segments.extend(opened(segment) if isinstance(segment, SummaryRef) else [segment])
    return View(tuple(segments))


def ref_to(summary: Summary) -> SummaryRef:
    """Give the segment that shows a summary."""
    return SummaryRef(
        id=summary.id, depth=summary.depth, tokens=summary.tokens, messages=summary.messages, degraded=summary.degraded
    )


def runs(connection: Connection, key: ThreadKey, seqs: Sequence[int]) -> list[Segment]:
    """Give raw ranges for messages in the order given."""
    facts = {fact.seq: fact for fact in facts_of(connection, key, seqs)}
    found: list[Segment] = []
    for seq in seqs:
        last, fact = found[-1] if found else None, facts[seq]
        if isinstance(last, Raw) and last.last + 1 == seq:
            found[-1] = Raw(last.first, seq, last.base, fact.total_tokens)
        else:
            found.append(Raw(seq, seq, fact.total_tokens - fact.tokens, fact.total_tokens))
    return found


def _ancestors(connection: Connection, key: ThreadKey, seq: int) -> set[str]:
    """Give every summary that was ever made over a message, at any depth."""
    found: set[str] = set()
    level = set(directly_over(connection, key, seq))
    while level:
        found |= level
        level = {parent for id in level for parent in parents_of(connection, key, id)} - found
    return found
