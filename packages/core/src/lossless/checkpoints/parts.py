"""Parts: shared content of checkpoints, within a pool. They are inserted, loaded with all they refer to, and swept."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress

from sqlalchemy import Connection, bindparam, delete, func, select

from lossless.checkpoints.items import refers_to, shares
from lossless.checkpoints.several import Several
from lossless.checkpoints.sharing import load_messages, sweep_messages
from lossless.errors import CorruptError
from lossless.store.blobs import pack, unpack
from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new
from lossless.store.tables import CheckpointPartRow
from lossless.store.vault import vault_of

__all__ = ["absent_parts", "drop_pool", "inner_parts", "insert_parts", "load_part", "load_parts", "sweep_parts"]

_PART = CheckpointPartRow.__table__  # type: ignore[attr-defined]
_AT_ONCE = 500
"""Addresses in one statement."""


def insert_parts(connection: Connection, namespace: str, pool: int, parts: Mapping[bytes, bytes]) -> None:
    """Store parts but for those that are there, in the order of their addresses: writers wait for each other in one order."""
    vault, rows = vault_of(connection), []
    for digest, content in sorted(parts.items()):
        codec, packed = pack(content)
        data = vault.seal(packed, *_place(namespace, pool, digest))
        inner = int(next(refers_to(content), None) is not None or next(shares(content), None) is not None)
        rows.append(
            {"namespace": namespace, "pool": pool, "digest": digest, "inner": inner}
            | {"size": len(content), "codec": codec, "data": data}
        )
    if rows:
        _INSERT.run(connection, *rows)


def absent_parts(connection: Connection, namespace: str, pool: int, digests: Iterable[bytes]) -> set[bytes]:
    """Give those of some addresses that have no part."""
    wanted = set(digests)
    return wanted - {bytes(row.digest) for row in _HELD.rows(connection, {"namespace": namespace, "pool": pool}, wanted)}


def load_part(connection: Connection, namespace: str, pool: int, digest: bytes) -> bytes | None:
    """Load one part by itself, or give None."""
    row = next(iter(_LOAD_ONE.all(connection, {"namespace": namespace, "pool": pool, "digest": digest})), None)
    if row is None:
        return None
    return unpack(row.codec, row.size, vault_of(connection).unseal(row.data, *_place(namespace, pool, digest)))


def inner_parts(connection: Connection, namespace: str, pool: int) -> dict[bytes, bytes]:
    """Load all parts of a pool that may refer to others; one that can't be read is left out."""
    vault, found = vault_of(connection), dict[bytes, bytes]()
    for row in connection.execute(_ALL_INNER, {"namespace": namespace, "pool": pool}):
        digest = bytes(row.digest)
        with suppress(CorruptError):
            found[digest] = unpack(row.codec, row.size, vault.unseal(row.data, *_place(namespace, pool, digest)))
    return found


def load_parts(
    connection: Connection, namespace: str, pool: int, items: Iterable[bytes], held: Container[bytes] = ()
) -> dict[bytes, bytes]:
    """Load all parts and messages that items refer to, at any depth; one that is not there, or can't be read, is left out.

    Args:
        connection: a connection.
        namespace: the tenant.
        pool: the pool.
        items: what refers to them.
        held: addresses of what is left out, with all that it refers to.
    """
    vault, found, messages = vault_of(connection), dict[bytes, bytes](), set[bytes]()
    wanted: set[bytes] = set()
    for item in items:
        wanted.update(refers_to(item))
        messages.update(shares(item))
    wanted = {digest for digest in wanted if digest not in held}
    while wanted:
        level, wanted = wanted, set()
        for some in _groups(level):
            for row in connection.execute(_LOAD, {"namespace": namespace, "pool": pool, "digests": some}):
                digest = bytes(row.digest)
                try:
                    content = unpack(row.codec, row.size, vault.unseal(row.data, *_place(namespace, pool, digest)))
                except CorruptError:  # whoever reads the value says where in it a part is missing
                    continue
                found[digest] = content
                if row.inner:
                    wanted.update(refers_to(content))
                    messages.update(shares(content))
        wanted = {digest for digest in wanted if digest not in found and digest not in held}
        if wanted == level:
            break
    return found | load_messages(connection, namespace, {digest for digest in messages if digest not in held})


def sweep_parts(connection: Connection, namespace: str, pool: int, items: Iterable[bytes]) -> tuple[int, int]:
    """Remove the parts of a pool that nothing refers to any more, and give how many, and how many bytes they took.

    What the pool says it shares goes likewise.

    Args:
        connection: a connection in a write transaction that has locked the pool.
        namespace: the tenant.
        pool: the pool.
        items: all that checkpoints and writes are made of.
    """
    vault, live, level, messages = vault_of(connection), set[bytes](), set[bytes](), set[bytes]()
    for item in items:
        level.update(refers_to(item))
        messages.update(shares(item))
    while level:
        live |= level
        inner: set[bytes] = set()
        for some in _groups(level):
            for row in connection.execute(_NODES, {"namespace": namespace, "pool": pool, "digests": some}):
                sealed = vault.unseal(row.data, *_place(namespace, pool, bytes(row.digest)))
                content = unpack(row.codec, row.size, sealed)
                inner.update(refers_to(content))
                messages.update(shares(content))
        level = inner - live
    sweep_messages(connection, namespace, pool, messages)
    held = {bytes(row.digest): int(row.stored) for row in connection.execute(_ALL, {"namespace": namespace, "pool": pool})}
    dead = sorted(held.keys() - live)
    if dead:
        _DELETE.run(connection, *({"in_namespace": namespace, "in_pool": pool, "one": digest} for digest in dead))
    return len(dead), sum(held[digest] for digest in dead)


def drop_pool(connection: Connection, namespace: str, pool: int) -> None:
    """Remove all parts of a pool that no thread uses any more, and what it says it shares."""
    sweep_messages(connection, namespace, pool, ())
    connection.execute(delete(_PART).where(_PART.c.namespace == namespace, _PART.c.pool == pool))


def _place(namespace: str, pool: int, digest: bytes) -> tuple[str, ...]:
    return "part of a checkpoint", namespace, str(pool), digest.hex()


def _groups(digests: set[bytes]) -> Iterator[list[bytes]]:
    ordered = sorted(digests)
    for start in range(0, len(ordered), _AT_ONCE):
        yield ordered[start : start + _AT_ONCE]


_OF_POOL = (_PART.c.namespace == bindparam("namespace"), _PART.c.pool == bindparam("pool"))
_NAMED = _PART.c.digest.in_(bindparam("digests", expanding=True))
_INSERT = Prepared(insert_new(_PART))
_HELD = Several(lambda digests: select(_PART.c.digest).where(*_OF_POOL, _PART.c.digest.in_(digests)))
_LOAD = select(_PART.c.digest, _PART.c.inner, _PART.c.size, _PART.c.codec, _PART.c.data).where(*_OF_POOL, _NAMED)
_LOAD_ONE = Prepared(select(_PART.c.size, _PART.c.codec, _PART.c.data).where(*_OF_POOL, _PART.c.digest == bindparam("digest")))
_NODES = _LOAD.where(_PART.c.inner == 1)
_ALL_INNER = select(_PART.c.digest, _PART.c.size, _PART.c.codec, _PART.c.data).where(*_OF_POOL, _PART.c.inner == 1)
_ALL = select(_PART.c.digest, func.length(_PART.c.data).label("stored")).where(*_OF_POOL)
_DELETE = Prepared(
    delete(_PART).where(
        _PART.c.namespace == bindparam("in_namespace"),
        _PART.c.pool == bindparam("in_pool"),
        _PART.c.digest == bindparam("one"),
    )
)
