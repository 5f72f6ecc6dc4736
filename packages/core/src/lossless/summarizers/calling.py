"""Calling a summarizer: sync or async, from any thread, with or without a running event loop, never for longer than allowed."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import inspect
import os
import threading
from collections.abc import Awaitable
from dataclasses import replace

from lossless.errors import ConfigError
from lossless.locks import ForkLock
from lossless.policies.model import Answer, Summarizer, SummarizeRequest, Usage

__all__ = ["SummarizerCaller", "SummarizerError", "call_here", "checked_summarizer", "models_of", "route_of", "told_by"]

_Outcome = tuple[object, BaseException | None]

_MOST_TOKENS, _MOST_COST = 1_000_000_000, 1_000_000.0
"""What no single answer takes, in tokens and in US dollars."""
_GRACE = 1.0
"""Seconds that an event loop has for noticing that a call was cancelled; one that is blocked is not used again."""


class SummarizerError(Exception):
    """A summarizer gave nothing that can be used: it raised, took too long, or returned no text.

    Attributes:
        usage: what the attempt took all the same, where that is known.
        late: whether it took too long; what it goes on to take is not known then.
    """

    def __init__(self, message: str, *, usage: Usage | None = None, late: bool = False) -> None:
        super().__init__(message)
        self.usage = usage
        self.late = late


class SummarizerCaller:
    """Calls summarizers, each on a thread of its own; async ones on one event loop, which is kept for their connections."""

    def __init__(self) -> None:
        self._loop = _LoopThread()

    def call(self, summarizer: Summarizer, request: SummarizeRequest, seconds: float) -> Answer:
        """Call a summarizer and give its answer. After ``seconds`` it is given up; what it may still return is dropped.

        Raises:
            SummarizerError: it raised, took too long, or returned neither text nor an ``Answer``.
        """
        result: list[object] = []
        failure: list[BaseException] = []

        def work() -> None:
            try:
                answer = summarizer(request)
                result.append(self._loop.run(answer, seconds) if inspect.isawaitable(answer) else answer)
            except BaseException as error:  # a summarizer is a stranger's code; whatever it raises is its failure alone
                failure.append(error)

        thread = threading.Thread(target=work, name="lossless-summarizer", daemon=True)
        thread.start()
        thread.join(seconds)
        if failure:
            raise _told(failure[0]) from failure[0]
        if not result:
            raise SummarizerError(f"no answer after {seconds:.0f} s", late=True)
        return _checked(result[0])

    def close(self) -> None:
        """End the event loop, and what may still run on it. Idempotent."""
        self._loop.close()


async def call_here(summarizer: Summarizer, request: SummarizeRequest, seconds: float) -> Answer:
    """Call a summarizer from the event loop that runs, without holding it up, and give its answer; else as ``SummarizerCaller``.

    Raises:
        SummarizerError: it raised, took too long, or returned neither text nor an ``Answer``.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_Outcome] = loop.create_future()

    def work() -> None:
        try:
            outcome: _Outcome = summarizer(request), None
        except BaseException as error:
            outcome = None, error
        with contextlib.suppress(RuntimeError):  # the loop is closed by now, and nobody waits
            loop.call_soon_threadsafe(_set, done, outcome)

    threading.Thread(target=work, name="lossless-summarizer", daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            answer, failure = await done
            if inspect.isawaitable(answer):
                answer, failure = await _outcome(answer)
    except TimeoutError:
        raise SummarizerError(f"no answer after {seconds:.0f} s", late=True) from None
    if failure is not None:
        raise _told(failure) from failure
    return _checked(answer)


def _set(future: asyncio.Future[_Outcome], outcome: _Outcome) -> None:
    if not future.done():
        future.set_result(outcome)


def checked_summarizer(summarizer: Summarizer | None) -> Summarizer | None:
    """Give a summarizer, if it can be called; one that can't would otherwise fail at every summary.

    Raises:
        ConfigError: it is neither a function nor an object that can be called, or it is a class.
    """
    if summarizer is None or (callable(summarizer) and not isinstance(summarizer, type)):
        return summarizer
    hint = "give a function of a SummarizeRequest, or an object such as OpenAISummarizer(...)"
    raise ConfigError(f"a {type(summarizer).__name__} is no summarizer", hint=hint)


def route_of(summarizer: Summarizer) -> str:
    """Give the name by which a summarizer is known to the breaker: its ``route``, else what it is called in its module."""
    route = told_by(summarizer, "route")
    if isinstance(route, str) and route:
        return str.__str__(route)
    named = summarizer if isinstance(told_by(summarizer, "__qualname__"), str) else type(summarizer)
    return f"{told_by(named, '__module__')}.{told_by(named, '__qualname__')}"


def models_of(summarizer: Summarizer) -> tuple[str, ...]:
    """Give the names of the models that a summarizer may call, as far as it tells."""
    models = told_by(summarizer, "models")
    return tuple(str.__str__(name) for name in models if isinstance(name, str)) if isinstance(models, (tuple, list)) else ()


def told_by(thing: object, name: str) -> object:
    """Give what a stranger's object says of itself; None where it says nothing, or fails to."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None


def _checked(answer: object) -> Answer:
    """Give an answer whose every field is what it says it is: text is plain text, and a usage that makes no sense is none."""
    if isinstance(answer, str):
        return Answer(text=str.__str__(answer))  # a subclass may answer anything when it is asked for its length
    if isinstance(answer, Answer) and isinstance(answer.text, str):
        model = str.__str__(answer.model) if isinstance(answer.model, str) else ""
        return Answer(text=str.__str__(answer.text), model=model, usage=_plausible(answer.usage))
    if inspect.iscoroutine(answer):
        answer.close()
    raise SummarizerError(f"it returned {type(answer).__name__}, not a string")


def _told(error: BaseException) -> SummarizerError:
    try:
        said = str(error)
    except Exception:
        said = "it can't say what is wrong"
    usage, late = _plausible(told_by(error, "usage")), False
    if isinstance(error, SummarizerError):
        late = error.late is True
    else:
        said = f"{type(error).__name__}: {said}"
    return SummarizerError(said, usage=usage, late=late)


def _plausible(usage: object) -> Usage | None:
    """Give a usage that can be counted and paid for, or None: what makes no sense counts as not reported."""
    if not isinstance(usage, Usage):
        return None
    counts = (usage.calls, usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    if not all(type(count) is int and 0 <= count <= _MOST_TOKENS for count in counts):
        return None
    if usage.cost is not None and not (isinstance(usage.cost, (int, float)) and 0 <= usage.cost <= _MOST_COST):
        return None
    return replace(usage, calls=max(1, usage.calls), cached_tokens=min(usage.cached_tokens, usage.input_tokens))


class _LoopThread:
    """An event loop on a thread of its own, made when it is first needed, and anew after a fork."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = ForkLock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def run(self, awaitable: Awaitable[object], seconds: float) -> object:
        """Await something there; cancel it after a while."""
        loop = self._running()
        if loop is None:
            if asyncio.iscoroutine(awaitable):
                awaitable.close()
            raise SummarizerError("the engine is closed")
        future = asyncio.run_coroutine_threadsafe(_outcome(awaitable), loop)
        try:
            result, failure = future.result(seconds)
        except concurrent.futures.TimeoutError:
            future.cancel()
            self._leave_if_blocked(loop)
            raise SummarizerError(f"no answer after {seconds:.0f} s", late=True) from None
        except concurrent.futures.CancelledError:
            raise SummarizerError("it was cancelled") from None
        if failure is not None:
            raise failure
        return result

    def close(self) -> None:
        """End the loop, if there is one."""
        with self._lock:
            self._closed = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None and self._pid == os.getpid():
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_GRACE)

    def _running(self) -> asyncio.AbstractEventLoop | None:
        if self._pid != os.getpid():
            self.__init__()  # type: ignore[misc]
        with self._lock:
            if self._closed:
                return None
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="lossless-model-loop", daemon=True)
                self._thread.start()
            return self._loop

    def _leave_if_blocked(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take a new loop next time, if a coroutine holds this one and lets nobody else run."""
        alive = threading.Event()
        loop.call_soon_threadsafe(alive.set)
        if alive.wait(_GRACE):
            return
        with self._lock:
            if self._loop is loop:
                self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _outcome(awaitable: Awaitable[object]) -> _Outcome:
    """Keep what a coroutine raises to itself: SystemExit would end the loop for all others.

    A cancellation that nobody asked for is the coroutine's own failure.
    """
    try:
        return await awaitable, None
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return None, error
    except BaseException as error:
        return None, error
