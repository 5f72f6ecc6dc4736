"""Notes: the kept source items and the decisions of a summary, as its row holds them: JSON, compressed, under a digest.

The summary's id is made from its text, and says nothing of the note; the digest does. It takes the summary's id with it, so that
the note of another summary is noticed, too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from lossless.errors import CorruptError
from lossless.store.blobs import RAW, TRAINED, ZSTD, pack, unpack
from lossless.store.vault import Vault

__all__ = ["open_note", "sealed_note"]

_CODECS = (RAW, ZSTD, TRAINED)
_DIGEST_BYTES = 16
_SIZE_BYTES = 4
_HEADER = _DIGEST_BYTES + _SIZE_BYTES + 1


def sealed_note(vault: Vault, place: tuple[str, str, str], items: Sequence[Any], decisions: Sequence[Any]) -> bytes:
    """Write a note as it is stored; ``place`` is namespace, thread and id of its summary."""
    note = json.dumps({"items": items, "decisions": decisions}, separators=(",", ":"), ensure_ascii=True).encode("ascii")
    codec, packed = pack(note)
    header = _digest(place, note) + len(note).to_bytes(_SIZE_BYTES, "big") + bytes((_CODECS.index(codec),))
    return vault.seal(header + packed, "note of summary", *place)


def open_note(vault: Vault, place: tuple[str, str, str], stored: bytes) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Read what :func:`sealed_note` wrote: the items and the decisions.

    Raises:
        CipherError: it is sealed by a key that is not given.
        CorruptError: it was changed, or is the note of another summary.
    """
    whole = vault.unseal(bytes(stored), "note of summary", *place)
    try:
        size = int.from_bytes(whole[_DIGEST_BYTES : _HEADER - 1], "big")
        note = unpack(_CODECS[whole[_HEADER - 1]], size, whole[_HEADER:])
        if _digest(place, note) != whole[:_DIGEST_BYTES]:
            raise ValueError("another digest")
        told = json.loads(note)
        return tuple(told["items"]), tuple(told["decisions"])
    except (CorruptError, ValueError, LookupError, TypeError) as error:
        raise CorruptError(f"the note of summary {place[-1]} was changed", hint="run `lossless verify`") from error


def _digest(place: tuple[str, str, str], note: bytes) -> bytes:
    return hashlib.sha256(json.dumps(place).encode() + note).digest()[:_DIGEST_BYTES]
