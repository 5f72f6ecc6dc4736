"""Sharing: messages that checkpoints and the message store have in common.

A checkpoint names the blob of a message's payload, and its pool says so, so that nobody removes the blob.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from sqlalchemy import Connection, bindparam, delete, select

from lossless.checkpoints.several import Several
from lossless.errors import CorruptError
from lossless.store.blobs import payload_of, stored_blob
from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new
from lossless.store.tables import BlobRow, CheckpointShareRow
from lossless.store.vault import vault_of

__all__ = ["absent_messages", "load_messages", "share_messages", "shared_anywhere", "sweep_messages", "unnamed_messages"]

_BLOB = BlobRow.__table__  # type: ignore[attr-defined]
_SHARE = CheckpointShareRow.__table__  # type: ignore[attr-defined]

_FEW = 2
"""So many messages whose payloads are at hand are as a rule new: they are stored, unless they are there, without a question."""


def share_messages(
    connection: Connection, namespace: str, pool: int, digests: Collection[bytes], payloads: Mapping[bytes, bytes]
) -> bool:
    """Record that a pool names messages, and store the payloads of those that it did not name yet.

    Returns:
        False if one is neither named by the pool already, nor among the payloads; then nothing was done.
    """
    few = len(digests) <= _FEW and payloads.keys() >= set(digests)
    new = set(digests) if few else unnamed_messages(connection, namespace, pool, digests)
    if not new <= payloads.keys():
        return False
    ordered, vault = sorted(new), vault_of(connection)
    if ordered:
        _INSERT_BLOB.run(connection, *(stored_blob(vault, namespace, digest, payloads[digest]) for digest in ordered))
        _INSERT_SHARE.run(connection, *({"namespace": namespace, "pool": pool, "digest": digest} for digest in ordered))
    return True


def load_messages(connection: Connection, namespace: str, digests: Collection[bytes]) -> dict[bytes, bytes]:
    """Load the payloads of messages by digest; one that is not there, or can't be read, is left out."""
    vault, found = vault_of(connection), dict[bytes, bytes]()
    for row in _LOAD.rows(connection, {"namespace": namespace}, digests):
        with suppress(CorruptError):  # whoever reads the value says where in it a message is missing
            found[bytes(row.digest)] = payload_of(vault, namespace, row)
    return found


def sweep_messages(connection: Connection, namespace: str, pool: int, live: Collection[bytes]) -> None:
    """Let a pool name no messages but these. The blobs stay: threads may have them, and garbage is collected elsewhere."""
    held = connection.execute(_ALL, {"namespace": namespace, "pool": pool}).scalars()
    dead = sorted({bytes(digest) for digest in held} - set(live))
    if dead:
        _DELETE.run(connection, *({"in_namespace": namespace, "in_pool": pool, "one": digest} for digest in dead))


def absent_messages(connection: Connection, namespace: str, digests: Collection[bytes]) -> set[bytes]:
    """Give those of some digests of which there is no blob."""
    return set(digests) - {bytes(row.digest) for row in _HELD.rows(connection, {"namespace": namespace}, digests)}


def unnamed_messages(connection: Connection, namespace: str, pool: int, digests: Collection[bytes]) -> set[bytes]:
    """Give those of some digests that a pool does not say it shares."""
    named = _NAMED.rows(connection, {"namespace": namespace, "pool": pool}, digests)
    return set(digests) - {bytes(row.digest) for row in named}


def shared_anywhere(connection: Connection, namespace: str) -> set[bytes]:
    """Give the digests of all messages that checkpoints of a namespace name."""
    return {bytes(digest) for digest in connection.execute(_EVERY, {"namespace": namespace}).scalars()}


_OF_POOL = (_SHARE.c.namespace == bindparam("namespace"), _SHARE.c.pool == bindparam("pool"))
_ALL = select(_SHARE.c.digest).where(*_OF_POOL)
_EVERY = select(_SHARE.c.digest).where(_SHARE.c.namespace == bindparam("namespace")).distinct()
_NAMED = Several(lambda digests: _ALL.where(_SHARE.c.digest.in_(digests)))
_OF_NAMESPACE = _BLOB.c.namespace == bindparam("namespace")
_HELD = Several(lambda digests: select(_BLOB.c.digest).where(_OF_NAMESPACE, _BLOB.c.digest.in_(digests)))
_LOAD = Several(
    lambda digests: select(_BLOB.c.digest, _BLOB.c.codec, _BLOB.c.size, _BLOB.c.data).where(
        _OF_NAMESPACE, _BLOB.c.digest.in_(digests)
    )
)
_INSERT_BLOB = Prepared(insert_new(_BLOB))
_INSERT_SHARE = Prepared(insert_new(_SHARE))
_DELETE = Prepared(
    delete(_SHARE).where(
        _SHARE.c.namespace == bindparam("in_namespace"),
        _SHARE.c.pool == bindparam("in_pool"),
        _SHARE.c.digest == bindparam("one"),
    )
)
