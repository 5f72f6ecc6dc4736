"""Message: one immutable entry of a thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from lossless.messages.erased import ERASED_FORMAT
from lossless.messages.parts import Part, readable
from lossless.messages.payload import decode
from lossless.messages.redacted import kinds_in

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

    @classmethod
    def stored(cls, read: Callable[[Any], tuple[Part, ...]], **fields: Any) -> Message:
        """Make a message of all fields but the parts, which are read when somebody first asks for them.

        Args:
            read: reads a decoded payload into parts.
            fields: all the others, those with defaults, too.
        """
        message = cls.__new__(cls)
        message.__dict__.update(fields, _read=read)
        return message

    def __getattr__(self, name: str) -> Any:
        # Only the parts of a stored message are not there from the beginning.
        if name != "parts" or "_read" not in self.__dict__:
            raise AttributeError(f"a message has no {name!r}", name=name, obj=self)
        self.shared_payload()
        return self.__dict__["parts"]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "parts": self.parts, "_read": None}

    @property
    def payload(self) -> Any:
        """The payload as given, equal and fresh: changing it changes nothing."""
        return decode(self.data)

    def shared_payload(self) -> Any:
        """Give the payload to look at only: the parts may be of this very object, so that it is decoded once for both."""
        payload = decode(self.data)
        read = self.__dict__.get("_read")
        if read is not None and "parts" not in self.__dict__:
            self.__dict__["parts"] = read(payload)
        return payload

    @property
    def erased(self) -> bool:
        """Whether its payload was erased: what is left is a placeholder with role and call ids."""
        return self.format == ERASED_FORMAT

    @property
    def redacted(self) -> tuple[str, ...]:
        """The kinds of what was taken out before it was stored, such as ``aws-access-key``."""
        return kinds_in(self.data)

    @cached_property
    def text(self) -> str:
        """What a person would read of it: texts and tool answers."""
        return readable(self.parts)
