"""Statements about several digests, prepared for a few numbers of them: putting a checkpoint asks such questions each time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, bindparam

from lossless.store.prepared import Prepared

__all__ = ["Several"]

_SIZES = (4, 16, 64, 256)


class Several:
    """A query with a list of digests: the last of them stands again where there are fewer than it is prepared for.

    Args:
        make: makes the query for the parameters that the digests are bound to.
    """

    def __init__(self, make: Callable[[Sequence[Any]], Select[Any]]) -> None:
        self._statements = {size: Prepared(make([bindparam(f"digest_{place}") for place in range(size)])) for size in _SIZES}

    def rows(self, connection: Connection, values: Mapping[str, Any], digests: Iterable[bytes]) -> Iterator[Any]:
        """Run it for any number of digests, and give the rows, which have the columns as attributes."""
        ordered = sorted(digests)
        for start in range(0, len(ordered), _SIZES[-1]):
            some = ordered[start : start + _SIZES[-1]]
            size = next(size for size in _SIZES if size >= len(some))
            named = {f"digest_{place}": some[min(place, len(some) - 1)] for place in range(size)}
            yield from self._statements[size].all(connection, {**values, **named})
