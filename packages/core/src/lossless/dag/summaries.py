"""Summaries: the nodes of the DAG, their sources, and the walk from a summary down to its messages and up to its parents."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select

from lossless.dag.notes import open_note, sealed_note
from lossless.errors import CorruptError, NotFoundError
from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new
from lossless.store.tables import SummaryChildRow, SummaryMessageRow, SummaryRow
from lossless.store.vault import vault_of

__all__ = [
    "Summary",
    "by_span",
    "directly_over",
    "home",
    "is_damaged",
    "load_summaries",
    "messages_under",
    "parents_of",
    "sources_of",
    "span_key",
    "store_summary",
    "summary_id",
]

_SUMMARY = SummaryRow.__table__  # type: ignore[attr-defined]
_MESSAGES = SummaryMessageRow.__table__  # type: ignore[attr-defined]
_CHILDREN = SummaryChildRow.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A node of the DAG: a leaf over messages, or condensed over summaries and the few messages that stood between them.

    Attributes:
        id: derived from sources, text and policy.
        depth: 0 for a leaf, else one more than its children's.
        text: the note, without the frame it is rendered in.
        items: the kept source items, as plain dicts; ``decisions`` likewise.
        kept: source items that can be read from the text, of ``total``.
        tokens: as rendered; ``source_tokens``: of what it stands for.
        messages: how many messages it stands for, ``first_seq`` to ``last_seq``.
        newest_seq: the highest seq under it, which is not the last one where a revision stands in an older place.
        earliest_at: time of its earliest message, microseconds; ``latest_at`` of its latest.
        level: the level of escalation that wrote it, 1 to 3.
        degraded: written without a model because the model failed, or in haste after a revision.
        usage: what the calls for it took, as a plain dict; empty where no model was called.
        span_key: names sources and policy.
        sources: what it was made from, in order: seqs of messages and ids of summaries; empty where not loaded.
    """

    id: str
    depth: int
    text: str
    items: tuple[dict[str, Any], ...]
    decisions: tuple[dict[str, Any], ...]
    kept: int
    total: int
    regime: str
    tokens: int
    source_tokens: int
    messages: int
    first_seq: int
    last_seq: int
    newest_seq: int
    earliest_at: int
    latest_at: int
    policy: str
    level: int
    degraded: bool
    span_key: bytes
    sources: tuple[int | str, ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """``leaf`` or ``condensed``."""
        return "leaf" if self.depth == 0 else "condensed"


def span_key(policy: str, sources: Sequence[int | str]) -> bytes:
    """Name what a summary is made from and by which policy, so that a finished one can be used again (32 bytes)."""
    named = json.dumps([policy, list(sources)], separators=(",", ":"))
    return hashlib.sha256(b"lossless span\0" + named.encode("utf-8", "surrogatepass")).digest()


def summary_id(span: bytes, text: str, secret: bytes | None, *, degraded: bool) -> str:
    """Derive a summary's id from its span key, its text and whether it is degraded.

    One that was written because a model failed is another summary than one with the same words that was meant so: it is
    written again later. ``secret`` keys the id where ids must tell nobody what a text is not.
    """
    named = span + text.encode("utf-8", "surrogatepass") + (b"\0degraded" if degraded else b"")  # no text has a NUL
    digest = hashlib.sha256(named).digest() if secret is None else hmac.digest(secret, named, "sha256")
    return "sum_" + digest.hex()[:16]


def store_summary(connection: Connection, key: ThreadKey, summary: Summary, now: int) -> None:
    """Store a summary and its sources; a summary that is there already stays as it is."""
    identity = {"namespace": key.namespace, "thread_id": key.thread_id}
    row = {
        **identity,
        **{name: getattr(summary, name) for name in _PLAIN_FIELDS},
        "kind": summary.kind,
        **_sealed(connection, key, summary),
        "degraded": int(summary.degraded),
        "usage": json.dumps(dict(summary.usage), separators=(",", ":")) if summary.usage else "",
        "created_at": now,
    }
    if _INSERT_NEW.run(connection, row) == 0:
        return
    named = [(n, {**identity, "summary_id": summary.id, "ordinal": n}) for n in range(len(summary.sources))]
    seqs = [
        {**row, "seq": source, "source_thread": key.owner(source)}
        for (n, row) in named
        if isinstance(source := summary.sources[n], int)
    ]
    children = [
        {**row, "child_id": source, "source_thread": home(connection, key, source)}
        for (n, row) in named
        if isinstance(source := summary.sources[n], str)
    ]
    if seqs:
        _INSERT_MESSAGES.run(connection, *seqs)
    if children:
        _INSERT_CHILDREN.run(connection, *children)


def _sealed(connection: Connection, key: ThreadKey, summary: Summary) -> dict[str, str | bytes]:
    """Give the columns that tell content as they are stored."""
    vault = vault_of(connection)
    place = key.namespace, key.thread_id, summary.id
    return {
        "text": vault.seal_text(summary.text, "text of summary", *place),
        "note": sealed_note(vault, place, summary.items, summary.decisions),
    }


_PLAIN_FIELDS = (
    "id",
    "depth",
    "kept",
    "total",
    "regime",
    "tokens",
    "source_tokens",
    "messages",
    "first_seq",
    "last_seq",
    "newest_seq",
    "earliest_at",
    "latest_at",
    "policy",
    "level",
    "span_key",
)


def load_summaries(connection: Connection, key: ThreadKey, ids: Sequence[str]) -> dict[str, Summary]:
    """Load summaries by id, without their sources (``sources`` stays empty).

    Raises:
        NotFoundError: one of them is not in the thread.
    """
    found: dict[str, Summary] = {}
    for id in ids:
        row = next(_in_lineage(_BY_ID, connection, key, id=id), None)
        if row is None:
            raise NotFoundError(f"there is no summary {id} in thread {key.thread_id}", hint="see the items of context()")
        found[id] = _summary(connection, row)
    return found


def by_span(connection: Connection, key: ThreadKey, span: bytes) -> Summary | None:
    """Find a summary of the same sources by the same policy that is not degraded."""
    for row in _in_lineage(_BY_SPAN, connection, key, span_key=span):
        with suppress(CorruptError):
            found = _summary(connection, row)
            _check_sources(connection, key, found)
            return found
    return None


def is_damaged(connection: Connection, key: ThreadKey, id: str) -> bool:
    """Tell whether a summary was changed behind the store's back, or has lost sources; one that is not there was not."""
    try:
        _check_sources(connection, key, load_summaries(connection, key, [id])[id])
    except NotFoundError:
        return False
    except CorruptError:
        return True
    return False


def _check_sources(connection: Connection, key: ThreadKey, summary: Summary) -> None:
    if span_key(summary.policy, sources_of(connection, key, summary.id)) != summary.span_key:
        raise CorruptError(f"summary {summary.id} has lost sources", hint="run `lossless doctor`")


def sources_of(connection: Connection, key: ThreadKey, id: str) -> tuple[int | str, ...]:
    """Give what is right under a summary, in order: seqs of messages and ids of summaries."""
    wanted = {"namespace": key.namespace, "thread_id": home(connection, key, id), "summary_id": id}
    found = [*_OWN_MESSAGES.all(connection, wanted), *_OWN_CHILDREN.all(connection, wanted)]
    return tuple(source for _ordinal, source in sorted(found, key=lambda pair: pair[0]))


def parents_of(connection: Connection, key: ThreadKey, id: str) -> tuple[str, ...]:
    """Give the condensed summaries right above a summary."""
    return tuple(row.summary_id for row in _in_lineage(_PARENTS, connection, key, child_id=id))


def messages_under(connection: Connection, key: ThreadKey, id: str, *, start: int = 0, stop: int | None = None) -> list[int]:
    """Give the seqs of the messages under a summary, in order, however deep they are.

    Args:
        connection: a connection that sees the summary.
        key: the thread.
        id: of the summary.
        start: how many messages to leave out; summaries that stand for no others are not opened.
        stop: where to end, counted as ``start``; None: at the last.
    """
    found: list[int] = []
    place = 0
    waiting: list[_Under] = [_Under(id, home(connection, key, id), None)]
    while waiting and (stop is None or place < stop):
        source, thread_id, messages = waiting.pop()
        if isinstance(source, int):
            if place >= start:
                found.append(source)
            place += 1
        elif messages is not None and place + messages <= start:
            place += messages
        else:
            waiting.extend(reversed(_right_under(connection, key, source, thread_id)))
    return found


class _Under(NamedTuple):
    """A source of a summary: a message's seq, or a summary's id with the thread that stores it and how many messages it has."""

    source: int | str
    thread_id: str
    messages: int | None


def _right_under(connection: Connection, key: ThreadKey, id: str, thread_id: str) -> list[_Under]:
    wanted = {"namespace": key.namespace, "thread_id": thread_id, "summary_id": id}
    found = [(row.ordinal, _Under(row.seq, thread_id, 1)) for row in _OWN_MESSAGES.all(connection, wanted)]
    for row in _SIZED_CHILDREN.all(connection, wanted):
        found.append((row.ordinal, _Under(row.child_id, row.source_thread, row.messages)))
    return [under for _ordinal, under in sorted(found, key=lambda pair: pair[0])]


def directly_over(connection: Connection, key: ThreadKey, seq: int) -> tuple[str, ...]:
    """Give the summaries that were ever made right over a message."""
    return tuple(row.summary_id for row in _in_lineage(_OVER, connection, key, seq=seq))


def home(connection: Connection, key: ThreadKey, id: str) -> str:
    """Give the thread that a summary is stored in: the thread itself, or one that it was branched from.

    Raises:
        NotFoundError: it is in none of them.
    """
    if not key.inherited:
        return key.thread_id
    row = next(_in_lineage(_HOME, connection, key, id=id), None)
    if row is None:
        raise NotFoundError(f"there is no summary {id} in thread {key.thread_id}", hint="see the items of context()")
    return str(row.thread_id)


def _in_lineage(statement: Prepared, connection: Connection, key: ThreadKey, **values: object) -> Iterator[Any]:
    """Run a statement in a thread and in those that it was branched from, up to where it was cut, the thread itself first."""
    for thread_id, until in key.lineage():
        wanted = {"namespace": key.namespace, "thread_id": thread_id, "until": 2**62 if until is None else until}
        yield from statement.all(connection, {**wanted, "since": key.since, **values})


def _of(table: Any) -> Any:
    return (table.c.namespace == bindparam("namespace")) & (table.c.thread_id == bindparam("thread_id"))


def _its_summary(sources: Any) -> Any:
    return (
        (_SUMMARY.c.namespace == sources.c.namespace)
        & (_SUMMARY.c.thread_id == sources.c.thread_id)
        & (_SUMMARY.c.id == sources.c.summary_id)
    )


_VISIBLE = _SUMMARY.c.newest_seq.between(bindparam("since"), bindparam("until"))
_INSERT_NEW = Prepared(insert_new(_SUMMARY))
# What a summary that was lost has left behind is the same: its id names its sources.
_INSERT_MESSAGES = Prepared(insert_new(_MESSAGES))
_INSERT_CHILDREN = Prepared(insert_new(_CHILDREN))
_BY_ID = Prepared(select(_SUMMARY).where(_of(_SUMMARY), _SUMMARY.c.id == bindparam("id"), _VISIBLE))
_HOME = Prepared(select(_SUMMARY.c.thread_id).where(_of(_SUMMARY), _SUMMARY.c.id == bindparam("id"), _VISIBLE))
_BY_SPAN = Prepared(
    select(_SUMMARY)
    .where(_of(_SUMMARY), _SUMMARY.c.span_key == bindparam("span_key"), _SUMMARY.c.degraded == 0, _VISIBLE)
    .order_by(_SUMMARY.c.id)
)
_OWN_MESSAGES = Prepared(
    select(_MESSAGES.c.ordinal, _MESSAGES.c.seq).where(_of(_MESSAGES), _MESSAGES.c.summary_id == bindparam("summary_id"))
)
_OWN_CHILDREN = Prepared(
    select(_CHILDREN.c.ordinal, _CHILDREN.c.child_id).where(_of(_CHILDREN), _CHILDREN.c.summary_id == bindparam("summary_id"))
)
_SIZED_CHILDREN = Prepared(
    select(_CHILDREN.c.ordinal, _CHILDREN.c.child_id, _CHILDREN.c.source_thread, _SUMMARY.c.messages)
    .join(
        _SUMMARY,
        (_SUMMARY.c.namespace == _CHILDREN.c.namespace)
        & (_SUMMARY.c.thread_id == _CHILDREN.c.source_thread)
        & (_SUMMARY.c.id == _CHILDREN.c.child_id),
    )
    .where(_of(_CHILDREN), _CHILDREN.c.summary_id == bindparam("summary_id"))
)
_PARENTS = Prepared(
    select(_CHILDREN.c.summary_id)
    .join(_SUMMARY, _its_summary(_CHILDREN))
    .where(_of(_CHILDREN), _CHILDREN.c.child_id == bindparam("child_id"), _VISIBLE)
    .order_by(_CHILDREN.c.summary_id)
)
_OVER = Prepared(
    select(_MESSAGES.c.summary_id)
    .join(_SUMMARY, _its_summary(_MESSAGES))
    .where(_of(_MESSAGES), _MESSAGES.c.seq == bindparam("seq"), _VISIBLE)
    .order_by(_MESSAGES.c.summary_id)
)


def _summary(connection: Connection, row: Any) -> Summary:
    vault, place = vault_of(connection), (row.namespace, row.thread_id, row.id)
    items, decisions = open_note(vault, place, row.note)
    plain = {name: getattr(row, name) for name in _PLAIN_FIELDS}
    try:
        usage = json.loads(row.usage) if row.usage else {}
    except ValueError as error:
        raise CorruptError(f"the usage of summary {row.id} can't be read", hint="run `lossless verify`") from error
    text = vault.unseal_text(row.text, "text of summary", *place)
    degraded = bool(row.degraded)
    if not vault.encrypts and row.id != summary_id(row.span_key, text, None, degraded=degraded):  # a cipher proves it by itself
        raise CorruptError(f"the text of summary {row.id} was changed", hint="run `lossless doctor`")
    return Summary(**plain, text=text, degraded=degraded, usage=usage, items=items, decisions=decisions)
