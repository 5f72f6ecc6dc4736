"""Search: any stored substring is found, no query raises, every hit says where it is, and pages lose nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lossless.store.search
from lossless import Engine, Hit, Page, Thread
from lossless.errors import QueryError

TEXTS = [
    "The invoice INV-2024-0042 amounts to $1,250.40.",
    "Straße, STRASSE, ﬁle, İstanbul, ΣΊΣΥΦΟΣ, Kelvin K",
    "請把報告發送到東京都庁 報",
    "予約番号はRX2291です。",
    "항공편을 변경해 주세요",
    "เที่ยวบินออกเดินทาง",
    "path /srv/data/report_final-v2.tar.gz and user_id=mia_li_3668",
    'json {"a": [1, 2.50, "x\\ty"], "b": null}',
    "emoji 👩‍👩‍👧‍👦 and 🚀🚀, combining é vs é",
    "line one\nline two\ttabbed",
    "<|endoftext|> '; DROP TABLE lossless_message; -- % _ \\ \" * AND OR NOT NEAR",
    "lone \ud800 surrogate and NUL \0 inside",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
]
EVERYTHING = list(range(1, len(TEXTS) + 1))
META = st.text(alphabet="abAB01 .*+?()[]{}|\\^$\"'-_:~<>=!&/,#%@\n中の🚀", max_size=12)


def fill(engine: Engine, extra: int) -> Thread:
    """Store the texts, and so many others that the index is asked first."""
    thread = engine.thread("t")
    thread.append([{"role": "user", "content": text} for text in TEXTS])
    thread.append([{"role": "assistant", "content": f"filler number {n}"} for n in range(extra)]) if extra else None
    return thread


@pytest.fixture(scope="module", params=[0, 600], ids=["scanned", "indexed"])
def thread(request: pytest.FixtureRequest) -> Iterator[Thread]:
    with Engine("sqlite://", load_plugins=False) as engine:
        yield fill(engine, request.param)


def seqs(thread: Thread, pattern: str, **options: Any) -> list[int]:
    """Give the seqs of all hits, page by page."""
    found: list[Hit] = []
    page: Page[Hit] = thread.grep(pattern, **options)
    found.extend(page)
    while page.next_cursor is not None:
        page = thread.grep(pattern, cursor=page.next_cursor, **options)
        found.extend(page)
    return [hit.seq for hit in found]


@settings(max_examples=75, deadline=None)
@given(data=st.data())
def test_any_substring_is_found_in_any_case(thread: Thread, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(TEXTS) - 1))
    text = TEXTS[number]
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start + 1, min(len(text), start + 24)))
    changed = data.draw(st.sampled_from([str, str.upper, str.lower, str.casefold]))
    pattern = changed(text[start:stop])
    if pattern.casefold() in text.casefold():
        assert number + 1 in seqs(thread, pattern)


@pytest.mark.parametrize(
    ("pattern", "number"),
    [
        ("東", 3),
        ("京都", 3),
        ("庁", 3),
        ("報", 3),
        ("R", 4),
        ("番号", 4),
        ("号は", 4),
        ("편", 5),
        ("บ", 6),
        ("🚀", 9),
        ("fi", 2),
        ("İ", 2),
        ("ss", 2),
    ],
)
def test_one_and_two_characters_of_any_script_are_found(thread: Thread, pattern: str, number: int) -> None:
    assert number in seqs(thread, pattern)


@settings(max_examples=75, deadline=None)
@given(pattern=META | st.text(max_size=8), mode=st.sampled_from(["exact", "words", "regex"]))
@example(pattern="\ud800", mode="exact")
@example(pattern="\0", mode="words")
@example(pattern='"', mode="words")
@example(pattern="NEAR(a b)", mode="words")
@example(pattern="body:a", mode="words")
@example(pattern="(?P<a>x)(?P<a>y)", mode="regex")
@example(pattern="(a" * 300, mode="regex")
@example(pattern="\\p{Nope}", mode="regex")
def test_no_query_raises_anything_but_an_error_of_its_own(thread: Thread, pattern: str, mode: Any) -> None:
    try:
        page = thread.grep(pattern, mode=mode, limit=5)
    except QueryError:
        assert mode == "regex"
    else:
        assert len(page) <= 5


@settings(max_examples=40, deadline=None)
@given(pattern=st.sampled_from(["filler", "a", "e", "the", "0", "number 1", "报", "\n"]), limit=st.sampled_from([3, 10, 70]))
def test_pages_have_every_hit_once_newest_first(thread: Thread, pattern: str, limit: int) -> None:
    expected = [message.seq for message in reversed(thread.messages()) if pattern in message.text.casefold()]
    assert seqs(thread, pattern, limit=limit) == expected


def test_an_empty_pattern_finds_nothing(thread: Thread) -> None:
    for mode in ("exact", "words", "regex"):
        assert list(thread.grep("", mode=mode)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [0, -5, 10**30])
def test_an_absurd_limit_is_no_error(thread: Thread, limit: int) -> None:
    for mode in ("exact", "words", "regex"):
        assert thread.grep("invoice", mode=mode, limit=limit).items  # type: ignore[arg-type]


CURSORS = ["", "x", "%%%", "é", "W10", "bm90IGpzb24", "[]", "W1siYSJdXQ", "e30", "W251bGwsIG51bGxd", "AAAA" * 3_000]


def written(*state: Any) -> str:
    return lossless.store.search.write_cursor(*state)


@pytest.mark.parametrize(
    "cursor",
    [
        *CURSORS,
        written("scan", "abc"),
        written("index", "abc"),
        written("scan", 2**80),
        written(2**80),
        written("abc"),
        written(-1),
        written(True, False),
        written("scan", 1.5),
        written(1_700_000_000_000, "t"),
        written("nothing", 5),
    ],
)
def test_an_absurd_cursor_is_refused_or_harmless(thread: Thread, cursor: str) -> None:
    for mode in ("exact", "words", "regex"):
        with suppress(QueryError):
            thread.grep("filler", mode=mode, cursor=cursor)  # type: ignore[arg-type]


@pytest.mark.parametrize("cursor", [5, b"x", ["a"]])
def test_a_cursor_that_is_no_text_is_refused(thread: Thread, cursor: Any) -> None:
    with pytest.raises(QueryError):
        thread.grep("filler", cursor=cursor)


@pytest.mark.parametrize("pattern", [5, b"x", ["a"]])
def test_a_pattern_that_is_no_text_is_refused(thread: Thread, pattern: Any) -> None:
    for mode in ("exact", "words", "regex"):
        with pytest.raises(QueryError):
            thread.grep(pattern, mode=mode)  # type: ignore[arg-type]


def test_an_unknown_mode_is_refused(thread: Thread) -> None:
    with pytest.raises(QueryError, match="fuzzy"):
        thread.grep("a", mode="fuzzy")  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(?:a{1,30}){1,30}{1,30}b", "(.*a){25}x"])
def test_a_regular_expression_that_explodes_ends_within_its_time(thread: Thread, pattern: str) -> None:
    started = time.monotonic()
    with suppress(QueryError):
        thread.grep(pattern, mode="regex")
    assert time.monotonic() - started < 10


def test_a_hit_says_where_it_is_and_what_covers_it() -> None:
    with Engine("sqlite://", window=3_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": f"booking PNR{n:04d} " + "with some words " * 10} for n in range(100)])
        (old,) = thread.grep("PNR0003")
        (new,) = engine.grep("PNR0099")
        assert (old.thread_id, old.message_id, old.seq, old.role) == ("t", "m_4", 4, "user")
        assert "PNR0003" in old.snippet
        assert new.summary_id is None
        shown = {item.id for item in thread.context().items if item.kind == "summary"}
        assert old.summary_id is not None
        assert old.summary_id in shown | set(thread.describe(old.summary_id)["parents"])
        assert "m_4" in [message.id for message in thread.expand(old.summary_id)]


def test_a_substring_inside_longer_words_is_found_behind_a_page_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lossless.store.search, "INDEX_FROM", 50)
    monkeypatch.setattr(lossless.store.search, "_SCAN_UP_TO", 40)
    with Engine("sqlite://", load_plugins=False) as engine:
        for name in ("one", "two"):
            thread = engine.thread(name)
            texts = [f"number {n} " + ("ticket" if n % 3 == 0 else "sticketed" if n % 3 == 1 else "other") for n in range(120)]
            thread.append([{"role": "user", "content": text} for text in texts])
        found: list[tuple[str, int]] = []
        page = engine.grep("ticket", limit=8)
        while True:
            found.extend((hit.thread_id, hit.seq) for hit in page)
            if page.next_cursor is None:
                break
            page = engine.grep("ticket", limit=8, cursor=page.next_cursor)
        expected = {(name, n + 1) for name in ("one", "two") for n in range(120) if n % 3 < 2}
        assert set(found) == expected
        assert len(found) == len(expected)


def test_what_can_not_be_json_is_found_too() -> None:
    with Engine("sqlite://", load_plugins=False) as engine:
        thread = engine.thread("t")
        block = {"type": "custom", "blob": b"needle-bytes", "big": 10**700}
        thread.append({"role": "user", "content": [{"type": "text", "text": "see"}, block]})
        assert seqs(thread, "needle-bytes") == [1]


def test_other_tenants_and_other_threads_are_out_of_reach(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with Engine(url, namespace="a", load_plugins=False) as one, Engine(url, namespace="b", load_plugins=False) as other:
        one.thread("t").append({"role": "user", "content": "the secret word"})
        other.thread("t").append({"role": "user", "content": "nothing here"})
        for mode in ("exact", "words", "regex"):
            assert len(one.grep("secret", mode=mode)) == 1  # type: ignore[arg-type]
            assert len(other.grep("secret", mode=mode)) == 0  # type: ignore[arg-type]
            assert len(one.grep("secret", mode=mode, thread="u")) == 0  # type: ignore[arg-type]
