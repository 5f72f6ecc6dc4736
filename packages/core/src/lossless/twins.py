"""Async twins: ``aappend`` beside ``append``, made from the sync method and typed like it.

The work runs in a worker thread of its own pool, so a twin works from any event loop, and from several. A cancelled twin stops
waiting; what its thread has begun it finishes, whole, and what it has not begun it leaves.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec, TypeVar

from lossless.locks import ForkLock

__all__ = ["async_twin"]

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 64
"""Calls that run at once; writers among them share their commits, so more of them are faster, not slower."""

_pools: dict[int, ThreadPoolExecutor] = {}
_guard = ForkLock()


def async_twin(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make the async twin of a method: the same meaning, arguments, results and errors."""

    @functools.wraps(method)
    async def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        context = contextvars.copy_context()
        call = functools.partial(context.run, method, self, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(_pool(), call)

    twin.__name__ = f"a{method.__name__}"
    twin.__qualname__ = method.__qualname__.replace(method.__name__, twin.__name__)
    return twin


def _pool() -> ThreadPoolExecutor:
    """Give this process's pool; a forked child makes its own."""
    process = os.getpid()
    with _guard:
        if process not in _pools:
            _pools.clear()
            _pools[process] = ThreadPoolExecutor(_THREADS, thread_name_prefix="lossless-async")
        return _pools[process]
