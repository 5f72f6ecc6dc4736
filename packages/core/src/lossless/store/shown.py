"""Which messages of a thread are shown: those that no hidden range holds, by place, told apart by their bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, literal_column, select

from lossless.store.erasures import tombstones
from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.read import facts_of, in_ranges
from lossless.store.tables import MessageRow
from lossless.store.usual import usual

__all__ = ["ShownMessage", "erased_kinds", "gaps_in", "shown_messages", "visible_messages"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_ANY = 2**62
"""Above every seq."""


def visible_messages(connection: Connection, key: ThreadKey, hidden: Sequence[tuple[int, int]]) -> list[tuple[int, bytes]]:
    """Give (seq, digest) of a thread's messages by place, without hidden ranges (first, end exclusive) and injected copies."""
    gone = {seq for first, stop in hidden for seq in range(first, stop)}
    rows = in_ranges(_DIGESTS, connection, key, 1, _ANY)
    rows.sort(key=lambda row: (row.place, row.seq))
    return [(row.seq, row.digest) for row in rows if row.seq not in gone]


_DIGESTS = Prepared(
    select(*usual("seq", "place", "digest"))
    .where(
        _MESSAGE.c.namespace == bindparam("namespace"),
        _MESSAGE.c.thread_id == bindparam("thread_id"),
        _MESSAGE.c.seq.between(bindparam("first"), bindparam("last")),
        _MESSAGE.c.injected == literal_column("0"),
    )
    .order_by(_MESSAGE.c.seq)
)


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message that a view shows or stands for."""

    seq: int
    id: str
    digest: bytes


def shown_messages(connection: Connection, key: ThreadKey, hidden: Sequence[tuple[int, int]]) -> list[ShownMessage]:
    """Give a thread's messages by place, without hidden ranges (first, end exclusive)."""
    gone = {seq for first, stop in hidden for seq in range(first, stop)}
    rows = in_ranges(_IDENTITIES, connection, key, 1, _ANY)
    rows.sort(key=lambda row: (row.place, row.seq))
    return [ShownMessage(row.seq, row.id, row.digest) for row in rows if row.seq not in gone]


_IDENTITIES = Prepared(
    select(*usual("seq", "id", "place", "digest"))
    .where(
        _MESSAGE.c.namespace == bindparam("namespace"),
        _MESSAGE.c.thread_id == bindparam("thread_id"),
        _MESSAGE.c.seq.between(bindparam("first"), bindparam("last")),
    )
    .order_by(_MESSAGE.c.seq)
)


def erased_kinds(connection: Connection, key: ThreadKey) -> dict[int, tuple[str, int]]:
    """Give what can still be told of a thread's erased messages, by seq: role and tokens."""
    seqs = [tombstone.seq for tombstone in tombstones(connection, key)]
    return {fact.seq: (fact.role, fact.tokens) for fact in facts_of(connection, key, seqs)} if seqs else {}


def gaps_in(seqs: Sequence[int], kinds: Mapping[int, tuple[str, int]]) -> dict[int, tuple[str, int]]:
    """Give the kinds of erased messages by their index in a list of seqs."""
    return {index: kinds[seq] for index, seq in enumerate(seqs) if seq in kinds} if kinds else {}
