"""Summaries from an OpenAI-compatible server: a real one on the loopback, which answers, refuses, stutters and hangs."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lossless
from lossless import Answer, Engine, FallbackSummarizer, OpenAISummarizer, SummarizeRequest, Usage
from lossless.errors import ConfigError
from lossless.summarizers import SummarizerError
from lossless.summarizers.retrying import retry_after_of, wait_before
from lossless_chat_server import ChatServer, Reply, chat_server, completion

REQUEST = SummarizeRequest(
    messages=(),
    text="--- text ---",
    target_tokens=300,
    level=1,
    depth=0,
    instructions="Summarise.",
    previous="Before.",
    mark="kzv",
)
ERROR = b'{"error": {"message": "no", "type": "t"}}'


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as state:
        yield state


class Naps:
    """Sleeps in no time, and knows for how long."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


@pytest.fixture
def naps() -> Naps:
    return Naps()


@pytest.fixture
def summarizer(server: ChatServer, naps: Naps) -> Iterator[OpenAISummarizer]:
    made = OpenAISummarizer("m", base_url=server.url, api_key="sk-secret-key", sleep=naps, chance=lambda: 1.0)
    yield made
    made.close()


def test_a_summary_comes_with_its_usage_and_is_asked_for_by_two_messages(
    server: ChatServer, summarizer: OpenAISummarizer
) -> None:
    usage = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150, "prompt_tokens_details": {"cached_tokens": 100}}
    server.replies = [completion("The user booked a flight.", usage=usage)]
    told = Usage(calls=1, input_tokens=120, cached_tokens=100, output_tokens=30)
    assert summarizer(REQUEST) == Answer(text="The user booked a flight.", model="m", usage=told)
    (asked,) = server.asked
    system, user = asked["messages"]
    assert (system["role"], system["content"]) == ("system", REQUEST.instructions)
    assert user["content"].endswith(REQUEST.text)
    assert "Before." in user["content"]
    assert asked["max_tokens"] == 600
    assert server.keys == ["Bearer sk-secret-key"]


def test_the_same_from_an_event_loop(server: ChatServer, summarizer: OpenAISummarizer) -> None:
    assert asyncio.run(summarizer.asummarize(REQUEST)).text == "A summary."


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_what_passes_is_tried_again(server: ChatServer, summarizer: OpenAISummarizer, naps: Naps, status: int) -> None:
    server.replies = [Reply(status, ERROR), Reply(status, ERROR), completion()]
    assert summarizer(REQUEST).text == "A summary."
    assert naps.taken == [0.5, 1.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_does_not_pass_is_not_tried_again(server: ChatServer, summarizer: OpenAISummarizer, naps: Naps, status: int) -> None:
    server.replies = [Reply(status, b'{"error": {"message": "wrong key sk-secret-key", "type": "t"}}')]
    with pytest.raises(SummarizerError, match=str(status)) as raised:
        summarizer(REQUEST)
    assert len(server.asked) == 1
    assert naps.taken == []
    assert "sk-secret-key" not in str(raised.value)


def test_a_server_is_not_asked_before_it_wants_to_be(server: ChatServer, summarizer: OpenAISummarizer, naps: Naps) -> None:
    server.replies = [Reply(429, ERROR, {"Retry-After": "7"}), Reply(503, ERROR, {"retry-after-ms": "2500"}), completion()]
    summarizer(REQUEST)
    first, second = naps.taken
    assert 7.0 <= first <= 8.0
    assert 2.5 <= second <= 3.5


def test_a_wait_beyond_the_deadline_is_not_begun(server: ChatServer, summarizer: OpenAISummarizer, naps: Naps) -> None:
    server.replies = [Reply(429, ERROR, {"Retry-After": "120"})]
    with pytest.raises(SummarizerError, match="429"):
        summarizer(REQUEST)
    assert (len(server.asked), naps.taken) == (1, [])


def test_attempts_end(server: ChatServer, summarizer: OpenAISummarizer) -> None:
    server.replies = [Reply(500, ERROR)]
    with pytest.raises(SummarizerError, match="500"):
        summarizer(REQUEST)
    assert len(server.asked) == 3


def test_a_server_that_hangs_is_given_up_within_the_deadline(server: ChatServer, summarizer: OpenAISummarizer) -> None:
    server.replies = [Reply(hang=30)]
    begun = time.monotonic()
    with pytest.raises(SummarizerError) as raised:
        summarizer(replace(REQUEST, seconds=0.5))
    assert raised.value.late
    assert time.monotonic() - begun < 5
    assert len(server.asked) == 1


def test_an_answer_that_can_not_be_read_is_asked_for_again(server: ChatServer, summarizer: OpenAISummarizer) -> None:
    server.replies = [replace(completion(), cut=True), completion()]
    assert summarizer(REQUEST).text == "A summary."
    server.replies = [replace(completion(), cut=True)]
    with pytest.raises(SummarizerError):
        summarizer(REQUEST)


def test_a_server_that_is_not_there_is_a_failure(naps: Naps) -> None:
    with chat_server() as server:
        url = server.url
    gone = OpenAISummarizer("m", base_url=url, sleep=naps)
    with pytest.raises(SummarizerError, match="Connection"):
        gone(REQUEST)
    assert len(naps.taken) == 2
    gone.close()


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (completion(choices=[]), "no choice"),
        (completion(None), "blank"),
        (completion(" \n"), "blank"),
        (completion("", refusal="I can't."), "refused"),
        (completion("Half a sum", finish="length"), "cut off"),
        (completion("", finish="content_filter"), "cut off"),
        (Reply(body=b'{"choices": null}'), "no choice"),
        (Reply(body=b"[]"), "no choice"),
        (Reply(body=b'"text"'), "no choice"),
    ],
    ids=str,
)
def test_an_answer_without_a_summary_is_a_failure_that_costs(
    server: ChatServer, summarizer: OpenAISummarizer, reply: Reply, why: str
) -> None:
    server.replies = [reply]
    with pytest.raises(SummarizerError, match=why) as raised:
        summarizer(REQUEST)
    assert len(server.asked) == 1
    if b"usage" in reply.body:
        assert raised.value.usage is not None
        assert raised.value.usage.output_tokens == 30


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": "many"}, {"prompt_tokens": 1}, [1], "free"], ids=str)
def test_usage_that_makes_no_sense_counts_as_not_reported(server: ChatServer, summarizer: OpenAISummarizer, usage: Any) -> None:
    server.replies = [completion(usage=usage)]
    assert summarizer(REQUEST).usage is None


def test_options_and_room_for_reasoning_are_passed_on(server: ChatServer) -> None:
    made = OpenAISummarizer("m", base_url=server.url, reasoning_tokens=1_000, options={"temperature": 0.1, "top_p": 0.5})
    made(REQUEST)
    made.close()
    asked = server.asked[0]
    assert (asked["max_tokens"], asked["temperature"], asked["top_p"]) == (1_600, 0.1, 0.5)


def test_an_engine_writes_its_summaries_with_it(server: ChatServer, summarizer: OpenAISummarizer) -> None:
    server.replies = [completion("Orders A-0 and following were placed at 40 EUR each.")]
    with Engine("sqlite://", window=4_000, summarizer=summarizer, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        for number in range(120):
            thread.append({"role": "user", "content": f"Order A-{number} costs 40 EUR. " + "word " * 40}, compact=False)
        result = thread.compact()
        assert result.changed
        assert result.usage.input_tokens == 120 * result.model_calls
        assert not any(thread.describe(id)["degraded"] for id in result.summaries)
        assert engine.guard.phase(summarizer.route) == "closed"
    assert all(each["messages"][0]["content"].startswith(("Summarise this part", "Merge these")) for each in server.asked)
    starts = {each["messages"][0]["content"].rpartition(" Use at most ")[0] for each in server.asked}
    assert len(starts) <= 3


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ConfigError, match=r"lossless\[openai\]"):
        OpenAISummarizer("m")


def test_without_a_key_the_error_says_so_and_a_server_of_ones_own_needs_none(
    monkeypatch: pytest.MonkeyPatch, server: ChatServer
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        OpenAISummarizer("m")
    own = OpenAISummarizer("m", base_url=server.url)
    assert own(REQUEST).text == "A summary."
    own.close()


def test_it_is_offered_by_the_package_and_by_its_room() -> None:
    assert lossless.summarizers.OpenAISummarizer is OpenAISummarizer


# Fallback


def raising(request: SummarizeRequest) -> str:
    raise ConnectionError("down")


async def later(request: SummarizeRequest) -> str:
    await asyncio.sleep(0)
    return "From the second."


def test_the_next_model_is_asked_when_one_fails_and_a_dead_one_is_soon_left_alone() -> None:
    asked: list[int] = []

    def dead(request: SummarizeRequest) -> str:
        asked.append(1)
        raise ConnectionError("down")

    chain = FallbackSummarizer([dead, later])
    for _ in range(10):
        assert asyncio.run(chain(REQUEST)).text == "From the second."
    assert len(asked) == 2


def test_the_next_model_is_asked_when_one_cancels_itself() -> None:
    async def cancelled(request: SummarizeRequest) -> str:
        raise asyncio.CancelledError

    assert asyncio.run(FallbackSummarizer([cancelled, later])(REQUEST)).text == "From the second."


def test_a_chain_of_servers_under_an_engine(server: ChatServer, summarizer: OpenAISummarizer) -> None:
    server.replies = [Reply(401, ERROR)]
    with chat_server(completion("Orders were placed at 40 EUR each.")) as second:
        other = OpenAISummarizer("n", base_url=second.url)
        chain = FallbackSummarizer([summarizer, other])
        assert chain.models == ("m", "n")
        with Engine("sqlite://", window=4_000, summarizer=chain, background=False, load_plugins=False) as engine:
            thread = engine.thread("t")
            for number in range(120):
                thread.append({"role": "user", "content": f"Order A-{number} costs 40 EUR. " + "word " * 40}, compact=False)
            result = thread.compact()
        assert result.changed
        assert len(server.asked) == 2
        assert len(second.asked) == result.model_calls
        other.close()


def test_a_slow_one_leaves_time_for_the_next() -> None:
    def slow(request: SummarizeRequest) -> str:
        time.sleep(1)
        return "late"

    begun = time.monotonic()
    assert asyncio.run(FallbackSummarizer([slow, later])(replace(REQUEST, seconds=0.6))).text == "From the second."
    assert time.monotonic() - begun < 0.9


def test_when_all_fail_the_error_names_each_and_all_are_tried_again_next_time() -> None:
    spent = SummarizerError("cut off", usage=Usage(calls=1, output_tokens=9))

    def costly(request: SummarizeRequest) -> str:
        raise spent

    chain = FallbackSummarizer([raising, costly, lambda request: None])  # type: ignore[list-item,return-value]
    for _ in range(4):
        with pytest.raises(SummarizerError, match=r"1\. .*down.*2\. .*cut off.*3\. .*not a string") as raised:
            asyncio.run(chain(REQUEST))
        assert raised.value.usage == spent.usage


def test_a_chain_of_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="none"):
        FallbackSummarizer([])


# Waiting


@given(st.integers(1, 60), st.floats(0.01, 600), st.one_of(st.none(), st.floats(0, 900)), st.floats(0, 1))
def test_a_wait_fits_into_what_is_left_and_is_never_shorter_than_asked(
    attempt: int, left: float, retry_after: float | None, chance: float
) -> None:
    wait = wait_before(attempt, left, retry_after=retry_after, chance=chance)
    if wait is None:
        assert left <= (8.0 if retry_after is None else retry_after + 1.0)
        return
    assert 0 <= wait < left
    assert wait >= (retry_after or 0.0)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "tomorrow"}, None),
        ({"Retry-After": "Fri, 31 Dec 99999999999999999999 23:59:59 GMT"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(headers) == seconds


def test_retry_after_may_be_a_date() -> None:
    now = datetime(2026, 5, 12, 9, 0, tzinfo=UTC)
    assert retry_after_of({"Retry-After": format_datetime(now + timedelta(seconds=90), usegmt=True)}, now) == 90.0
    assert retry_after_of({"Retry-After": format_datetime(now - timedelta(seconds=90), usegmt=True)}, now) == 0.0
