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
from lossless.store.vault import vault_of

__all__ = ["SECRET_BYTES", "Secrets", "lock_namespace", "name_secret", "read_secret"]

SECRET_BYTES = 32
_NAMESPACE = NamespaceRow.__table__  # type: ignore[attr-defined]


class Secrets:
    """The secrets of a database's namespaces, each read once: they never change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, bytes] = {}

    def admit(self, namespace: str) -> None:
        """Check, if the namespace is there, that its content can be read and written.

        Raises:
            CipherError: it is encrypted by a key that is not given, or is not encrypted although there is a cipher.
        """
        if namespace not in self._known:
            with self._database.read() as connection:
                self.within(connection, namespace)

    def within(self, connection: Connection, namespace: str) -> bytes:
        """Give the secret that the stored digests of a namespace are keyed with; empty where nothing is stored yet.

        Raises:
            CipherError: as :meth:`admit`.
        """
        known = self._known.get(namespace)
        if known is not None:
            return known
        found = read_secret(connection, namespace)
        if found is None:
            return b""
        return self._known.setdefault(namespace, found)

    def make(self, namespace: str) -> bytes:
        """Give a namespace's secret, outside of any transaction; one that has none yet gets one. Every first write begins here.

        Raises:
            CipherError: as :meth:`admit`.
        """
        known = self._known.get(namespace)
        if known is not None:
            return known
        with self._database.read() as connection:
            found = read_secret(connection, namespace)
        if found is None:
            found = self._database.write(lambda connection: _create(connection, namespace))
        return self._known.setdefault(namespace, found)


def read_secret(connection: Connection, namespace: str) -> bytes | None:
    """Read a namespace's secret; None where nothing was ever stored.

    Raises:
        CipherError: it is encrypted by a key that is not given, or is not encrypted although there is a cipher.
    """
    row = _SECRET.first(connection, {"namespace": namespace})
    return None if row is None else vault_of(connection).opened_secret(namespace, row.secret, row.sealed_by)


def name_secret(connection: Connection, namespace: str) -> bytes | None:
    """Give what keys the names that tell content, such as ids of summaries; None where names need no key: without a cipher."""
    return read_secret(connection, namespace) if vault_of(connection).encrypts else None


def lock_namespace(connection: Connection, namespace: str) -> None:
    """Let nobody else lock it before this transaction ends."""
    _LOCK.first(connection, {"namespace": namespace})


def _create(connection: Connection, namespace: str) -> bytes:
    vault = vault_of(connection)
    secret = vault.sealed_secret(namespace, os.urandom(SECRET_BYTES))
    _INSERT.run(connection, {"namespace": namespace, "secret": secret, "sealed_by": vault.key_id})
    made = read_secret(connection, namespace)
    assert made is not None
    return made


_INSERT = Prepared(insert_new(_NAMESPACE))
_SECRET = Prepared(select(_NAMESPACE.c.secret, _NAMESPACE.c.sealed_by).where(_NAMESPACE.c.namespace == bindparam("namespace")))
_LOCK = Prepared(select(_NAMESPACE.c.secret).where(_NAMESPACE.c.namespace == bindparam("namespace")).with_for_update())
