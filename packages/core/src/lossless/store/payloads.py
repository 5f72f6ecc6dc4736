"""Payloads: the verbatim bytes of a stored message, held against their digest."""

from __future__ import annotations

from typing import Any

from lossless.errors import CorruptError
from lossless.store.blobs import payload_of
from lossless.store.digests import blob_digest
from lossless.store.keys import ThreadKey
from lossless.store.vault import Vault

__all__ = ["verified_payload"]


def verified_payload(vault: Vault, key: ThreadKey, row: Any, secret: bytes) -> bytes:
    """Give a message's verbatim payload.

    Raises:
        CipherError: it is sealed by a key that is not given.
        CorruptError: it is missing, can't be unsealed or unpacked, or does not match its digest.
    """
    try:
        data = None if row.data is None else payload_of(vault, key.namespace, row)
    except CorruptError as error:
        raise CorruptError(f"{_name(key, row)} is damaged: {error.message}", hint=error.hint) from None
    if data is None or blob_digest(secret, data) != row.digest:
        hint = "run `lossless verify`; restore a backup to get it back"
        raise CorruptError(f"{_name(key, row)} does not match its digest", hint=hint)
    return data


def _name(key: ThreadKey, row: Any) -> str:
    return f"message {row.id} (seq {row.seq}) of thread {key.owner(row.seq)}"
