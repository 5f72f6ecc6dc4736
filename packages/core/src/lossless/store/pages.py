"""Pages: a part of a longer answer, with a cursor to the next part."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lossless.errors import QueryError

__all__ = ["Page", "read_cursor", "write_cursor"]

T = TypeVar("T")


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


def read_cursor(cursor: str | None, fields: int) -> list[Any] | None:
    """Read what :func:`write_cursor` wrote with that many fields.

    Raises:
        QueryError: it is none of ours.
    """
    if cursor is None:
        return None
    try:
        state = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError:
        state = None
    if not isinstance(state, list) or len(state) != fields or not all(isinstance(value, (int, str)) for value in state):
        raise QueryError("the cursor can't be read", hint="give the next_cursor of a page of the same query")
    return state
