"""How large an image is and how many pages a PDF has: read from their first bytes, of anybody's data, without decoding them.

The layouts are those of the specifications: PNG (ISO/IEC 15948, chunk IHDR), JPEG (ITU-T T.81, markers SOF0 to SOF15), GIF89a
(logical screen), WebP (RFC 9649: ``VP8``, ``VP8L``, ``VP8X``) and PDF (ISO 32000, page objects, object streams).
"""

from __future__ import annotations

import binascii
import re
import zlib
from collections.abc import Iterator

from lossless.messages.parts import Media

__all__ = ["image_size", "pdf_pages"]

_LINES = re.compile(r"\s+")
_SEGMENTS = 2_000
"""Segments of a JPEG that are passed over in search of its size: photos have some dozens, of up to 64 KiB each."""
_PIXELS = 1 << 24
"""A larger side than this is a lie."""
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_LONE = frozenset({0x01, *range(0xD0, 0xD9)})

_DOCUMENT = 64 * 1024 * 1024
_STREAM = 1024 * 1024
_STREAMS = 500
"""A PDF is looked through up to 64 MiB, and up to 500 of its object streams are unpacked, up to 1 MiB each."""
_PAGE = re.compile(rb"/Type\s{0,8}/Page(?![A-Za-z])")
_OBJECTS = re.compile(rb"/Type\s{0,8}/ObjStm")
_BEGIN = re.compile(rb"stream\r?\n")


def image_size(media: Media) -> tuple[int, int] | None:
    """Give an image's width and height in pixels, or None where its data does not tell them. Never raises."""
    if media.kind != "image" or not media.data:
        return None
    data = _Data(media.data)
    head = data.read(0, 32)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        found = (_big(head[16:20]), _big(head[20:24])) if head[12:16] == b"IHDR" and len(head) >= 24 else None
    elif head.startswith((b"GIF87a", b"GIF89a")):
        found = (_little(head[6:8]), _little(head[8:10]))
    elif head.startswith(b"\xff\xd8"):
        found = _jpeg(data)
    elif head.startswith(b"RIFF") and head[8:12] == b"WEBP" and len(head) >= 30:
        found = _webp(head)
    else:
        found = None
    return found if found is not None and all(0 < side <= _PIXELS for side in found) else None


def pdf_pages(media: Media) -> int | None:
    """Count the pages of a PDF, or give None for what is none or hides them. Never raises.

    A page that was changed later may be counted twice.
    """
    if not media.data:
        return None
    content = _Data(media.data).read(0, _DOCUMENT)
    if b"%PDF-" not in content[:1024]:
        return None
    pages = len(_PAGE.findall(content)) + sum(len(_PAGE.findall(objects)) for objects in _object_streams(content))
    return pages or None


class _Data:
    """Base64 that is decoded where it is read."""

    def __init__(self, text: str) -> None:
        self._text = _LINES.sub("", text) if _LINES.search(text, 0, 200) else text

    def read(self, start: int, size: int) -> bytes:
        """Give up to so many bytes from a place on; none where it is not base64."""
        first, skipped = divmod(start, 3)
        piece = self._text[first * 4 : first * 4 + (skipped + size + 2) // 3 * 4]
        try:
            return binascii.a2b_base64(piece + "=" * (-len(piece) % 4))[skipped : skipped + size]
        except ValueError:
            return b""


def _big(number: bytes) -> int:
    return int.from_bytes(number, "big")


def _little(number: bytes) -> int:
    return int.from_bytes(number, "little")


def _jpeg(data: _Data) -> tuple[int, int] | None:
    """Go from segment to segment until one begins a frame."""
    place = 2
    for _ in range(_SEGMENTS):
        head = data.read(place, 9)
        if len(head) < 4 or head[0] != 0xFF:
            return None
        marker = head[1]
        if marker == 0xFF:  # filled up
            place += 1
        elif marker in _LONE:
            place += 2
        elif marker in _FRAMES:
            return (_big(head[7:9]), _big(head[5:7])) if len(head) == 9 else None
        else:
            place += 2 + _big(head[2:4])
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    match head[12:16]:
        case b"VP8 " if head[23:26] == b"\x9d\x01\x2a":
            return _little(head[26:28]) & 0x3FFF, _little(head[28:30]) & 0x3FFF
        case b"VP8L" if head[20] == 0x2F:
            bits = _little(head[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return _little(head[24:27]) + 1, _little(head[27:30]) + 1
        case _:
            return None


def _object_streams(content: bytes) -> Iterator[bytes]:
    """Unpack the streams that hold objects: newer PDFs keep their pages in them."""
    for number, found in enumerate(_OBJECTS.finditer(content)):
        if number == _STREAMS:
            return
        begin = _BEGIN.search(content, found.end(), found.end() + 1_000)
        if begin is not None:
            try:
                yield zlib.decompressobj().decompress(content[begin.end() : begin.end() + _STREAM], _STREAM)
            except zlib.error:
                continue
