"""Calling a summarizer: sync or async, from any thread, with or without a running event loop, never for longer than allowed."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable
from typing import cast

from lossless.policies.model import Summarizer, SummarizeRequest

__all__ = ["SummarizerError", "call_summarizer"]


class SummarizerError(Exception):
    """A summarizer gave nothing that can be used: it raised, took too long, or returned no text."""


def call_summarizer(summarizer: Summarizer, request: SummarizeRequest, timeout: float) -> str:
    """Call a summarizer on a thread of its own and give its text.

    An async one runs on an event loop of its own there, so the caller's loop, if there is one, is not used. After ``timeout``
    seconds the call is given up; what it may still return is dropped.

    Raises:
        SummarizerError: it raised, took too long, or returned no string.
    """
    result: list[object] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            answer = summarizer(request)
            result.append(asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer)
        except BaseException as error:  # a summarizer is a stranger's code; whatever it raises is its failure alone
            failure.append(error)

    thread = threading.Thread(target=work, name="lossless-summarizer", daemon=True)
    thread.start()
    thread.join(timeout)
    if thread.is_alive():
        raise SummarizerError(f"no answer after {timeout:.0f} s")
    if failure:
        raise SummarizerError(f"{type(failure[0]).__name__}: {failure[0]}") from failure[0]
    if not isinstance(result[0], str):
        raise SummarizerError(f"it returned {type(result[0]).__name__}, not a string")
    return result[0]


async def _awaited(answer: object) -> object:
    return await cast("Awaitable[object]", answer)
