"""Wording: what messages say that are about to go, for their call ids and search tokens; of what can't be read, nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from lossless.errors import LosslessError
from lossless.messages import Format
from lossless.messages.parts import Part
from lossless.messages.payload import decode
from lossless.store.keys import ThreadKey
from lossless.store.namespaces import read_secret
from lossless.store.payloads import verified_payload
from lossless.store.tables import BlobRow, MessageRow
from lossless.store.usual import whole_row
from lossless.store.vault import vault_of

__all__ = ["worded"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_BLOB = BlobRow.__table__  # type: ignore[attr-defined]


def worded(
    connection: Connection, key: ThreadKey, seqs: Sequence[int], formats: Mapping[str, Format]
) -> Iterator[tuple[Any, bytes | None, tuple[Part, ...] | None]]:
    """Give the rows of messages that are not erased, each with its payload and what that says.

    There is no payload where it is damaged, and nothing is said where no format reads it as it did when it was stored.
    """
    secret, vault = read_secret(connection, key.namespace) or b"", vault_of(connection)
    statement = (
        select(*whole_row(), _BLOB.c.codec, _BLOB.c.size, _BLOB.c.data)
        .join(_BLOB, (_BLOB.c.namespace == _MESSAGE.c.namespace) & (_BLOB.c.digest == _MESSAGE.c.digest), isouter=True)
        .where(
            _MESSAGE.c.namespace == key.namespace,
            _MESSAGE.c.thread_id == key.thread_id,
            _MESSAGE.c.seq.in_(seqs),
            _MESSAGE.c.salt.is_not(None),
        )
    )
    for row in connection.execute(statement).all():
        try:
            data = verified_payload(vault, key, row, secret)
        except LosslessError:
            yield row, None, None
        else:
            yield row, data, _said(formats.get(row.format), data)


def _said(reader: Format | None, data: bytes) -> tuple[Part, ...] | None:
    if reader is None:
        return None
    try:
        return tuple(reader.read(decode(data)))
    except Exception:  # a format is a stranger's code, and what it can't read any more has to go all the same
        return None
