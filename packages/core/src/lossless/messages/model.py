"""Message: one immutable entry of a thread."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from lossless.messages.parts import Part, readable
from lossless.messages.payload import decode

__all__ = ["Message", "MessageRef"]


@dataclass(frozen=True, slots=True)
class MessageRef:
    """Where a message is: its id, and its place in storage order (from 1)."""

    id: str
    seq: int


@dataclass(frozen=True, kw_only=True)
class Message:
    """One immutable entry of a thread, as it was given.

    Attributes:
        id: given, or derived from the place.
        seq: place in storage order, from 1.
        thread_id: the thread it was appended to.
        role: ``system``, ``developer``, ``user``, ``assistant`` or ``tool``.
        format: whose serialisation ``data`` is, with a version, such as ``openai/1``.
        data: the payload's bytes, as stored.
        parts: the neutral reading of the payload.
        tokens: what it costs a model, counted once; ``exact`` says whether by a real tokenizer.
        created_at: given, or the time it was stored (UTC).
        deleted: whether it was taken out of the view or replaced; it stays in the store.
        injected: whether the engine itself made it (a rendered summary that came back).
        revises: the seq of the message it replaces, or None.
    """

    id: str
    seq: int
    thread_id: str
    role: str
    format: str
    data: bytes
    parts: tuple[Part, ...]
    tokens: int
    exact: bool
    created_at: datetime
    deleted: bool = False
    injected: bool = False
    revises: int | None = None

    @property
    def payload(self) -> Any:
        """The payload as given, equal and fresh: changing it changes nothing."""
        return decode(self.data)

    @cached_property
    def text(self) -> str:
        """What a person would read of it: texts and tool answers."""
        return readable(self.parts)
