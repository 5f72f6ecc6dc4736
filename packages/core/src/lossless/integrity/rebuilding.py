"""Rebuilding a view: what of it is sound stays, and the messages that it then misses stand in it as themselves."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from lossless.dag.coverage import Extents
from lossless.dag.opening import ref_to, runs
from lossless.dag.segments import Hidden, Segment, SummaryRef, Tail
from lossless.dag.summaries import load_summaries, sources_of, span_key, summary_id
from lossless.dag.view import View
from lossless.errors import LosslessError
from lossless.integrity.spine import Spine
from lossless.store.keys import ThreadKey
from lossless.store.namespaces import name_secret
from lossless.store.tables import MessageRow

__all__ = ["rebuilt"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_ANY = 2**62


def rebuilt(connection: Connection, key: ThreadKey, view: View, next_seq: int, spine: Spine) -> View:
    """Give a view of all messages below ``next_seq`` that keeps what is sound of another one; a sound view is given as it is.

    A summary that can't be read, does not match its id or its sources, or covers what is covered already gives way to the
    messages that are then in no segment. They stand where their places say; replaced ones are hidden.
    """
    extents = Extents(connection, key)
    taken: set[int] = set()
    kept: list[tuple[list[int], Segment]] = []
    for segment in view.segments:
        seqs = _sound(connection, key, segment, extents, next_seq)
        if seqs and taken.isdisjoint(seqs):
            taken.update(seqs)
            kept.append((seqs, segment))
    missing = sorted((seq for seq in spine.seqs if seq < next_seq and seq not in taken), key=lambda seq: (spine.place(seq), seq))
    replaced = _replaced(connection, key) if missing else set()
    segments: list[Segment] = []
    for seqs, segment in kept:
        if not isinstance(segment, Hidden):
            before = [seq for seq in missing if spine.place(seq) < spine.place(seqs[0])]
            missing = missing[len(before) :]
            segments.extend(_shown(connection, key, before, replaced))
        segments.extend(_again(connection, key, segment, seqs, spine))
    if segments and isinstance(segments[-1], Tail) and not missing:
        return View(tuple(segments))
    closed = [each for segment in segments for each in _closed(connection, key, segment, next_seq)]
    closed.extend(_shown(connection, key, missing, replaced))
    return View((*closed, Tail(next_seq, spine.total(next_seq - 1) or 0)))


def _sound(connection: Connection, key: ThreadKey, segment: Segment, extents: Extents, next_seq: int) -> list[int]:
    """Give the messages that a segment stands for, or none where it can't be kept."""
    if isinstance(segment, Tail):
        return list(range(segment.first, next_seq)) if segment.first >= 1 else []
    if not isinstance(segment, SummaryRef):
        return list(range(segment.first, segment.last + 1)) if 1 <= segment.first <= segment.last < next_seq else []
    try:
        summary = load_summaries(connection, key, [segment.id])[segment.id]
        sources = sources_of(connection, key, segment.id)
        found = [seq for first, last in extents.of_summary(segment.id) for seq in range(first, last + 1)]
    except LosslessError:
        return []
    secret = name_secret(connection, key.namespace)
    id = summary_id(summary.span_key, summary.text, secret, degraded=summary.degraded)
    sound = (span_key(summary.policy, sources), id) == (summary.span_key, summary.id)
    return found if sound and len(set(found)) == len(found) == summary.messages and max(found) < next_seq else []


def _again(connection: Connection, key: ThreadKey, segment: Segment, seqs: list[int], spine: Spine) -> list[Segment]:
    """Make a segment again from what is stored, in case that it said something else."""
    if isinstance(segment, SummaryRef):
        return [ref_to(load_summaries(connection, key, [segment.id])[segment.id])]
    if isinstance(segment, Tail):
        return [Tail(segment.first, spine.total(segment.first - 1) or 0)]
    return [segment] if isinstance(segment, Hidden) else runs(connection, key, seqs)


def _closed(connection: Connection, key: ThreadKey, segment: Segment, next_seq: int) -> list[Segment]:
    return runs(connection, key, list(range(segment.first, next_seq))) if isinstance(segment, Tail) else [segment]


def _shown(connection: Connection, key: ThreadKey, seqs: list[int], replaced: set[int]) -> Iterator[Segment]:
    yield from (Hidden(seq, seq) for seq in seqs if seq in replaced)
    yield from runs(connection, key, [seq for seq in seqs if seq not in replaced])


def _replaced(connection: Connection, key: ThreadKey) -> set[int]:
    """Give the messages that have a revision."""
    found: set[int] = set()
    for thread_id, first, last in key.ranges(1, _ANY):
        statement = select(_MESSAGE.c.revises).where(
            _MESSAGE.c.namespace == key.namespace,
            _MESSAGE.c.thread_id == thread_id,
            _MESSAGE.c.revises.is_not(None),
            _MESSAGE.c.seq.between(first, last),
        )
        found.update(connection.execute(statement).scalars())
    return found
