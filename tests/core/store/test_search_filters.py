"""Search within roles, times and tools, pages that nothing moves, and what a search refuses; the same on both databases."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import lossless.store.search
from lossless import Engine, Hit, Thread
from lossless.errors import QueryError
from lossless.store.matching import MOST_PATTERN

DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODES = ("exact", "words", "regex")


def call(id: str, name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": '{"q": "apple"}'}
    return {"role": "assistant", "content": "apple it is", "tool_calls": [{"id": id, "type": "function", "function": function}]}


def answer(id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text}


def fill(thread: Thread) -> None:
    """One message a day, each with an apple."""
    said = [
        {"role": "system", "content": "apple pie rules"},
        {"role": "user", "content": "an apple, please"},
        call("c1", "look_up"),
        answer("c1", "apple: 3 found"),
        call("c2", "order"),
        answer("c2", "apple ordered"),
        {"role": "assistant", "content": "your apple is ordered; the look_up is over"},
        {"role": "user", "content": "apple, thanks"},
    ]
    for number, message in enumerate(said):
        thread.append(message, created_at=DAY + timedelta(days=number))


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with Engine(url, load_plugins=False) as opened:
        yield opened


def all_of(engine: Engine, pattern: str, **options: Any) -> list[Hit]:
    found: list[Hit] = []
    page = engine.grep(pattern, **options)
    found.extend(page)
    while page.next_cursor is not None:
        page = engine.grep(pattern, cursor=page.next_cursor, **options)
        found.extend(page)
    return found


FILTERS: list[tuple[dict[str, Any], set[int]]] = [
    ({}, {1, 2, 3, 4, 5, 6, 7, 8}),
    ({"role": "user"}, {2, 8}),
    ({"role": ["tool", "system"]}, {1, 4, 6}),
    ({"since": DAY + timedelta(days=6)}, {7, 8}),
    ({"until": DAY + timedelta(days=1)}, {1}),
    ({"since": DAY + timedelta(days=1), "until": DAY + timedelta(days=3)}, {2, 3}),
    ({"tool": "look_up"}, {3, 4}),
    ({"tool": ["order", "look_up"]}, {3, 4, 5, 6}),
    ({"tool": "order", "role": "tool"}, {6}),
    ({"tool": "absent"}, set()),
    ({"role": "user", "since": DAY + timedelta(days=100)}, set()),
]


@pytest.mark.parametrize("extra", [0, 600], ids=["scanned", "indexed"])
def test_filters_by_role_time_and_tool_hold_in_every_mode(engine: Engine, extra: int) -> None:
    thread = engine.thread("t")
    fill(thread)
    if extra:
        thread.append([{"role": "user", "content": f"filler {number}"} for number in range(extra)])
    engine.thread("other").append({"role": "user", "content": "another apple"}, created_at=DAY + timedelta(days=50))
    for mode in MODES:
        for wanted, expected in FILTERS:
            for limit in (1, 50):
                found = all_of(engine, "apple", mode=mode, thread="t", limit=limit, **wanted)
                assert {hit.seq for hit in found} == expected, (mode, wanted)
                assert len(found) == len(expected)
    since = DAY + timedelta(days=40)
    assert [hit.thread_id for hit in engine.grep("apple", role="user", since=since)] == ["other"]


def test_an_answer_in_a_branch_is_known_by_the_call_in_the_thread_that_it_comes_from(engine: Engine) -> None:
    main = engine.thread("main")
    main.append([{"role": "user", "content": "go"}, call("c1", "look_up")])
    other = main.branch(thread_id="other")
    other.append(answer("c1", "apple in the branch"))
    assert [hit.seq for hit in other.grep("apple", tool="look_up")] == [3, 2]
    assert [(hit.thread_id, hit.seq) for hit in engine.grep("apple in", tool="look_up")] == [("other", 3)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "robot"},
        {"role": []},
        {"role": 5},
        {"tool": [b"x"]},
        {"since": "2026-01-01"},
        {"since": DAY, "until": DAY},
        {"since": DAY, "until": DAY - timedelta(days=1)},
        {"mode": "words", "regex": True},
        {"mode": "fuzzy"},
    ],
    ids=repr,
)
def test_what_contradicts_itself_is_refused_with_a_hint(wrong: dict[str, Any]) -> None:
    with Engine("sqlite://", load_plugins=False) as engine, pytest.raises(QueryError) as refused:
        engine.grep("apple", **wrong)
    assert refused.value.hint


@pytest.mark.parametrize("most", [1_000, 7])
def test_ranked_pages_have_every_hit_once_while_others_append(engine: Engine, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lossless.store.search, "RANKED_MOST", most)
    thread = engine.thread("t")
    texts = [
        "apple " * (1 + number % 5) + "pear " * (number % 3) + f"number {number} " + "word " * (number % 7)
        for number in range(60)
    ]
    thread.append([{"role": "user", "content": text} for text in texts])
    before = {hit.seq for hit in all_of(engine, "apple OR pear", mode="words", limit=1_000)}
    assert before == set(range(1, 61))
    found: list[int] = []
    page = engine.grep("apple OR pear", mode="words", limit=7)
    while True:
        found += [hit.seq for hit in page]
        if page.next_cursor is None:
            break
        # Ranks shift: what was rare becomes common, and messages become long.
        thread.append([{"role": "user", "content": "pear " * 40 + "apple"} for _ in range(9)])
        page = engine.grep("apple OR pear", mode="words", limit=7, cursor=page.next_cursor)
    assert sorted(found) == sorted(before)


def test_pages_newest_first_have_every_hit_once_while_others_append(engine: Engine) -> None:
    thread = engine.thread("t")
    thread.append([{"role": "user", "content": f"apple {number}"} for number in range(700)])
    for options in ({"thread": "t"}, {}):
        for mode in ("exact", "regex"):
            found: list[int] = []
            count = len(thread.messages())
            page = engine.grep("apple", mode=mode, limit=150, **options)  # type: ignore[arg-type]
            while True:
                found += [hit.seq for hit in page]
                if page.next_cursor is None:
                    break
                thread.append({"role": "user", "content": "apple too"})
                page = engine.grep("apple", mode=mode, limit=150, cursor=page.next_cursor, **options)  # type: ignore[arg-type]
            assert found == list(range(count, 0, -1))


def test_a_hit_shows_where_the_words_stand(engine: Engine) -> None:
    engine.thread("t").append({"role": "user", "content": "lead " * 200 + "the xylograph is here" + " tail" * 200})
    for pattern, mode in (("xylograph", "exact"), ("the AND xylograph", "words"), ("xylo.raph", "regex")):
        (hit,) = engine.grep(pattern, mode=mode)  # type: ignore[arg-type]
        assert "xylograph" in hit.snippet
        assert len(hit.snippet) < 300


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*a){25}x", r"(a*)*\1b", "a?" * 600 + "a" * 600])
def test_an_exploding_regular_expression_ends_in_an_error_after_a_second(pattern: str) -> None:
    with Engine("sqlite://", load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "a" * 5_000 + "!"})
        thread.append([{"role": "user", "content": f"harmless {number}"} for number in range(200)])
        started = time.thread_time()
        said = ""
        try:
            thread.grep(pattern, regex=True)
        except QueryError as error:
            said = error.message
        assert "longer than" in said or not said  # the library sees through some of them
        assert time.thread_time() - started < 3


@pytest.mark.parametrize(
    "pattern", ["a{1000000}", "(?:(?:a{1000}){1000}){1000}", "(((a{100}){100}){100}){100}", "x" * (MOST_PATTERN + 1)]
)
def test_a_regular_expression_that_would_fill_the_memory_is_refused(pattern: str) -> None:
    with Engine("sqlite://", load_plugins=False) as engine:
        engine.thread("t").append({"role": "user", "content": "a"})
        started = time.thread_time()
        with pytest.raises(QueryError):
            engine.grep(pattern, mode="regex")
        assert time.thread_time() - started < 1


@pytest.mark.parametrize(
    "pattern", [r"\d{4}-\d{2}-\d{2}", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "(?:ab){300}", r"[{]5000[}]", r"\{99999\}"]
)
def test_an_ordinary_regular_expression_is_not_taken_for_a_large_one(pattern: str) -> None:
    text = "2026-01-31 123e4567-e89b-12d3-a456-426614174000 " + "ab" * 300 + " {5000} {99999}"
    with Engine("sqlite://", load_plugins=False) as engine:
        engine.thread("t").append({"role": "user", "content": text})
        assert len(engine.grep(pattern, mode="regex")) == 1


def test_a_regular_expression_over_a_huge_text_ends_in_time() -> None:
    with Engine("sqlite://", load_plugins=False) as engine:
        engine.thread("t").append({"role": "user", "content": "word and " * 1_000_000})
        assert len(engine.grep("and word$|and $", mode="regex")) == 1
        started = time.thread_time()
        with pytest.raises(QueryError, match="m_1"):
            engine.grep("(?:.*w.*)+absent", mode="regex")
        assert time.thread_time() - started < 4


def test_a_scan_that_runs_out_of_time_goes_on_at_its_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lossless.store.matching, "REGEX_SECONDS", 0.05)
    with Engine("sqlite://", load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": f"number {number} " + "word " * 400} for number in range(400)])
        found = all_of(engine, r"(?:\w+ )+number|number \d+ (?:word )+", mode="regex", limit=1_000)
        assert [hit.seq for hit in found] == list(range(400, 0, -1))


def test_a_part_of_a_word_in_a_long_history_is_found_once_behind_a_page_of_words(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lossless.store.search, "INDEX_FROM", 50)
    monkeypatch.setattr(lossless.store.search, "SCAN_ROWS", 30)
    thread = engine.thread("t")
    thread.append([{"role": "user", "content": ("ticket", "xticketx", "other")[number % 3]} for number in range(150)])
    found = [hit.seq for hit in all_of(engine, "ticket", limit=11)]
    assert sorted(found) == [number + 1 for number in range(150) if number % 3 < 2]
    assert len(all_of(engine, "icke", limit=11)) == 100
    page = engine.grep("nowhere at all")
    assert (len(page), page.scanned <= 30) == (0, True)
