"""Images as providers check them: their bytes against their media type, and their size."""

from __future__ import annotations

import binascii

from lossless.messages.parts import Media
from lossless.messages.profiles import Profile

__all__ = ["right_label", "unfit"]

_HEAD = 64  # characters of base64: 48 bytes, more than any magic number needs


def unfit(media: Media, profile: Profile) -> str | None:
    """Say why a provider would refuse this media, or None if nothing speaks against it. Only carried images are looked at."""
    if not profile.check_images or media.kind != "image" or media.data is None:
        return None
    if _size(media.data) > profile.max_image_bytes:
        return f"larger than {profile.max_image_bytes} bytes"
    head = _head(media.data)
    if head is None:
        return "its data is not base64"
    if media.mime not in profile.image_types:
        return f"{media.mime or 'its type'} is not accepted"
    return None if _sniff(head) == media.mime else f"its bytes are not {media.mime}"


def right_label(media: Media) -> str | None:
    """Give the media type under which an image's bytes are accepted when its own is missing or a common misnomer."""
    if media.kind != "image" or media.data is None or media.mime not in (None, "", "image/jpg", "image/pjpeg"):
        return None
    head = _head(media.data)
    found = _sniff(head) if head is not None else None
    return found if not media.mime or found == "image/jpeg" else None


def _size(data: str) -> int:
    return len(data) * 3 // 4 - data[-2:].count("=")


def _head(data: str) -> bytes | None:
    try:
        return binascii.a2b_base64(data[:_HEAD].encode("ascii"), strict_mode=True) if data and len(data) % 4 == 0 else None
    except ValueError:
        return None


def _sniff(head: bytes) -> str | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return None
