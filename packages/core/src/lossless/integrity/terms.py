"""What the search index should hold of a message."""

from __future__ import annotations

from sqlalchemy import Connection

from lossless.errors import LosslessError
from lossless.messages import searchable
from lossless.store.analyzer import analyze
from lossless.store.index_mending import Terms
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader
from lossless.store.vault import vault_of

__all__ = ["terms_of"]


def terms_of(connection: Connection, reader: MessageReader) -> Terms:
    """Give what derives the tokens of a message; of an encrypted one nothing is indexed, and of one that can't be read, None."""
    sealed = vault_of(connection).encrypts

    def terms(namespace: str, thread_id: str, seq: int) -> str | None:
        try:
            found = reader.by_seq(connection, ThreadKey(namespace, thread_id), [seq], keep=False)
        except LosslessError:
            return None
        if not found:
            return None
        return "" if sealed else " ".join(analyze(searchable(found[0].parts)))

    return terms
