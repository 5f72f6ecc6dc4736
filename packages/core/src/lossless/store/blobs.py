"""Blobs: the form in which a payload is stored. It is compressed where it pays, and sealed where there is a cipher; reading gives
the verbatim bytes.

Digests and commitments are made of the verbatim bytes, so the form can change without touching anything else.

Most payloads are short, and all say ``"role"`` and ``"content"`` in plain words: by themselves there is little to compress in
them. They are therefore compressed with a dictionary that ships with the package (``scripts/train_dictionary.py``).
"""

from __future__ import annotations

import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

from lossless.errors import CorruptError, MessageError
from lossless.store.vault import Vault

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["LARGEST", "RAW", "TRAINED", "ZSTD", "pack", "payload_of", "stored_blob", "unpack"]

RAW = "raw"
ZSTD = "zstd"
TRAINED = "z1"
"""The codecs, as the column of that name records them. ``z1``: a frame of zstd that was made with the first dictionary, without
the four bytes that begin each frame and without the dictionary's id."""

LARGEST = 1_000_000_000
"""Bytes of the largest payload: what either database can keep in one row."""

_FROM = 64
_TRAINED_UP_TO = 65_536
_LEVEL = 3
_PAYS = 0.9
_MAGIC = b"\x28\xb5\x2f\xfd"
# Measured on conversations with an agent, 490 and 611 bytes a message: with the dictionary 225 and 240 are left, without it 299
# and 294, for 0.007 ms a message, and 0.003 ms when reading. Level 5 saves 0.5 % more for half as much time again. A longer
# payload gains nothing by the dictionary, and what a compressor keeps for the next one grows with the largest.
_here = threading.local()


def stored_blob(vault: Vault, namespace: str, digest: bytes, data: bytes) -> dict[str, Any]:
    """Make the row of a payload.

    Raises:
        MessageError: no database can keep so many bytes in one row.
    """
    codec, packed = pack(data)
    sealed = vault.seal(packed, *_place(namespace, codec, len(data), digest)) if vault.encrypts else packed
    return {"namespace": namespace, "digest": digest, "size": len(data), "codec": codec, "data": sealed}


def payload_of(vault: Vault, namespace: str, row: Any) -> bytes:
    """Give the payload of a row that has the columns of a blob; it is not held against its digest yet.

    Raises:
        CipherError: it is sealed by a key that is not given.
        CorruptError: it can't be unsealed or unpacked.
    """
    packed = vault.unseal(row.data, *_place(namespace, row.codec, row.size, row.digest)) if vault.encrypts else row.data
    return unpack(row.codec, row.size, packed)


def _place(namespace: str, codec: str, size: int, digest: bytes) -> tuple[str, ...]:
    return "payload", namespace, codec, str(size), digest.hex()


def pack(data: bytes) -> tuple[str, bytes]:
    """Give codec and bytes to store for a payload.

    Raises:
        MessageError: no database can keep so many bytes in one row.
    """
    if len(data) > LARGEST:
        raise MessageError(f"a message of {len(data):,} bytes can't be stored", hint=f"the most is {LARGEST:,} bytes; split it")
    codec, compressed = RAW, data
    if len(data) > _TRAINED_UP_TO:
        codec, compressed = ZSTD, zstd.compress(data, _LEVEL)
    elif len(data) >= _FROM:
        codec, compressed = TRAINED, _by_dictionary(data)
    return (codec, compressed) if len(compressed) <= len(data) * _PAYS else (RAW, data)


def _by_dictionary(data: bytes) -> bytes:
    """Compress with the dictionary. A thread's compressor is used again: making one takes longer than using it."""
    compressor = _here.__dict__.pop("compressor", None) or _compressor()
    compressed = bytes(compressor.compress(data, zstd.ZstdCompressor.FLUSH_FRAME))
    _here.compressor = compressor  # only one that ended its frame is used again
    return compressed[len(_MAGIC) :]


def _compressor() -> zstd.ZstdCompressor:
    options: dict[int, int] = {zstd.CompressionParameter.compression_level: _LEVEL, zstd.CompressionParameter.dict_id_flag: 0}
    return zstd.ZstdCompressor(options=options, zstd_dict=_dictionary().as_digested_dict)


@cache
def _dictionary() -> zstd.ZstdDict:
    """Give the dictionary of ``z1``. What was stored with it can be read with it only, so its file never changes."""
    return zstd.ZstdDict(Path(__file__).with_name("dictionary_1.zdict").read_bytes())


def unpack(codec: str, size: int, data: bytes) -> bytes:
    """Give the payload, of ``size`` bytes, that is stored as ``data``. No more than that is ever unpacked.

    Raises:
        CorruptError: the codec is not known, or the bytes are no payload of that size in it.
    """
    if codec == RAW:
        found: bytes | None = data
    elif codec == ZSTD:
        found = _decompressed(data, size, None)
    elif codec == TRAINED:
        found = _decompressed(_MAGIC + data, size, _dictionary())
    else:
        raise CorruptError(f"its codec {codec!r} is not known", hint=_HINT)
    if found is None or len(found) != size:
        raise CorruptError(f"its stored bytes are no {codec} payload of {size:,} bytes", hint=_HINT)
    return found


_HINT = "run `lossless verify`; restore a backup to get it back"


def _decompressed(data: bytes, size: int, dictionary: zstd.ZstdDict | None) -> bytes | None:
    """Decompress one frame; one that says or turns out to hold anything but ``size`` bytes gives None.

    What it says is looked at where it may be long: to ask takes a quarter of the time that a short one takes in all.
    """
    if not 0 <= size <= LARGEST:
        return None
    try:
        if dictionary is None and zstd.get_frame_info(data).decompressed_size != size:
            return None
        decompressor = zstd.ZstdDecompressor(zstd_dict=dictionary)
        found = decompressor.decompress(data, max_length=size)
        whole = decompressor.eof and not decompressor.unused_data
    except zstd.ZstdError:
        return None
    return found if whole else None
