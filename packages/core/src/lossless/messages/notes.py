"""The short texts that stand for what a provider has no place for."""

from __future__ import annotations

import binascii
import hashlib
from collections.abc import Iterable

from lossless.messages.parts import Media, Opaque, Part, Text

__all__ = ["media_note", "opaque_note", "system_note"]

_LONGEST_BLOCK = 2000


def media_note(media: Media, origin: str, why: str) -> str:
    """Describe media that is not shown: kind, type, size, hash, why, and how to get it back."""
    facts = [media.kind, _plain_type(media.mime)]
    if media.data is not None:
        content = _bytes(media.data)
        facts.append(f"{len(content)} bytes sha256:{hashlib.sha256(content).hexdigest()[:12]}")
    elif media.reference:
        facts.append(media.reference[:200])
    return f'[{" ".join(fact for fact in facts if fact)} not shown: {why}; lcm_expand("{origin}") gives it back]'


def opaque_note(block: Opaque, origin: str) -> str:
    """Write a block that another provider's format has no place for: short ones as JSON, long ones by type and size."""
    text = block.text
    if len(text) <= _LONGEST_BLOCK:
        return text
    kind = block.value.get("type") if isinstance(block.value, dict) else None
    named = f"block of type {kind:.60}" if isinstance(kind, str) else "block"
    return f'[{named}, {len(text)} characters, not shown: this format has no place for it; lcm_expand("{origin}") gives it back]'


def system_note(parts: Iterable[Part], origin: str) -> str:
    """Frame what the application says in the middle of a conversation, for providers that know no system message there."""
    said: list[str] = []
    for part in parts:
        if isinstance(part, Text):
            said.append(part.text)
        elif isinstance(part, Media):
            said.append(media_note(part, origin, "a system note holds text only"))
        elif isinstance(part, Opaque):
            said.append(opaque_note(part, origin))
    return "\n".join(["[system note from the application, not from the user]", *said, "[end of system note]"])


def _plain_type(mime: str | None) -> str:
    """Give a media type as far as it is one: it came with the data, and nothing else shall be said in its place."""
    return "".join(letter for letter in (mime or "")[:100] if letter.isalnum() or letter in "/+.-")


def _bytes(data: str) -> bytes:
    """Decode base64; what is none counts as the text itself."""
    try:
        return binascii.a2b_base64(data.encode("ascii"), strict_mode=True)
    except ValueError:
        return data.encode("utf-8", "surrogatepass")
