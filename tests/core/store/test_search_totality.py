"""Search is total: any stored substring of one character or more, in any script, is found, on both databases alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lossless import Engine
from lossless_postgres import Server

SCRIPTS = [
    "Straße, STRASSE, ﬁle, İstanbul, ΣΊΣΥΦΟΣ, Kelvin \u212a",
    "Ελληνικά και русский язык, ўзбек, українська",
    "ראשון שני, العربية مُشَكَّل, فارسی",
    "हिन्दी में संदेश, বাংলা, தமிழ், తెలుగు",
    "เที่ยวบินออกเดินทาง ຂ້ອຍ ខ្មែរ မြန်မာ བོད་",
    "請把報告發送到東京都庁 報",
    "予約番号はRX2291です。カタカナ ｶﾀｶﾅ が か\u3099",
    "항공편을 변경해 주세요 \u1112\u1161\u11ab",
    "ქართული հայերեն አማርኛ ᏣᎳᎩ",
    "𠀀𠀁 𝒜𝓁𝑔ℯ𝒷𝓇𝒶 𓀀 𝟘𝟙",
    "emoji 👩‍👩‍👧‍👦 and 🚀🚀, flags 🇩🇪🇫🇷, é vs é, ☃️",
    "path /srv/data/report_final-v2.tar.gz and C:\\Users\\mia\\a b.txt",
    "user_id=mia_li_3668 camelCaseWord HTTPServer2 x86_64 __init__ A1-B2:C3",
    'json {"a": [1, 2.50, "x\\ty"], "b": null} and <tag attr=\'v\'>',
    "line one\nline two\ttabbed\r\nthree \u2028 \u00a0 \u200b \ufeff",
    "'; DROP TABLE lossless_message; -- % _ \\ \" * AND OR NOT NEAR ^ : ( )",
    "lone \ud800 surrogate and NUL \0 inside",
    "a" * 200 + "!" + "b" * 70 + "1" * 49,
    "…—–«»„“”‚‘’ ¿¡ §¶†‡ ° № ™ © ½ ²³ € ₿ ∑∫√ ←→ ✓",
]
EVERYTHING = list(range(1, len(SCRIPTS) + 1))


@pytest.fixture(scope="module", params=[0, 600], ids=["scanned", "indexed"])
def engines(request: pytest.FixtureRequest, postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Engine]]:
    with postgres.database() as url:
        opened = [
            Engine(f"sqlite:///{tmp_path_factory.mktemp('total')}/s.db", load_plugins=False),
            Engine(url, load_plugins=False),
        ]
        for engine in opened:
            said = [*SCRIPTS, *(f"filler number {number}" for number in range(request.param))]
            engine.thread("t").append([{"role": "user", "content": text} for text in said])
        yield opened
        for engine in opened:
            engine.close()


def seqs(engine: Engine, pattern: str, mode: str, limit: int = 300) -> list[int]:
    page = engine.thread("t").grep(pattern, mode=mode, limit=limit)  # type: ignore[arg-type]
    found = [hit.seq for hit in page]
    while page.next_cursor is not None:
        page = engine.thread("t").grep(pattern, mode=mode, limit=limit, cursor=page.next_cursor)  # type: ignore[arg-type]
        found += [hit.seq for hit in page]
    return found


PLACES = st.sampled_from(SCRIPTS).flatmap(
    lambda text: st.tuples(st.just(text), st.integers(0, len(text) - 1), st.integers(1, 24))
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=PLACES, changed=st.sampled_from([str, str.upper, str.lower, str.casefold, str.swapcase]))
@example(place=("Kelvin \u212a", 7, 1), changed=str)
@example(place=("ﬁle", 0, 1), changed=str)
def test_any_stored_substring_is_found_in_both(engines: list[Engine], place: tuple[str, int, int], changed: type[str]) -> None:
    text, start, length = place
    pattern = changed(text[start : start + length])
    expected = [seq for seq, said in reversed(list(enumerate(SCRIPTS, start=1))) if pattern.casefold() in said.casefold()]
    for engine in engines:
        found = [seq for seq in seqs(engine, pattern, "exact") if seq <= len(SCRIPTS)]
        assert found == expected


@pytest.mark.parametrize("seq", EVERYTHING)
def test_every_single_character_and_every_pair_is_found_in_both(engines: list[Engine], seq: int) -> None:
    text = SCRIPTS[seq - 1]
    wanted = {text[place : place + size] for size in (1, 2) for place in range(0, len(text), 5)}
    for engine in engines:
        for pattern in wanted:
            assert seq in seqs(engine, pattern, "exact"), pattern


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.text(alphabet=st.sampled_from(sorted(set("".join(SCRIPTS)) | set(' "*()'))), max_size=10)
    | st.sampled_from(SCRIPTS).flatmap(lambda text: st.sampled_from(text.split() or [text]))
    | st.text(max_size=6)
)
@example(query="報告")
@example(query="庁")
@example(query='"発送" OR 東京')
@example(query="report_final-v2.tar.gz")
@example(query="serv*")
@example(query="🚀")
def test_words_find_the_same_in_both_and_never_raise(engines: list[Engine], query: str) -> None:
    one, other = (seqs(engine, query, "words", limit=40) for engine in engines)
    assert sorted(one) == sorted(other)
    assert len(one) == len(set(one))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=PLACES)
def test_a_word_of_a_text_is_found_by_its_words(engines: list[Engine], place: tuple[str, int, int]) -> None:
    text, start, _length = place
    words = text[start:].split()
    for engine in engines:
        if words and start and text[start - 1].isspace() and any(char.isalnum() for char in words[0]):
            assert EVERYTHING[SCRIPTS.index(text)] in seqs(engine, f'"{words[0]}"', "words")
