"""Redacted: the mark that stands in a message for what was taken out of it before it was stored."""

from __future__ import annotations

import re

__all__ = ["kinds_in", "marker"]

_MARKER = re.compile(rb"\[redacted: ([a-z0-9][a-z0-9-]{0,63})\]")
_FOREIGN = re.compile(r"[^a-z0-9]+")


def marker(kind: str) -> str:
    """Give the mark for something of a kind, such as ``[redacted: aws-access-key]``; it may stand within a JSON string."""
    return f"[redacted: {_FOREIGN.sub('-', kind.casefold()).strip('-')[:64] or 'secret'}]"


def kinds_in(data: bytes) -> tuple[str, ...]:
    """Give the kinds of what was taken out of a payload, each once, in order."""
    return tuple(dict.fromkeys(found.decode("ascii") for found in _MARKER.findall(data)))
