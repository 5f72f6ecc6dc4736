"""A thread that follows a state: stores what is new in it, and shows what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.messages import BaseMessage

from lossless import ActiveContext, Thread
from lossless_langchain.middleware.ledger import Ledger

__all__ = ["followed"]


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
    ledger.store(thread, state, whole=whole)
    context = show()
    if whole and ledger.follow(thread, context.total, state):
        context = show()
    if any(item.kind == "omission" for item in context.items) and thread.compact(by_hand=False).changed:
        context = show()
    return context
