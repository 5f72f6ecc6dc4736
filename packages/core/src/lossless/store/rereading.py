"""Reading again: what only reads can run a second time when the connection to a server was lost in its middle."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from lossless.errors import StoreBusyError

__all__ = ["rereads"]

P = ParamSpec("P")
T = TypeVar("T")

_TIMES = 3


def rereads(method: Callable[P, T]) -> Callable[P, T]:
    """Make a method that only reads, and gives nothing away before it has read all, run again where its connection was lost.

    It begins again at once; ``Database.read`` itself waits for a server that is away.
    """

    @functools.wraps(method)
    def again(*args: P.args, **kwargs: P.kwargs) -> T:
        for _time in range(_TIMES):
            try:
                return method(*args, **kwargs)
            except StoreBusyError as error:
                if not error.interrupted:
                    raise
        return method(*args, **kwargs)

    return again
