"""Namespaces: the secret that a tenant's digests are keyed with, made by its first write.

Without it a digest says nothing: equal content has another digest in another namespace, and nobody who sees a digest can find out
what it is of by trying.
"""

from __future__ import annotations

import os

from sqlalchemy import Connection, bindparam, select

from lossless.store.database import Database
from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new
from lossless.store.tables import NamespaceRow

__all__ = ["SECRET_BYTES", "Secrets", "read_secret"]

SECRET_BYTES = 32
_NAMESPACE = NamespaceRow.__table__  # type: ignore[attr-defined]


class Secrets:
    """The secrets of a database's namespaces, each read once: they never change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, bytes] = {}

    def within(self, connection: Connection, namespace: str) -> bytes:
        """Give the secret that the stored digests of a namespace are keyed with; empty where nothing is stored yet."""
        known = self._known.get(namespace)
        if known is not None:
            return known
        found = read_secret(connection, namespace)
        if found is None:
            return b""
        return self._known.setdefault(namespace, found)

    def make(self, namespace: str) -> bytes:
        """Give a namespace's secret, outside of any transaction; one that has none yet gets one."""
        known = self._known.get(namespace)
        if known is not None:
            return known
        with self._database.read() as connection:
            found = read_secret(connection, namespace)
        if found is None:
            found = self._database.write(lambda connection: _create(connection, namespace))
        return self._known.setdefault(namespace, found)


def read_secret(connection: Connection, namespace: str) -> bytes | None:
    """Read a namespace's secret; None where nothing was ever stored."""
    row = _SECRET.first(connection, {"namespace": namespace})
    return None if row is None else bytes(row.secret)


def _create(connection: Connection, namespace: str) -> bytes:
    _INSERT.run(connection, {"namespace": namespace, "secret": os.urandom(SECRET_BYTES)})
    made = read_secret(connection, namespace)
    assert made is not None
    return made


_INSERT = Prepared(insert_new(_NAMESPACE))
_SECRET = Prepared(select(_NAMESPACE.c.secret).where(_NAMESPACE.c.namespace == bindparam("namespace")))
