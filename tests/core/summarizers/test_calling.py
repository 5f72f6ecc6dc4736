"""Calling a summarizer: sync and async ones, in time or given up, on one event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lossless import Answer, SummarizeRequest, Usage
from lossless.compaction.piecewise import input_limit
from lossless.summarizers.calling import SummarizerCaller, SummarizerError, models_of, route_of
from lossless_scripts import ADVERSARIES

REQUEST = SummarizeRequest(messages=(), text="text", target_tokens=10, level=1, depth=0, instructions="Summarise.")


@pytest.fixture
def caller() -> Iterator[SummarizerCaller]:
    caller = SummarizerCaller()
    yield caller
    caller.close()


def failing(error: BaseException) -> Any:
    def summarizer(request: SummarizeRequest) -> str:
        raise error

    return summarizer


def test_text_and_answers_are_taken_from_functions_and_coroutines(caller: SummarizerCaller) -> None:
    async def later(request: SummarizeRequest) -> Answer:
        await asyncio.sleep(0)
        return Answer(text="later", model="m", usage=Usage(calls=1, input_tokens=3))

    assert caller.call(lambda request: "now", REQUEST, 5) == Answer(text="now")
    assert caller.call(later, REQUEST, 5).usage == Usage(calls=1, input_tokens=3)


@pytest.mark.parametrize("answer", [None, 3, b"bytes", ["text"]], ids=str)
def test_what_is_no_text_counts_as_failed(caller: SummarizerCaller, answer: object) -> None:
    with pytest.raises(SummarizerError, match="not a string"):
        caller.call(lambda request: answer, REQUEST, 5)  # type: ignore[arg-type,return-value]


class Odd(str):
    """A text that answers for itself, and not well."""

    __slots__ = ()

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __str__(self) -> str:
        return "something else"


@pytest.mark.parametrize("answer", [Odd("text"), Answer(text=Odd("text"), model=Odd(""))], ids=["text", "answer"])
def test_a_text_of_a_class_of_its_own_becomes_plain_text(caller: SummarizerCaller, answer: Any) -> None:
    given = caller.call(lambda request: answer, REQUEST, 5)
    assert type(given.text) is str
    assert given == Answer(text="text")


@pytest.mark.parametrize(
    "usage",
    [
        "much",
        {"calls": 1},
        Usage(calls=1, input_tokens=-1_000_000),
        Usage(calls=1, output_tokens=10**30),
        Usage(calls=1, input_tokens=1.5),  # type: ignore[arg-type]
        Usage(calls=1, cost=float("nan")),
        Usage(calls=1, cost=float("inf")),
        Usage(calls=1, cost=-3.0),
    ],
    ids=str,
)
def test_a_usage_that_makes_no_sense_counts_as_not_reported(caller: SummarizerCaller, usage: Any) -> None:
    assert caller.call(lambda request: Answer(text="text", usage=usage), REQUEST, 5) == Answer(text="text")
    with pytest.raises(SummarizerError) as raised:
        caller.call(failing(SummarizerError("cut off", usage=usage)), REQUEST, 5)
    assert raised.value.usage is None


class Mute(Exception):
    """An error that can't even be read."""

    def __str__(self) -> str:
        raise ValueError("no words")

    @property
    def usage(self) -> Usage:
        raise ValueError("no usage")


class Secretive:
    """A summarizer that fails when it is asked about itself."""

    @property
    def route(self) -> str:
        raise ValueError("no route")

    models = window = route

    def __call__(self, request: SummarizeRequest) -> str:
        return "text"


def test_what_can_not_tell_about_itself_is_called_all_the_same(caller: SummarizerCaller) -> None:
    with pytest.raises(SummarizerError, match="Mute"):
        caller.call(failing(Mute()), REQUEST, 5)
    assert caller.call(Secretive(), REQUEST, 5).text == "text"
    assert route_of(Secretive()).endswith(".Secretive")
    assert models_of(Secretive()) == ()
    assert input_limit(Secretive(), 1_000) == 600
    Secretive.window = 10**400  # type: ignore[assignment]
    assert input_limit(Secretive(), 1_000) > 600


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_whatever_a_summarizer_raises_is_its_failure_alone(caller: SummarizerCaller, error: BaseException) -> None:
    async def later(request: SummarizeRequest) -> str:
        raise error

    for summarizer in (failing(error), later):
        with pytest.raises(SummarizerError, match=type(error).__name__):
            caller.call(summarizer, REQUEST, 5)
    assert caller.call(lambda request: "still here", REQUEST, 5).text == "still here"


def test_async_calls_share_a_loop_so_that_connections_can_be_kept(caller: SummarizerCaller) -> None:
    seen: list[Any] = []

    async def summarizer(request: SummarizeRequest) -> str:
        seen.append((asyncio.get_running_loop(), threading.current_thread().name))
        return "text"

    for _ in range(3):
        caller.call(summarizer, REQUEST, 5)
    assert len(set(seen)) == 1


def test_a_call_works_inside_a_running_event_loop(caller: SummarizerCaller) -> None:
    async def summarizer(request: SummarizeRequest) -> str:
        return "text"

    async def outside() -> str:
        return caller.call(summarizer, REQUEST, 5).text

    assert asyncio.run(outside()) == "text"


def test_a_slow_call_is_given_up_and_a_slow_coroutine_is_cancelled(caller: SummarizerCaller) -> None:
    cancelled = threading.Event()

    async def slow(request: SummarizeRequest) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "late"

    for summarizer in (lambda request: time.sleep(0.5) or "late", slow):
        begun = time.monotonic()
        with pytest.raises(SummarizerError, match="no answer") as raised:
            caller.call(summarizer, REQUEST, 0.1)
        assert raised.value.late
        assert time.monotonic() - begun < 0.4
    assert cancelled.wait(5)


def test_a_coroutine_that_blocks_the_loop_does_not_block_the_next_call(caller: SummarizerCaller) -> None:
    free = threading.Event()

    async def blocking(request: SummarizeRequest) -> str:
        free.wait(30)
        return "late"

    async def well(request: SummarizeRequest) -> str:
        return "text"

    with pytest.raises(SummarizerError, match="no answer"):
        caller.call(blocking, REQUEST, 0.1)
    time.sleep(1.3)  # the loop has a second to show that it is alive
    assert caller.call(well, REQUEST, 5).text == "text"
    free.set()


def test_a_failure_may_say_what_it_took(caller: SummarizerCaller) -> None:
    error = ValueError("cut off")
    error.usage = Usage(calls=1, output_tokens=7)  # type: ignore[attr-defined]
    with pytest.raises(SummarizerError) as raised:
        caller.call(failing(error), REQUEST, 5)
    assert raised.value.usage == Usage(calls=1, output_tokens=7)


@pytest.mark.parametrize("name", ["honest", "honest_async", "emoji", "garbage"])
def test_a_summarizers_text_is_given(caller: SummarizerCaller, name: str) -> None:
    assert caller.call(ADVERSARIES[name], REQUEST, 10).text  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["none", "raising", "raising_async", "exiting"])
def test_whatever_a_summarizer_does_instead_is_one_error(caller: SummarizerCaller, name: str) -> None:
    with pytest.raises(SummarizerError):
        caller.call(ADVERSARIES[name], REQUEST, 10)  # type: ignore[arg-type]


def test_after_closing_no_coroutine_is_begun(caller: SummarizerCaller) -> None:
    async def summarizer(request: SummarizeRequest) -> str:
        return "text"

    assert caller.call(summarizer, REQUEST, 5).text == "text"
    caller.close()
    caller.close()
    with pytest.raises(SummarizerError, match="closed"):
        caller.call(summarizer, REQUEST, 5)
