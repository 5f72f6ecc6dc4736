"""What a transcript yields: conversations in parts, and the lines that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["BadLine", "Conversation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation of a transcript, or the next part of one.

    Attributes:
        messages: dicts as the file has them, oldest first; at most 1 000.
        name: what the file calls the conversation, or None.
        entry: its line or its place in the file's list, from 1; None where the file as a whole is one conversation.
        part: from 1; a higher one goes on with the conversation of the same entry.
        first_line: the line where its first message stands, from 1.
    """

    messages: Sequence[dict[str, Any]]
    name: str | None = None
    entry: int | None = None
    part: int = 1
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line, or a message that begins there, which was skipped. ``number`` counts from 1."""

    number: int
    reason: str
