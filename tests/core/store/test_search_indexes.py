"""The indexes of both databases find the same, and what a text's own tokens say."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, text

from lossless import Engine
from lossless.errors import QueryError
from lossless.store.analyzer import analyze, parse_words
from lossless.store.filters import EVERYTHING
from lossless.store.index import index_of
from lossless.store.index_tsvector import to_tsvector
from lossless.store.keys import Reach, ThreadKey
from lossless.store.pages import write_cursor
from lossless.store.words import holds
from lossless_postgres import Server

WORDS = (
    "red",
    "redder",
    "green",
    "blue",
    "src/store/sqlite.py",
    "数据库",
    "数据",
    "naïve",
    "camelCaseWord",
    "E1234",
    "it's",
    "a",
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
WORD = st.sampled_from([*WORDS, "re*", "数", "case", "sql*", "café", "'", "\\", ":*", "&", "|", "!"])
PHRASE = st.lists(WORD, min_size=1, max_size=3).map(lambda words: '"' + " ".join(words) + '"') | st.just('"red gre"*')
QUERIES = st.recursive(
    WORD | PHRASE,
    lambda inner: st.tuples(inner, st.sampled_from([" ", " AND ", " OR ", " NOT "]), inner).map(
        lambda three: f"({''.join(three)})"
    ),
    max_leaves=5,
)
CORPUS = [
    "red green blue",
    "green red",
    "redder than red",
    "look at src/store/sqlite.py and store.py",
    "数据库 的 数据",
    "naïve café, it's E1234",
    "camelCaseWord and snake_case_word",
    "a 'quoted' \\backslash\\ & | ! <-> :* thing",
    "blue " * 300 + "red green",
    " ".join(f"w{number}" for number in range(17_000)) + " far away",
]


@pytest.fixture(scope="module")
def engines(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Engine]]:
    with postgres.database() as url:
        opened = [Engine(f"sqlite:///{tmp_path_factory.mktemp('search')}/s.db"), Engine(url)]
        for engine in opened:
            for thread in ("one", "two"):
                engine.thread(thread).append([{"role": "user", "content": text} for text in CORPUS])
            with Engine(engine.url, namespace="other") as other:
                other.thread("one").append({"role": "user", "content": "red of another tenant"})
        yield opened
        for engine in opened:
            engine.close()


def found(engine: Engine, pattern: str, mode: str, thread: str | None = None) -> list[tuple[str, int]]:
    hits, cursor = [], None
    while True:
        page = engine.grep(pattern, mode=mode, thread=thread, limit=3, cursor=cursor)  # type: ignore[arg-type]
        hits += [(hit.thread_id, hit.seq) for hit in page]
        cursor = page.next_cursor
        if cursor is None:
            return hits


@settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=QUERIES)
def test_words_find_the_same_in_both_and_what_the_tokens_say(engines: list[Engine], query: str) -> None:
    expression = parse_words(query).expression
    expected = [seq for seq, text in enumerate(CORPUS, start=1) if expression is not None and holds(expression, analyze(text))]
    for engine in engines:
        hits = found(engine, query, "words")
        assert len(hits) == len(set(hits))
        assert sorted(hits) == [(thread, seq) for thread in ("one", "two") for seq in expected]
        assert sorted(found(engine, query, "words", "two")) == [("two", seq) for seq in expected]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pattern=st.sampled_from(CORPUS[:8]).flatmap(
        lambda text: st.tuples(st.just(text), st.integers(0, len(text) - 1), st.integers(1, 9))
    )
)
def test_substrings_are_found_newest_first_in_both(engines: list[Engine], pattern: tuple[str, int, int]) -> None:
    text, start, length = pattern
    wanted = text[start : start + length]
    one, other = (found(engine, wanted, "exact") for engine in engines)
    assert one == other
    seqs = [seq for seq, text in enumerate(CORPUS, start=1) if wanted.casefold() in text.casefold()]
    assert one == [(thread, seq) for thread in ("two", "one") for seq in reversed(seqs)]


@pytest.mark.parametrize("pattern", [r"w\d{5}\b", "^red", "(?i)SNAKE.CASE", "据库"])
def test_regular_expressions_find_the_same_in_both(engines: list[Engine], pattern: str) -> None:
    one, other = (found(engine, pattern, "regex") for engine in engines)
    assert one == other != []


def test_no_namespace_sees_another(engines: list[Engine]) -> None:
    for engine in engines:
        for mode in ("exact", "words", "regex"):
            assert found(engine, "tenant", mode) == []


@pytest.mark.parametrize(
    "query", ["x" * 100_000, '"' + "a b " * 300 + '"', " ".join(['"' + "p q r " * 100 + '"'] * 300), "'", "\0", "((((", "\ud800"]
)
def test_no_query_raises(engines: list[Engine], query: str) -> None:
    for engine in engines:
        for mode in ("words", "exact"):
            found(engine, query, mode)


@pytest.mark.parametrize(
    "cursor",
    [write_cursor(-1), write_cursor(2**70), write_cursor("x"), write_cursor("index", -5), write_cursor("scan", 2**63), "?"],
)
def test_a_foreign_cursor_is_refused_in_words(engines: list[Engine], cursor: str) -> None:
    for engine in engines:
        for mode in ("words", "exact"):
            with pytest.raises(QueryError):
                engine.grep("red", mode=mode, cursor=cursor)  # type: ignore[arg-type]


def test_a_message_of_any_size_can_be_stored_and_is_found(url: str) -> None:
    texts = {
        "often": "again " * 70_000 + "needle in hay",
        "long": " ".join(f"n{number:x}" for number in range(60_000)) + " needle in hay",
        "huge": " ".join(f"number{number:012d}" for number in range(120_000)) + " needle in hay",
    }
    with Engine(url) as engine:
        for name, text in texts.items():
            engine.thread(name).append({"role": "user", "content": text})
            engine.thread(name).append([{"role": "user", "content": f"other {n}"} for n in range(600)])
        for query, count in (
            ('"needle in hay"', 3),
            ('"in needle"', 0),
            ("needle NOT again", 2),
            ("number000000119999", 1),
            ("n1f* AND hay", 1),
        ):
            assert len(engine.grep(query, mode="words").items) == count
        assert len(engine.grep("needle in hay").items) == 3
        assert [hit.thread_id for hit in engine.thread("huge").grep("number000000119999 needle")] == ["huge"]


@given(st.text())
def test_a_vector_holds_each_token_once_with_its_places(text: str) -> None:
    tokens = analyze(text)
    held, written = to_tsvector(" ".join(tokens), ThreadKey("tenant", "thread"))
    assert held == 0
    assert written.count("'") == 2 * (len(set(tokens)) + 2)


def test_the_vector_of_a_large_text_is_made_in_little_memory() -> None:
    terms = "again and " * 200_000
    tracemalloc.start()
    try:
        to_tsvector(terms, ThreadKey("tenant", "thread"))
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(terms)


FILL = """
INSERT INTO lossless_search_doc (namespace, thread_id, seq, held, tokens)
SELECT d.namespace, d.thread_id, 10 + n, 0,
    array_to_tsvector(ARRAY['common', 'rare' || n, 'w' || n % 50] || CASE WHEN n % 2 = 0 THEN CAST(:mine AS text[]) ELSE '{}' END)
FROM lossless_search_doc d CROSS JOIN generate_series(1, 20000) n WHERE d.namespace = 'default'
"""


def test_a_rare_word_of_one_tenant_among_many_is_asked_of_the_index(postgres_url: str) -> None:
    key = ThreadKey("default", "t")
    with Engine(postgres_url, load_plugins=False) as engine:
        engine.thread("t").append({"role": "user", "content": "hello"})
        marks = [token.strip("'") for token in to_tsvector("", key)[1].split()]
        engine.database.write(lambda connection: connection.execute(text(FILL), {"mine": marks}))
        with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE lossless_search_doc")
        for word, limit, most in (("rare1234", 50, 3_000), ("absent", 50, 3_000), ("common", 50, 3_000), ("w6", 1_000, 21_000)):
            expression = parse_words(word).expression
            assert expression is not None
            with engine.database.read() as reading:
                rows = index_of(reading).newest(reading, Reach("default"), EVERYTHING, expression, 2**62)
                asked: list[tuple[str, Any]] = []
                event.listen(reading, "before_cursor_execute", partial(_note, asked))
                assert len(list(islice(rows, limit))) == {"rare1234": 1, "absent": 0, "common": 50, "w6": 400}[word]
                driver: Any = reading.connection.driver_connection
                plans = [driver.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + sql, values).fetchone() for sql, values in asked]
                assert sum(_rows_read(plan[0][0]["Plan"]) for plan in plans) <= most, word


def _note(asked: list[tuple[str, Any]], _connection: object, _cursor: object, sql: str, values: Any, *_rest: object) -> None:
    if "tsquery" in sql:
        asked.append((sql, values))


def _rows_read(plan: dict[str, Any]) -> int:
    """Count the rows of the documents' table that a plan took in its hand."""
    own = 0
    if plan.get("Relation Name") == "lossless_search_doc":
        own = (
            int(plan["Actual Rows"])
            + int(plan.get("Rows Removed by Filter", 0))
            + int(plan.get("Rows Removed by Index Recheck", 0))
        )
    return own + sum(map(_rows_read, plan.get("Plans", ())))
