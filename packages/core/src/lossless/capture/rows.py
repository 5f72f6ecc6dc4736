"""A thread's messages as what a state is held against: which message each is, and whether the view shows it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, select

from lossless.capture.following import Row
from lossless.capture.model import ErasedInStateError
from lossless.checkpoints.items import erased_item
from lossless.checkpoints.sharing import load_messages
from lossless.messages import decode, left_of
from lossless.store.ids import ById
from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.read import in_ranges
from lossless.store.tables import MessageRow, TombstoneRow
from lossless.store.usual import usual

__all__ = ["refuse_erased", "rows_from", "without_erased"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_TOMBSTONE = TombstoneRow.__table__  # type: ignore[attr-defined]
_ANY = 2**62
"""Above every seq."""


def rows_from(connection: Connection, key: ThreadKey, first: int, hidden: Sequence[range]) -> list[Row] | None:
    """Give the messages of a thread from a seq on, by place; None if one of them stands before that seq, being a revision."""
    found = in_ranges(_ROWS, connection, key, first, _ANY)
    if any(row.place < first for row in found):
        return None
    found.sort(key=lambda row: (row.place, row.seq))
    gone = {seq for each in hidden for seq in range(max(each.start, first), each.stop)}
    left = _left(connection, key.namespace, {row.id: row.digest for row in found if row.salt is None})
    return [
        Row(
            row.seq,
            row.id,
            bytes(row.digest) if row.salt is not None else erased_item(left[row.id]),
            row.seq not in gone,
            row.role == "tool",
        )
        for row in found
    ]


def without_erased(connection: Connection, key: ThreadKey, ids: Sequence[str]) -> dict[str, bytes]:
    """Give those of some ids that are of erased messages of a thread, each with what is left of it."""
    digests: dict[str, bytes] = {}
    for thread_id, first, last in key.ranges(1, _ANY):
        if _ANY_ERASED.first(connection, {"namespace": key.namespace, "thread_id": thread_id}) is None:
            continue
        for id in ids:
            within = {"namespace": key.namespace, "thread_id": thread_id, "id": id, "first": first, "last": last}
            for row in _ERASED.all(connection, within):
                digests[id] = bytes(row.digest)
    return _left(connection, key.namespace, digests)


def refuse_erased(connection: Connection, keys: Sequence[ThreadKey], ids: Sequence[str]) -> None:
    """Refuse messages that were erased in one of some threads.

    Raises:
        ErasedInStateError: one of the ids is of such a message.
    """
    erased: dict[str, bytes] = {}
    for key in keys if ids else ():
        erased |= without_erased(connection, key, ids)
    if erased:
        raise ErasedInStateError(erased)


def _left(connection: Connection, namespace: str, digests: dict[str, bytes]) -> dict[str, bytes]:
    """Give what is left of erased messages, by id, from the digests of their placeholders."""
    if not digests:
        return {}
    found = load_messages(connection, namespace, {bytes(digest) for digest in digests.values()})
    payloads = {id: decode(found[bytes(digest)]) if bytes(digest) in found else {} for id, digest in digests.items()}
    return {id: left_of(id, payload) for id, payload in payloads.items()}


_WITHIN = (
    _MESSAGE.c.namespace == bindparam("namespace"),
    _MESSAGE.c.thread_id == bindparam("thread_id"),
    _MESSAGE.c.seq.between(bindparam("first"), bindparam("last")),
)
_ROWS = Prepared(select(*usual("seq", "id", "place", "role", "digest", "salt")).where(*_WITHIN).order_by(_MESSAGE.c.seq))
_ERASED = ById(select(*usual("seq", "digest")).where(_MESSAGE.c.salt.is_(None)))
_ANY_ERASED = Prepared(
    select(_TOMBSTONE.c.seq)
    .where(_TOMBSTONE.c.namespace == bindparam("namespace"), _TOMBSTONE.c.thread_id == bindparam("thread_id"))
    .limit(1)
)
