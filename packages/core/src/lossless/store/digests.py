"""Digests: how content is addressed, committed to and chained. All are SHA-256."""

from __future__ import annotations

import hashlib
import hmac
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted

__all__ = ["DIGEST_BYTES", "EMPTY_CHAIN", "address", "blob_digest", "chain_link", "commitment"]

EMPTY_CHAIN = bytes(32)
"""The chain value before the first message of a thread."""


DIGEST_BYTES = 16
"""Of a payload's digest, which stands in each message, in its blob and in the index of blobs. It tells payloads apart: nobody who
does not know the secret can aim at equal digests, and among 10^12 payloads two have one by chance with a probability of 10^-15.
What is promised of a payload rests on the chain, which commits to it with 32 bytes."""


def address(secret: bytes, data: bytes) -> bytes:
    """Address content within a namespace, by its secret: the same bytes have another address in every namespace."""
    return hashlib.sha256(secret + data).digest()


def blob_digest(secret: bytes, data: bytes) -> bytes:
    """Address a payload within a namespace, as :func:`address`, with half of its bytes."""
    return address(secret, data)[:DIGEST_BYTES]


def commitment(secret: bytes, salt: bytes, data: bytes) -> bytes:
    """Commit to a payload so that destroying the salt makes the commitment say nothing about it, even to who knows the secret."""
    keyed = _keyed(secret).copy()
    keyed.update(salt + data)
    return keyed.digest()


@lru_cache(maxsize=256)
def _keyed(secret: bytes) -> hmac.HMAC:
    """Begin an HMAC; from its beginning on, the next one takes a third of the time."""
    return hmac.new(secret, digestmod="sha256")


def chain_link(
    before: bytes, committed: bytes, *, seq: int, id: str, role: str, format: str, created_at: int, revises: int | None
) -> bytes:
    """Give the chain's value at a message, from its value before and all that the message says of itself."""
    named = f"{_quoted(id)},{_quoted(role)},{_quoted(format)}"
    facts = f"[{seq},{named},{created_at},{'null' if revises is None else revises}]"
    return hashlib.sha256(before + committed + facts.encode("ascii")).digest()
