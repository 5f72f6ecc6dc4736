"""Summaries, held against their sources: ids, links, counts and times."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from lossless.dag.coverage import Extents
from lossless.dag.summaries import Summary, load_summaries, sources_of, span_key, summary_id
from lossless.errors import LosslessError
from lossless.integrity.report import Finding
from lossless.integrity.spine import Spine
from lossless.store.keys import ThreadKey
from lossless.store.namespaces import name_secret
from lossless.store.tables import SummaryRow

__all__ = ["summary_findings"]

_SUMMARY = SummaryRow.__table__  # type: ignore[attr-defined]


def summary_findings(connection: Connection, key: ThreadKey, spine: Spine, extents: Extents) -> Iterator[Finding]:
    """Check every summary that was ever made in a thread, shown or not."""
    statement = select(_SUMMARY.c.id).where(_SUMMARY.c.namespace == key.namespace, _SUMMARY.c.thread_id == key.thread_id)
    secret = name_secret(connection, key.namespace)
    for id in list(connection.execute(statement.order_by(_SUMMARY.c.id)).scalars()):
        try:
            summary = load_summaries(connection, key, [id])[id]
            sources = sources_of(connection, key, id)
            problems = [
                *_own_problems(summary, sources, secret),
                *_source_problems(connection, key, summary, sources, spine, extents),
            ]
        except LosslessError as error:
            problems = [f"can't be read: {error.message}"]
        yield from (Finding(kind="summary", text=f"summary {id} {problem}", thread_id=key.thread_id) for problem in problems)


def _own_problems(summary: Summary, sources: tuple[int | str, ...], secret: bytes | None) -> Iterator[str]:
    if summary.span_key != span_key(summary.policy, sources):
        yield "has other sources than it was made from"
    if summary.id != summary_id(summary.span_key, summary.text, secret, degraded=summary.degraded):
        yield "was changed: its text does not match its id"
    if not sources:
        yield "has no sources"
    if not 0 <= summary.kept <= summary.total:
        yield "keeps more source items than there are"


def _source_problems(
    connection: Connection,
    key: ThreadKey,
    summary: Summary,
    sources: tuple[int | str, ...],
    spine: Spine,
    extents: Extents,
) -> Iterator[str]:
    under = load_summaries(connection, key, [source for source in sources if isinstance(source, str)])
    if summary.depth != max((child.depth + 1 for child in under.values()), default=0):
        yield "has another depth than its sources say"
    ranges = extents.of_summary(summary.id)
    seqs = [seq for first, last in ranges for seq in (first, last)]
    if not seqs:
        return
    if (seqs[0], seqs[-1], max(seqs)) != (summary.first_seq, summary.last_seq, summary.newest_seq):
        yield "stands for other messages than it says"
    if sum(last - first + 1 for first, last in ranges) != summary.messages:
        yield "stands for another number of messages than it says"
    indexes = [spine.index(seq) for seq in seqs]
    if None in indexes:
        yield "stands for messages that are not there"
        return
    spans = [
        (start, stop) for start, stop in zip(indexes[::2], indexes[1::2], strict=True) if start is not None and stop is not None
    ]
    if sum(sum(spine.tokens[start : stop + 1]) for start, stop in spans) != summary.source_tokens:
        yield "has another number of source tokens than its messages"
    times = [(min(spine.times[start : stop + 1]), max(spine.times[start : stop + 1])) for start, stop in spans]
    if (min(early for early, _late in times), max(late for _early, late in times)) != (summary.earliest_at, summary.latest_at):
        yield "has other times than its messages"
