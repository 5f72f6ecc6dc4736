"""Describing and expanding: from an id in a context back to what it stands for."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from lossless.dag.summaries import directly_over, load_summaries, messages_under, parents_of, sources_of
from lossless.errors import NotFoundError
from lossless.messages.model import Message
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader, facts_of
from lossless.store.times import from_stored

__all__ = ["describe", "expand"]

_SOURCE_ROLES = ("user", "tool")


def expand(
    connection: Connection,
    key: ThreadKey,
    reader: MessageReader,
    id: str,
    *,
    sources_only: bool = False,
    offset: int = 0,
    limit: int | None = None,
) -> list[Message]:
    """Give the messages under a summary, or behind a message's id, verbatim and in order.

    Raises:
        NotFoundError: there is no such id in the thread.
    """
    start = max(0, offset)
    stop = None if limit is None else start + max(0, limit)
    message = reader.by_id(connection, key, id)
    if message is None:
        _must_be_summary(connection, key, id)
        if not sources_only:
            return reader.by_seq(connection, key, messages_under(connection, key, id, start=start, stop=stop))
    seqs = [message.seq] if message is not None else messages_under(connection, key, id)
    if sources_only:
        roles = {fact.seq: fact.role for fact in facts_of(connection, key, seqs) if not fact.injected}
        seqs = [seq for seq in seqs if roles.get(seq) in _SOURCE_ROLES]
    return reader.by_seq(connection, key, seqs[start:stop])


def describe(connection: Connection, key: ThreadKey, reader: MessageReader, id: str) -> dict[str, Any]:
    """Describe a summary or a message.

    Raises:
        NotFoundError: there is no such id in the thread.
    """
    message = reader.by_id(connection, key, id)
    if message is not None:
        return {
            "kind": "message",
            "id": message.id,
            "thread_id": key.thread_id,
            "seq": message.seq,
            "role": message.role,
            "format": message.format,
            "tokens": message.tokens,
            "exact": message.exact,
            "created_at": message.created_at,
            "revises": message.revises,
            "injected": message.injected,
            "bytes": len(message.data),
            "sources": [],
            "parents": list(directly_over(connection, key, message.seq)),
            "depth": None,
            "completeness": None,
            "degraded": False,
        }
    _must_be_summary(connection, key, id)
    summary = load_summaries(connection, key, [id])[id]
    return {
        "kind": "summary",
        "id": summary.id,
        "thread_id": key.thread_id,
        "shape": summary.kind,
        "depth": summary.depth,
        "tokens": summary.tokens,
        "source_tokens": summary.source_tokens,
        "messages": summary.messages,
        "first_seq": summary.first_seq,
        "last_seq": summary.last_seq,
        "earliest_at": from_stored(summary.earliest_at),
        "latest_at": from_stored(summary.latest_at),
        "sources": _source_ids(connection, key, id),
        "parents": list(parents_of(connection, key, id)),
        "completeness": {"kept": summary.kept, "total": summary.total},
        "regime": summary.regime,
        "policy": summary.policy,
        "level": summary.level,
        "degraded": summary.degraded,
        "usage": dict(summary.usage) or None,
        "text": summary.text,
    }


def _must_be_summary(connection: Connection, key: ThreadKey, id: str) -> None:
    try:
        load_summaries(connection, key, [id])
    except NotFoundError:
        raise NotFoundError(
            f"there is no message or summary {id} in thread {key.thread_id}", hint="see the items of context()"
        ) from None


def _source_ids(connection: Connection, key: ThreadKey, id: str) -> list[str]:
    sources = sources_of(connection, key, id)
    names = {fact.seq: fact.id for fact in facts_of(connection, key, [source for source in sources if isinstance(source, int)])}
    return [names[source] if isinstance(source, int) else source for source in sources]
