"""Pages of what a summary stands for: each is a slice of the whole, however deep the summary and wherever it is stored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless import Engine, Thread

MESSAGES = 600


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    url = f"sqlite:///{tmp_path_factory.mktemp('expanding') / 'deep.db'}"
    with Engine(url, window=6_000, load_plugins=False, durability="normal") as opened:
        said = ("Order {0} ships on day {0} to hall {1}, as agreed with the warehouse. " * 3).strip()
        turns = [
            {"role": "assistant" if number % 2 else "user", "content": said.format(number, number % 7)}
            for number in range(MESSAGES)
        ]
        opened.thread("deep").append(turns, compact=False)
        opened.thread("deep").compact()
        yield opened


@pytest.fixture(scope="module", params=["the thread itself", "a branch of it"])
def thread(engine: Engine, request: pytest.FixtureRequest) -> Thread:
    if request.param == "the thread itself":
        return engine.thread("deep")
    return engine.thread("deep").branch(thread_id="branch")


def deepest(thread: Thread) -> str:
    summaries = [item.id for item in thread.context().items if item.kind == "summary"]
    return max(summaries, key=lambda id: int(thread.describe(id)["depth"]))


@given(offset=st.integers(0, MESSAGES + 5), limit=st.none() | st.integers(0, 120))
@settings(max_examples=60, deadline=None)
def test_a_page_is_a_slice_of_the_whole(thread: Thread, offset: int, limit: int | None) -> None:
    id = deepest(thread)
    assert thread.describe(id)["depth"] >= 1
    whole = [message.seq for message in thread.expand(id)]
    assert len(whole) == thread.describe(id)["messages"]
    page = [message.seq for message in thread.expand(id, offset=offset, limit=limit)]
    assert page == whole[offset:][:limit]


@given(offset=st.integers(0, 40), limit=st.integers(0, 40))
@settings(max_examples=20, deadline=None)
def test_a_page_of_the_sources_alone_is_a_slice_of_them(thread: Thread, offset: int, limit: int) -> None:
    id = deepest(thread)
    whole = [message.seq for message in thread.expand(id, sources_only=True)]
    assert [message.seq for message in thread.expand(id, sources_only=True, offset=offset, limit=limit)] == whole[offset:][:limit]


def test_pages_join_without_gaps_or_overlaps(thread: Thread) -> None:
    id = deepest(thread)
    joined = [message.seq for offset in range(0, MESSAGES, 37) for message in thread.expand(id, offset=offset, limit=37)]
    assert joined == [message.seq for message in thread.expand(id)]
