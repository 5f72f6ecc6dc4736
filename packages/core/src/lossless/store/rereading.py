"""Reading again: what only reads can run a second time, when a connection was lost in its middle or rows were removed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from lossless.errors import LosslessError, StoreBusyError

__all__ = ["UNREAD", "rereads"]

P = ParamSpec("P")
T = TypeVar("T")

UNREAD = -1
"""The epoch of an engine that has read nothing yet, and so keeps nothing in memory."""
_TIMES = 3


def rereads(method: Callable[P, T]) -> Callable[P, T]:
    """Make a method that only reads, and gives nothing away before it has read all, run again where that may help.

    It begins again at once where its connection was lost; ``Database.read`` itself waits for a server that is away. And where it
    was found out meanwhile that something was removed: what the engine had kept in memory of threads, and the method has begun
    with, may be of threads that are gone.
    """

    @functools.wraps(method)
    def again(*args: P.args, **kwargs: P.kwargs) -> T:
        for _time in range(_TIMES):
            epoch = _epoch(args[0])
            try:
                found = method(*args, **kwargs)
            except LosslessError as error:
                lost = isinstance(error, StoreBusyError) and error.interrupted
                if not lost and epoch in (UNREAD, _epoch(args[0])):
                    raise
            else:
                if epoch in (UNREAD, _epoch(args[0])):
                    return found
        return method(*args, **kwargs)

    return again


def _epoch(reading: Any) -> object:
    """Give the removal that an engine, or what belongs to one, knows of."""
    return getattr(getattr(reading, "_engine", reading), "_epoch", None)
