"""What a query is scoped by: one thread of a namespace, or a reader's reach."""

from __future__ import annotations

from dataclasses import dataclass

from lossless.errors import MessageError

__all__ = ["Reach", "ThreadKey", "checked_name"]


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """One thread of a namespace; every statement on a thread binds both."""

    namespace: str
    thread_id: str


@dataclass(frozen=True, slots=True)
class Reach:
    """What a reader may read: a namespace, and the threads in it (None: all of them)."""

    namespace: str
    threads: tuple[str, ...] | None = None


def checked_name(value: object, what: str) -> str:
    """Give a name that every database can keep as text.

    Raises:
        MessageError: it is empty, no string, over 512 characters, or holds a NUL or a lone surrogate.
    """
    if not isinstance(value, str):
        raise MessageError(f"{what} must be a string, not {type(value).__name__}", hint="give a non-empty string")
    if not value or len(value) > 512:
        raise MessageError(f"{what} must have 1 to 512 characters", hint="give a shorter, non-empty string")
    if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise MessageError(f"{what} holds a NUL or a lone surrogate", hint="use other characters in names")
    return value
