"""Completion: a model's note comes out honest, within its budget, and with as much of the sources as fits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.policies import complete, decisions, extract, witness
from lossless.tokens import TokenCounter

Messages = list[dict[str, Any]]
CHAPTERS = ["alpha", *("beta gamma delta epsilon zeta eta theta iota kappa lambda sigma " * 2).split(), "omega"]
POINTER = "sum_0123456789abcdef"


def test_a_note_that_holds_everything_is_left_as_it_is(pieces: TokenCounter) -> None:
    messages = [{"role": "user", "content": "3 chairs at $45 each."}]
    note = complete("They want 3 chairs at 45 dollars.", extract(messages), [], 200, pieces, POINTER)
    assert (note.text, note.kept, note.regime) == ("They want 3 chairs at 45 dollars.", 1, "correctable")


def test_missing_items_are_appended_verbatim(workshop: Messages, pieces: TokenCounter) -> None:
    items = extract(workshop)
    note = complete("The customer asked about an order.", items, decisions(workshop), 2000, pieces, POINTER)
    assert note.text.startswith("The customer asked about an order.\nSources:\n")
    assert (note.kept, note.regime) == (len(items), "correctable")
    assert all(item.text in note.text for item in items)
    assert "Decisions and actions:" in note.text


def test_what_does_not_fit_is_named_by_pointer(workshop: Messages, pieces: TokenCounter) -> None:
    items = extract(workshop)
    note = complete("The customer asked about an order.", items, [], 120, pieces, POINTER)
    assert note.text.startswith(f"[{note.kept} of {note.total} source items kept; the rest: expand {POINTER}]")
    assert 0 < note.kept < note.total
    assert note.regime == "recoverable"


def test_the_text_yields_to_the_items_but_keeps_half(workshop: Messages, pieces: TokenCounter) -> None:
    text = " ".join(f"They talked for a long while about the weather, chapter {word}." for word in CHAPTERS)
    note = complete(text, extract(workshop), [], 240, pieces, POINTER)
    said = note.text.partition("Sources:")[0]
    assert "chapter alpha." in said
    assert "chapter omega." not in said
    assert note.kept >= 3


def test_sentences_that_carry_items_are_the_last_to_go(pieces: TokenCounter) -> None:
    messages = [{"role": "user", "content": f"Item {at}: V-{at} costs ${at}7."} for at in range(30)]
    text = "It was a sunny day in the old town. " * 8 + "Item 3: V-3 costs $37."
    note = complete(text, extract(messages), [], 150, pieces, POINTER)
    assert "V-3 costs $37" in note.text.partition("Sources:")[0]


def test_the_opening_of_a_note_is_the_last_to_go(pieces: TokenCounter) -> None:
    messages = [{"role": "user", "content": f"Item {at}: V-{at} costs ${at}7."} for at in range(30)]
    text = "A customer furnishes an old villa. " + "It was a sunny day in the old town. " * 8 + "Item 3: V-3 costs $37."
    note = complete(text, extract(messages), [], 150, pieces, POINTER)
    said = note.text.partition("Sources:")[0]
    assert "A customer furnishes an old villa." in said
    assert said.count("sunny day") < 8


def test_inventions_are_taken_out_when_the_sources_are_at_hand(pieces: TokenCounter) -> None:
    messages = [{"role": "user", "content": "3 chairs at $45 each."}]
    text = "They want 3 chairs at $45 each. The invoice is INV-9931. The room is blue."
    note = complete(text, extract(messages), [], 200, pieces, POINTER, sources="3 chairs at $45 each.")
    assert note.text == "They want 3 chairs at $45 each. The room is blue."
    assert note.invented == ()


def test_without_the_sources_inventions_are_only_told(pieces: TokenCounter) -> None:
    messages = [{"role": "user", "content": "3 chairs at $45 each."}]
    note = complete("They want 3 chairs at $45 each. The invoice is INV-9931.", extract(messages), [], 200, pieces, POINTER)
    assert "INV-9931" in note.text
    assert note.invented == ("INV-9931",)


def test_a_tag_that_a_model_wrote_is_not_believed(pieces: TokenCounter) -> None:
    messages = [{"role": "user", "content": "The port is 8080."}]
    note = complete("[7 of 9 source items kept]\nThe port is 8080.", extract(messages), [], 100, pieces, POINTER)
    assert note.text == "The port is 8080."


def test_an_empty_answer_becomes_a_list_of_sources(workshop: Messages, pieces: TokenCounter) -> None:
    note = complete("", extract(workshop), [], 2000, pieces, POINTER)
    assert note.text.startswith("Sources:\n")
    assert note.kept == note.total


@pytest.mark.parametrize("text", ["", "OK", "Fine. " * 200, "x" * 3000, "The port is 1.\n\n- a\n- b", "😀 " * 100])
def test_no_budget_is_ever_exceeded(text: str, workshop: Messages, counter: TokenCounter) -> None:
    items, settled = extract(workshop), decisions(workshop)
    for budget in [*range(1, 60), *range(60, 900, 53)]:
        note = complete(text, items, settled, budget, counter, POINTER)
        assert note.tokens == counter.count(note.text) <= budget
        assert not note.regime.endswith("silent")
        if note.text:
            assert (f"{note.kept} of {note.total}" in note.text.partition("\n")[0]) == (note.kept < note.total)
        seen = witness(note.text, items)
        assert (seen.kept, seen.regime) == (note.kept, note.regime)


@given(st.text(max_size=300), st.integers(1, 300), st.booleans(), st.sampled_from(["", POINTER, "m_1 … m_9"]))
@settings(deadline=None, max_examples=80)
def test_any_answer_comes_out_honest(pieces: TokenCounter, text: str, budget: int, told: bool, pointer: str) -> None:
    source = "The port is 8080.\nOrder A-17 costs $45.\nWe must leave before May 20."
    items = extract([{"role": "user", "content": source}])
    note = complete(text, items, [], budget, pieces, pointer, sources=source if told else None)
    assert note == complete(text, items, [], budget, pieces, pointer, sources=source if told else None)
    assert note.tokens <= budget
    assert not note.regime.endswith("silent")
    assert not (told and note.invented)
