"""What a query is scoped by: one thread of a namespace, or a reader's reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lossless.errors import MessageError

__all__ = ["Reach", "ThreadKey", "checked_name", "unstorable"]


class ThreadKey(NamedTuple):  # what is kept in memory is found by it, so that it is hashed several times a message
    """One thread of a namespace; every statement on a thread binds both.

    A branch has the messages of the threads it comes from up to where it was cut: ``inherited`` names them, oldest first, each
    with the last seq that is taken from it. What comes after is the thread's own.

    Of a thread that was deleted and begun again only what came since is there: messages from seq ``since`` on.
    """

    namespace: str
    thread_id: str
    inherited: tuple[tuple[str, int], ...] = ()
    since: int = 1

    @property
    def cut(self) -> int:
        """The last seq that is inherited; 0 for a thread that is no branch."""
        return self.inherited[-1][1] if self.inherited else 0

    def ranges(self, first: int, last: int) -> list[tuple[str, int, int]]:
        """Say in which thread which part of a range of seqs is stored: (thread id, first seq, last seq), in order."""
        first = max(first, self.since)
        if not self.inherited:
            return [(self.thread_id, first, last)] if first <= last else []
        found: list[tuple[str, int, int]] = []
        start = first
        for thread_id, until in (*self.inherited, (self.thread_id, last)):
            if start <= min(until, last):
                found.append((thread_id, start, min(until, last)))
                start = until + 1
        return found

    def owner(self, seq: int) -> str:
        """Say in which thread a message is stored."""
        if not self.inherited:
            return self.thread_id
        return next((thread_id for thread_id, until in self.inherited if seq <= until), self.thread_id)

    def lineage(self) -> list[tuple[str, int | None]]:
        """Give the threads that it has messages of, itself first, each with the last seq taken from it (None: all)."""
        return [(self.thread_id, None), *(each for each in reversed(self.inherited) if each[1] >= self.since)]


@dataclass(frozen=True, slots=True)
class Reach:
    """What a reader may read: a namespace, and the threads in it (None: all of them).

    ``bounds``: the last seq that may be read of a thread, where it is not all; so a branch reads the threads that it comes from.
    ``since``: the first seq that may be read of any but ``parts``, which are read whole. Where all threads may be read, those
    that were deleted are left out.
    """

    namespace: str
    threads: tuple[str, ...] | None = None
    bounds: tuple[tuple[str, int], ...] = ()
    since: int = 1
    parts: tuple[str, ...] = ()

    @classmethod
    def of(cls, key: ThreadKey, parts: tuple[str, ...] = ()) -> Reach:
        """Give the reach of one thread: its own messages, those that it inherits, and those of its parts."""
        own = tuple(thread_id for thread_id, _until in key.lineage())
        return cls(key.namespace, (*own, *parts), key.inherited, key.since, parts)


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
        raise unstorable(what)
    return value


def unstorable(what: str = "a name or text that was given") -> MessageError:
    """Make the error for what no database can keep as text, nor be asked for: a NUL or a lone surrogate is in it."""
    return MessageError(f"{what} holds a NUL or a lone surrogate", hint="use other characters in names")
