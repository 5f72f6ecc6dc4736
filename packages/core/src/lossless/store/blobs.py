"""Blobs: the form in which a payload is stored. Large ones are compressed where it pays, all are sealed where there is a cipher;
reading gives the verbatim bytes.

Digests and commitments are made of the verbatim bytes, so the form can change without touching anything else.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from lossless.errors import CorruptError, MessageError
from lossless.store.vault import Vault

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["LARGEST", "RAW", "ZSTD", "pack", "payload_of", "stored_blob", "unpack"]

RAW = "raw"
ZSTD = "zstd"
"""The codecs, as the column of that name records them."""

LARGEST = 1_000_000_000
"""Bytes of the largest payload: what either database can keep in one row."""

_FROM = 512
_LEVEL = 3
_PAYS = 0.9
# Measured on conversations and source files: level 3 saves 58 % of the bytes from 1 KiB on, 65 % from 2 KiB on, and 40 % from 512
# bytes to 1 KiB, for 0.005 to 0.016 ms a message and 0.011 ms when reading. Below, a read would pay as much for a hundred bytes.
# Level 6 saves 1 % more for twice the time.
_KEPT_UP_TO = 65_536
"""Bytes of a payload for which a thread's compressor is used again: making one takes longer than using it, but what it keeps
grows with the largest payload."""
_here = threading.local()


def stored_blob(vault: Vault, namespace: str, digest: bytes, data: bytes) -> dict[str, Any]:
    """Make the row of a payload.

    Raises:
        MessageError: no database can keep so many bytes in one row.
    """
    codec, packed = pack(data)
    sealed = vault.seal(packed, *_place(namespace, codec, len(data), digest))
    return {"namespace": namespace, "digest": digest, "size": len(data), "codec": codec, "data": sealed}


def payload_of(vault: Vault, namespace: str, row: Any) -> bytes:
    """Give the payload of a row that has the columns of a blob; it is not held against its digest yet.

    Raises:
        CipherError: it is sealed by a key that is not given.
        CorruptError: it can't be unsealed or unpacked.
    """
    return unpack(row.codec, row.size, vault.unseal(row.data, *_place(namespace, row.codec, row.size, row.digest)))


def _place(namespace: str, codec: str, size: int, digest: bytes) -> tuple[str, ...]:
    return "payload", namespace, codec, str(size), digest.hex()


def pack(data: bytes) -> tuple[str, bytes]:
    """Give codec and bytes to store for a payload.

    Raises:
        MessageError: no database can keep so many bytes in one row.
    """
    if len(data) > LARGEST:
        raise MessageError(f"a message of {len(data):,} bytes can't be stored", hint=f"the most is {LARGEST:,} bytes; split it")
    if len(data) >= _FROM:
        compressed = _compressed(data)
        if len(compressed) <= len(data) * _PAYS:
            return ZSTD, compressed
    return RAW, data


def _compressed(data: bytes) -> bytes:
    if len(data) > _KEPT_UP_TO:
        return zstd.compress(data, _LEVEL)
    compressor = _here.__dict__.pop("compressor", None) or zstd.ZstdCompressor(_LEVEL)
    compressed = bytes(compressor.compress(data, zstd.ZstdCompressor.FLUSH_FRAME))
    _here.compressor = compressor  # only one that ended its frame is used again
    return compressed


def unpack(codec: str, size: int, data: bytes) -> bytes:
    """Give the payload, of ``size`` bytes, that is stored as ``data``. No more than that is ever unpacked.

    Raises:
        CorruptError: the codec is not known, or the bytes are no payload of that size in it.
    """
    if codec == RAW:
        found: bytes | None = data
    elif codec == ZSTD:
        found = _decompressed(data, size)
    else:
        raise CorruptError(f"its codec {codec!r} is not known", hint=_HINT)
    if found is None or len(found) != size:
        raise CorruptError(f"its stored bytes are no {codec} payload of {size:,} bytes", hint=_HINT)
    return found


_HINT = "run `lossless verify`; restore a backup to get it back"


def _decompressed(data: bytes, size: int) -> bytes | None:
    """Decompress one frame; a frame that says or turns out to hold anything but ``size`` bytes gives None."""
    if not 0 <= size <= LARGEST:
        return None
    try:
        said = zstd.get_frame_info(data).decompressed_size
        if said != size:
            return None
        decompressor = zstd.ZstdDecompressor()
        found = decompressor.decompress(data, max_length=size)
        whole = decompressor.eof and not decompressor.unused_data
    except zstd.ZstdError:
        return None
    return found if whole else None
