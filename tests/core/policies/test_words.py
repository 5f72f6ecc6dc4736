"""Words: what changes a clause's meaning, and the shortcut that spares most clauses the search for it."""

from __future__ import annotations

import importlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lossless.policies.words import CONDITION, CONSTRAINT, HEDGE, NEGATION, STRONG_CONSTRAINT, Cue, content_words, stem

CUES: dict[str, Cue] = {
    f"{room}.{name}": cue
    for room in ("words", "decisions")
    for name, cue in vars(importlib.import_module(f"lossless.policies.{room}")).items()
    if isinstance(cue, Cue)
}


@pytest.mark.parametrize("name", sorted(CUES))
@given(data=st.data())
@settings(max_examples=75, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_the_shortcut_misses_no_clause_that_the_pattern_finds(name: str, data: st.DataObject) -> None:
    cue = CUES[name]
    text = data.draw(st.from_regex(cue.pattern, alphabet=st.characters(codec="ascii")))
    assert cue.search(text) is not None


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        (HEDGE, "I think the port is 8080"),
        (HEDGE, "it weighs about 40 kg"),
        (HEDGE, "~300 people"),
        (HEDGE, "I’m not entirely sure"),
        (CONSTRAINT, "I don't want to fly before 11 AM"),
        (CONSTRAINT, "deliver by Friday"),
        (CONSTRAINT, "only Dave may enter"),
        (STRONG_CONSTRAINT, "no more than 4 items"),
        (NEGATION, "I didn’t buy it"),
        (CONDITION, "if it rains"),
    ],
)
def test_words_that_change_the_meaning_are_noticed(cue: Cue, text: str) -> None:
    assert cue.search(text) is not None


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        (HEDGE, "a question about flights"),
        (CONSTRAINT, "we met before and talked"),
        (CONSTRAINT, "I don't remember it"),
        (STRONG_CONSTRAINT, "only a few"),
        (NEGATION, "a notable cannon"),
    ],
)
def test_ordinary_words_are_left_alone(cue: Cue, text: str) -> None:
    assert cue.search(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [("departs", "departure"), ("chairs", "chair"), ("booked", "booking"), ("cancelled", "cancellation"), ("cities", "city")],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_content_words_leave_out_small_words_and_divide_identifiers() -> None:
    found = content_words("What is the available_seats of flightNumber?")
    assert found == tuple(stem(word) for word in ("available", "seats", "flight", "number"))


def test_a_run_of_east_asian_characters_is_read_in_pairs() -> None:
    assert set(content_words("価格は")) & set(content_words("価格"))
