"""Segments: what a view is made of.

Each message of a thread is in exactly one segment of its view (invariant 3). A segment carries its own size in tokens, so that
the size of a view needs no query; the last segment, the tail, is open-ended, so that an append never writes a view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lossless.errors import CorruptError

__all__ = ["Hidden", "Raw", "Segment", "SummaryRef", "Tail", "from_json", "to_json"]


@dataclass(frozen=True, slots=True)
class Raw:
    """Messages ``first`` to ``last``, both included, shown as themselves.

    ``base``: the thread's token sum before ``first``; ``end``: up to and including ``last``.
    """

    first: int
    last: int
    base: int
    end: int

    @property
    def tokens(self) -> int:
        """The tokens of the range."""
        return self.end - self.base


@dataclass(frozen=True, slots=True)
class SummaryRef:
    """A summary that stands for ``messages`` messages; ``tokens`` as rendered, ``depth`` 0 for a leaf."""

    id: str
    depth: int
    tokens: int
    messages: int
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class Hidden:
    """Messages ``first`` to ``last`` that were deleted from the view or replaced; they stay in the store."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Tail:
    """All messages from ``first`` on. ``base``: the thread's token sum before ``first``."""

    first: int
    base: int


Segment = Raw | SummaryRef | Hidden | Tail

_KINDS: dict[str, type[Segment]] = {"raw": Raw, "summary": SummaryRef, "hidden": Hidden, "tail": Tail}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def to_json(segment: Segment) -> list[Any]:
    """Give a segment as JSON: its kind, then its fields in order."""
    return [_NAMES[type(segment)], *(getattr(segment, field) for field in segment.__dataclass_fields__)]


def from_json(value: Any) -> Segment:
    """Read what :func:`to_json` gave.

    Raises:
        CorruptError: it is no segment.
    """
    try:
        kind, *fields = value
        return _KINDS[kind](*fields)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptError("a stored view can't be read", hint="run `lossless verify`") from error
