"""Forgetting: a message's row comes to hold a placeholder, its search tokens go, and a tombstone is left."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, insert, null, select, update

from lossless.erasure.family import Target, chunked
from lossless.erasure.wording import worded
from lossless.messages import Format, encode, erased_payload, left_of, read_erased, searchable
from lossless.messages.parts import Part
from lossless.store.analyzer import analyzed
from lossless.store.blobs import stored_blob
from lossless.store.digests import blob_digest, commitment
from lossless.store.erasures import OpenErasure
from lossless.store.index import index_of
from lossless.store.keys import ThreadKey
from lossless.store.namespaces import read_secret
from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new
from lossless.store.tables import BlobRow, MessageRow, TombstoneRow
from lossless.store.vault import vault_of

__all__ = ["forget", "not_erased"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_BLOB = BlobRow.__table__  # type: ignore[attr-defined]
_TOMBSTONE = TombstoneRow.__table__  # type: ignore[attr-defined]


def not_erased(connection: Connection, namespace: str, targets: Collection[Target]) -> set[Target]:
    """Give those of some messages that are not erased yet."""
    found: set[Target] = set()
    for thread_id in {target.thread_id for target in targets}:
        for chunk in chunked(sorted(target.seq for target in targets if target.thread_id == thread_id)):
            statement = select(_MESSAGE.c.seq).where(
                _MESSAGE.c.namespace == namespace,
                _MESSAGE.c.thread_id == thread_id,
                _MESSAGE.c.seq.in_(chunk),
                _MESSAGE.c.salt.is_not(None),
            )
            found.update(Target(thread_id, seq) for seq in connection.execute(statement).scalars())
    return found


def forget(
    connection: Connection,
    namespace: str,
    targets: Collection[Target],
    formats: Callable[[], Mapping[str, Format]],
    erasure: OpenErasure,
    *,
    reason: str,
    now: int,
) -> dict[bytes, bytes]:
    """Put placeholders in the place of messages, but for those that are erased already.

    Returns:
        By the digests of what they held, what is left of them: their placeholders, each with the message's id.
    """
    secret = read_secret(connection, namespace) or b""
    freed: dict[bytes, bytes] = {}
    by_thread: dict[str, list[int]] = {}
    for target in sorted(targets):
        by_thread.setdefault(target.thread_id, []).append(target.seq)
    for thread_id, seqs in by_thread.items():
        key = ThreadKey(namespace, thread_id)
        for chunk in chunked(seqs):
            unread: dict[int, str | None] = {}
            for row, data, parts in worded(connection, key, chunk, formats()):
                left = _forget_one(connection, key, row, parts or (), secret)
                after = analyzed(searchable(read_erased(left)))
                if parts is None:
                    unread[row.seq] = after
                else:
                    index_of(connection).replace(connection, key, row.seq, analyzed(searchable(parts)), after)
                # What is damaged can't be committed to again: then the chain breaks here, and verify says so.
                committed = commitment(secret, row.salt, data or b"")
                _bury(connection, key, row, committed, erasure.number, reason, now)
                erasure.rows += 1
                freed[bytes(row.digest)] = left_of(row.id, left)
            if unread:
                index_of(connection).replace_unread(connection, key, unread)
    return freed


def _forget_one(connection: Connection, key: ThreadKey, row: Any, parts: tuple[Part, ...], secret: bytes) -> dict[str, Any]:
    payload = erased_payload(row.role, parts)
    data = encode(payload)
    digest = blob_digest(secret, data)
    _INSERT_BLOB.run(connection, stored_blob(vault_of(connection), key.namespace, digest, data))
    _EMPTY.run(connection, {"key_namespace": key.namespace, "key_thread": key.thread_id, "key_seq": row.seq, "to": digest})
    return payload


def _bury(connection: Connection, key: ThreadKey, row: Any, committed: bytes, number: int, reason: str, now: int) -> None:
    connection.execute(
        insert(_TOMBSTONE),
        {
            "namespace": key.namespace,
            "thread_id": key.thread_id,
            "seq": row.seq,
            "id": row.id,
            "hash": committed,
            "reason": vault_of(connection).seal_text(reason, "reason of tombstone", key.namespace, key.thread_id, str(row.seq)),
            "erased_at": now,
            "number": number,
        },
    )


_INSERT_BLOB = Prepared(insert_new(_BLOB))
_EMPTY = Prepared(
    update(_MESSAGE)
    .where(
        _MESSAGE.c.namespace == bindparam("key_namespace"),
        _MESSAGE.c.thread_id == bindparam("key_thread"),
        _MESSAGE.c.seq == bindparam("key_seq"),
    )
    .values(digest=bindparam("to"), salt=null())
)
