"""What a ranked search has shown already, in few characters, for its cursor."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Collection

from lossless.errors import QueryError

__all__ = ["pack_seen", "unpack_seen"]


def pack_seen(docids: Collection[int]) -> str:
    """Write places in the index: the steps from one to the next, seven bits to a byte, compressed."""
    written = bytearray()
    before = 0
    for docid in sorted(docids):
        step, before = docid - before, docid
        while step > 0x7F:
            written.append(step & 0x7F | 0x80)
            step >>= 7
        written.append(step)
    return base64.urlsafe_b64encode(zlib.compress(bytes(written), 9)).decode().rstrip("=")


def unpack_seen(packed: str, most: int) -> set[int]:
    """Read what :func:`pack_seen` wrote, at most so many places.

    Raises:
        QueryError: it is none of ours.
    """
    try:
        reader = zlib.decompressobj()
        written = reader.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), 10 * most + 1)
    except (ValueError, zlib.error):
        written = b"\x80"
    found: set[int] = set()
    docid = step = shift = 0
    for byte in written:
        step |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            docid += step
            found.add(docid)
            step = shift = 0
    if shift or len(found) > most or docid >= 2**63:
        raise QueryError("the cursor can't be read", hint="give the next_cursor of a page of the same query")
    return found
