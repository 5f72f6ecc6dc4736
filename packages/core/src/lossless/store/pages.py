"""Pages: a part of a longer answer, with a cursor to the next part."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lossless.errors import QueryError

__all__ = ["MOST", "Page", "read_cursor", "write_cursor"]

T = TypeVar("T")

MOST = 2**31
"""Entries of a page at the most, whatever is asked for: what every database can be asked for."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of an answer.

    Attributes:
        items: what was found; iterating over the page gives them.
        next_cursor: give it to the same call to get on, or None at the end.
        scanned: how many entries were looked at for this page.
    """

    items: Sequence[T]
    next_cursor: str | None = None
    scanned: int = 0

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def write_cursor(*state: Any) -> str:
    """Write the state of an interrupted answer as an opaque string."""
    return base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, *kinds: type[int] | type[str]) -> list[Any] | None:
    """Read what :func:`write_cursor` wrote, fields of these kinds; numbers are not negative and fit into a database's.

    Raises:
        QueryError: it is none of ours.
    """
    if cursor is None:
        return None
    try:
        state = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError):
        state = None
    if not isinstance(state, list) or [type(value) for value in state] != list(kinds):
        raise QueryError("the cursor can't be read", hint="give the next_cursor of a page of the same query")
    if not all(0 <= value < 2**63 for value in state if isinstance(value, int)):
        raise QueryError("the cursor leads nowhere", hint="give the next_cursor of a page of the same query")
    return state
