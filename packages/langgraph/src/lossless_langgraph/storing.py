"""Storing: trying again where what a process remembers is not so any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lossless.capture import ErasedInStateError
from lossless.errors import StoreBusyError
from lossless_langgraph.coding import Coding

__all__ = ["until_stored"]

_ATTEMPTS = 4


def until_stored(
    coding: Coding,
    thread_id: str,
    attempt: Callable[[int | None, bool], bool],
    pool_of: Callable[[str], int | None],
    erased_in: Callable[[str], Mapping[str, bytes]],
) -> None:
    """Store, afresh if something that was relied on is not there.

    Args:
        coding: writes, and remembers.
        thread_id: the thread.
        attempt: stores with what is known of the thread's pool, and with or without what is remembered; tells whether it has.
        pool_of: looks up the thread's pool.
        erased_in: looks up what is left of the thread's erased messages, by their ids.

    Raises:
        StoreBusyError: somebody removes it again and again.
    """
    memory = coding.memory
    pool = memory.pools.get(thread_id)
    for number in range(_ATTEMPTS):
        if pool is None or number:
            pool = pool_of(thread_id)
            if pool is not None:
                memory.pools.put(thread_id, pool)
        known = memory.erased.get(thread_id) or {}
        if number and coding.capture:
            known = {**known, **erased_in(thread_id)}
            memory.erased.put(thread_id, known)
        try:
            stored = attempt(pool, number > 0)
        except ErasedInStateError as found:
            memory.erased.put(thread_id, {**known, **found.left})
            continue
        if stored:
            return
    raise StoreBusyError(f"the checkpoints of {thread_id!r} are removed by somebody else again and again")
