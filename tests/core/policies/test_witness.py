"""The witness: what counts as kept, what the verdict is, and what was invented."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.policies import SourceItem, extract, witness


def item(text: str, *, kind: str = "number", **more: Any) -> SourceItem:
    return SourceItem(text=text, kind=kind, message_id="m_1", span=(0, len(text)), role="user", **more)


def kept(note: str, *texts: str | SourceItem) -> int:
    return witness(note, [text if isinstance(text, SourceItem) else item(text) for text in texts]).kept


# --- what counts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("note", "source"),
    [
        ("timeout: 30", "timeout: 30"),
        ("the timeout is 30", "timeout: 30"),
        ("The timeout, as configured, is 30 seconds", "timeout: 30"),
        ("timeout=30", "timeout: 30"),
        ("set timeout to 30", "timeout=30"),
        ("chairs: 3 × $45", "3 chairs at $45 each"),
        ("three chairs at 45 dollars apiece", "I bought 3 chairs at $45"),
        ("We have 3 chairs. Each chair costs $45.", "3 chairs at $45 each"),
        ("refund: $45 to card 7447", "The customer wants the refund of $45 to go to card 7447"),
        ("The deadline is May 20", "deadline: 2024-05-20"),
        ("depart at 6 AM", "departure: 06:00:00"),
        ("budget of 1,200 dollars", "The budget is $1200"),
        ("HAT069 economy costs $121", "HAT069: prices.economy: 121"),
        ("Never exceed $40", "must not exceed $40"),
        ("価格: 3000円", "価格は3000円です"),
        ("| api | timeout | 45 |", "api timeout: 45"),
        ("edited /etc/app.conf", "config file: /etc/app.conf"),
    ],
)
def test_other_wording_is_fine(note: str, source: str) -> None:
    assert kept(note, source) == 1


@pytest.mark.parametrize(
    ("note", "source"),
    [
        ("30", "timeout: 30"),
        ("It is 30.", "timeout: 30"),
        ("timeout: 300", "timeout: 30"),
        ("timeout: 1.30", "timeout: 30"),
        ("timeout: 30.5", "timeout: 30"),
        ("timeout: 30%", "timeout: 30"),
        ("port 1308", "port: 30"),
        ("retries: 30", "timeout: 30"),
        ("retries 30, timeout unknown", "timeout: 30"),
        ("order shipping: 45", "order total: 45"),
        ("13 chairs at $45", "3 chairs at $45"),
        ("3 chairs at $45.50", "3 chairs at $45"),
        ("3 pens, chairs at $45", "3 chairs at $45"),
        ("3 chairs at €45", "3 chairs at $45"),
        ("the weight is 5 kg", "weight 5 lb"),
        ("must exceed $40", "must not exceed $40"),
        ("contact the customer by phone", "do not contact the customer by phone"),
        ("file /etc/app.config", "file /etc/app"),
        ("", "timeout: 30"),
    ],
)
def test_a_bare_a_partial_or_a_foreign_number_is_missing(note: str, source: str) -> None:
    assert kept(note, source) == 0


def test_values_that_changed_places_are_missing() -> None:
    assert kept("timeout: 45, retries: 30", "timeout: 30", "retries: 45") == 0
    assert kept("timeout 45 retries 30", "timeout: 30", "retries: 45") == 0
    assert kept("the winner is XYZ-9; the loser is ABC-1", "winner: ABC-1", "loser: XYZ-9") == 0


def test_a_value_belongs_to_the_record_that_the_note_speaks_of() -> None:
    records = [item("HAT069: economy: 121", atoms=("HAT069", "121")), item("HAT083: economy: 100", atoms=("HAT083", "100"))]
    assert kept("HAT069:\n- economy: $121\nHAT083:\n- economy: $100", *records) == 2
    assert kept("HAT069 economy $100; HAT083 economy $121", *records) == 0


def test_a_guess_that_became_a_fact_is_not_the_guess() -> None:
    guess = item("I think the port is 8080", hedged=True)
    assert kept("The port is 8080.", guess) == 0
    assert kept("The port is probably 8080.", guess) == 1


@pytest.mark.parametrize(
    "note",
    [
        "The ticket does not cost 340 USD.",
        "The ticket doesn't cost 340 USD, the user said.",
        "The ticket never cost 340 USD",
        "The ticket's cost is not 340 USD but 360 USD",
        "The ticket costs 360 USD instead of 340 USD",
        "Ticket cost: 340 USD was wrong",
        "There is no ticket at a cost of 340 USD.",
    ],
)
def test_a_value_that_the_note_denies_is_missing(note: str) -> None:
    assert kept(note, "The ticket costs 340 USD") == 0


@pytest.mark.parametrize(
    "note",
    [
        "The ticket costs 340 USD and is not refundable.",
        "The user did not like the hotel, but the ticket costs 340 USD.",
        "The ticket must not cost more than 340 USD.",
        "Not only the hotel: the ticket costs 340 USD.",
        "Ticket no. 3, cost 340 USD",
        "The ticket costs 340 USD, not 360 USD.",
    ],
)
def test_a_negation_of_something_else_denies_nothing(note: str) -> None:
    assert kept(note, "The ticket costs 340 USD") == 1


def test_every_value_of_an_item_must_be_there() -> None:
    assert kept("chairs at $45", "3 chairs at $45 each") == 0


# --- the verdict ----------------------------------------------------------------------------------------------------------

FACTS = [item("the port is 8080"), item("the host is db-1"), item("the lifetime is 5 h")]


@pytest.mark.parametrize(
    ("note", "regime"),
    [
        ("The port is 8080, the host is db-1, the lifetime is 5 h.", "correctable"),
        ("[1 of 3 source items kept] The port is 8080.", "partial_loud"),
        ("The port is 8080. (1 of 3 facts are kept)", "partial_loud"),
        ("The port is 8080. For the rest: expand sum_0123456789abcdef", "recoverable"),
        ('The port is 8080. lcm_expand("m_12")', "recoverable"),
        ("The port is 8080. See expand file_77.", "recoverable"),
        ("The port is 8080.", "partial_silent"),
        ("The port is 8080, 3 of 3 source items kept.", "partial_silent"),
        ("The port is 8080. Please expand the tests.", "partial_silent"),
        ("[0 of 3 source items kept]", "uncorrectable_loud"),
        ("Nothing of the conversation was kept.", "uncorrectable_loud"),
        ("", "uncorrectable_loud"),
        ("OK", "uncorrectable_silent"),
        ("We talked about the server.", "uncorrectable_silent"),
        ("expand sum_0123456789abcdef", "recoverable"),
    ],
)
def test_the_verdict(note: str, regime: str) -> None:
    found = witness(note, FACTS)
    assert found.regime == regime
    assert found.total == 3
    assert len(found.missing) == found.total - found.kept


def test_a_pointer_may_name_the_message_of_an_item() -> None:
    fact = SourceItem(text="port: 8080", kind="kv", message_id="msg-7f", span=(0, 10), role="tool", atoms=("8080",))
    assert witness("expand msg-7f", [fact]).regime == "recoverable"


def test_without_items_a_short_note_is_whole() -> None:
    assert witness("They said hello.", []).regime == "correctable"


@pytest.mark.parametrize("conclusion", ["205", "$205", "The total is $205"])
def test_a_stale_conclusion_beside_all_items_contaminates(conclusion: str) -> None:
    facts = [item("3 chairs at $45 each"), item("2 lamps at $35 each")]
    assert witness("3 chairs at $45 each; 2 lamps at $35 each", facts, conclusion).regime == "correctable"
    assert witness("3 chairs at $45 each; 2 lamps at $35 each. The total is $205.", facts, conclusion).regime == "contaminated"
    assert witness("The total is $205.", facts, conclusion).regime == "uncorrectable_silent"


def test_values_left_out_unread_count_as_missing() -> None:
    found = witness("The port is 8080", FACTS[:1], left_out=4)
    assert (found.kept, found.total, found.regime) == (1, 5, "partial_silent")


# --- inventions -----------------------------------------------------------------------------------------------------------


def test_numbers_and_ids_that_no_item_holds_are_invented() -> None:
    found = witness("The port is 8080, ticket ABC-77, $12.50 due.", FACTS[:1])
    assert found.invented == ("ABC-77", "$12.50")


def test_the_notes_own_numbers_are_not_invented() -> None:
    note = "[1 of 3 source items kept; the rest: expand m_12 … m_40]\n1. The port is 8080\n2) see sum_0123456789abcdef"
    assert witness(note, FACTS).invented == ()
    assert witness("0 of 3", FACTS).invented == ()


def test_what_stands_in_the_sources_or_is_written_otherwise_is_not_invented() -> None:
    facts = [item("arrives 2024-05-20 at 06:00:00 for $1,200.00")]
    assert witness("arrives May 20, 6 AM, 1200 dollars, in room 17", facts, sources="room 17").invented == ()


# --- soundness ------------------------------------------------------------------------------------------------------------

CLAUSES = st.lists(
    st.tuples(
        st.sampled_from(["port", "timeout", "budget", "weight", "room", "order", "height", "limit"]),
        st.integers(0, 9999),
    ),
    min_size=1,
    max_size=6,
    unique_by=(lambda pair: pair[0], lambda pair: pair[1]),
)


@given(CLAUSES, st.data())
@settings(deadline=None)
def test_kept_is_exactly_what_was_written(pairs: list[tuple[str, int]], data: st.DataObject) -> None:
    facts = [item(f"the {label} is {value}", atoms=(str(value),)) for label, value in pairs]
    chosen = data.draw(st.lists(st.sampled_from(range(len(pairs))), unique=True))
    forms = ["{0}: {1}", "the {0} is {1}", "{0} = {1}", "a {0} of {1}"]
    note = "; ".join(data.draw(st.sampled_from(forms)).format(*pairs[at]) for at in chosen)
    found = witness(note, facts)
    assert found.kept == len(chosen)
    assert set(found.missing) == {fact for at, fact in enumerate(facts) if at not in chosen}


@given(CLAUSES)
@settings(deadline=None)
def test_labels_that_moved_on_by_one_keep_nothing(pairs: list[tuple[str, int]]) -> None:
    facts = [item(f"the {label} is {value}", atoms=(str(value),)) for label, value in pairs]
    moved = [(pairs[at - 1][0], value) for at, (_, value) in enumerate(pairs)]
    note = ", ".join(f"{label}: {value}" for label, value in moved)
    assert witness(note, facts).kept == (1 if len(pairs) == 1 else 0)


def test_a_doubt_is_a_hedge_and_no_negation() -> None:
    (doubted,) = extract([{"role": "user", "content": "I think the rent is around 900 EUR, not sure"}])
    assert kept("Perhaps the rent is 900 EUR", doubted) == 1
    assert kept("The rent is 900 EUR", doubted) == 0


@given(st.lists(st.text(max_size=120), max_size=5), st.text(max_size=300))
@settings(deadline=None)
def test_any_note_can_be_judged_and_the_items_themselves_are_a_whole_note(turns: list[str], note: str) -> None:
    items = extract([{"role": "user", "content": turn} for turn in turns])
    found = witness(note, items, conclusion=note[:20])
    assert 0 <= found.kept <= found.total == len(items)
    assert witness("\n".join(item.text for item in items), items).kept == len(items)
