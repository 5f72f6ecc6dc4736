"""A thread that follows a state: stores what is new in it, and shows what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.messages import BaseMessage

from lossless import ActiveContext, Thread
from lossless_langchain.middleware.ledger import Ledger
from lossless_langchain.middleware.merging import shows

__all__ = ["followed"]

_TRIES = 3
"""How often a view is brought in line with a state, where other processes change it meanwhile."""


def followed(
    ledger: Ledger, thread: Thread, state: Sequence[BaseMessage], show: Callable[[], ActiveContext], *, whole: bool
) -> ActiveContext:
    """Bring a thread up to a state, and give its active context.

    Args:
        ledger: what is known of the thread.
        thread: the thread.
        state: the state's messages, each with an id.
        show: renders the thread's context.
        whole: whether the state holds the whole thread, so that what it lacks was removed.
    """
    context = _followed(ledger, thread, state, show, whole)
    if _omits(context) and thread.compact(by_hand=False).changed:
        context = _followed(ledger, thread, state, show, whole)
    return context


def _followed(
    ledger: Ledger, thread: Thread, state: Sequence[BaseMessage], show: Callable[[], ActiveContext], whole: bool
) -> ActiveContext:
    with ledger.lock:
        ledger.store(thread, state, whole=whole)
        context = show()
        for _ in range(_TRIES if whole else 0):
            if not ledger.follow(thread, context.total, state):
                if not state or _omits(context) or context.status != "ok" or shows(context, state[-1]):
                    break
                ledger.forget_view()
                if not ledger.follow(thread, context.total, state):
                    break
            context = show()
        return context


def _omits(context: ActiveContext) -> bool:
    return any(item.kind == "omission" for item in context.items)
