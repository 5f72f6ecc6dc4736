"""Source items: what user and tool turns state, each fact once, in its source's words, with its label."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.errors import MessageError
from lossless.policies import SourceItem, extract
from lossless.policies.extract import gather
from lossless.policies.sources import as_sources
from lossless.policies.words import CONSTRAINT


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def tool(content: str, *, name: str = "look", arguments: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments or {})}
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    return [call, {"role": "tool", "tool_call_id": "c1", "content": content}]


def texts(*messages: dict[str, Any]) -> list[str]:
    return [item.text for item in extract(messages)]


def only(*messages: dict[str, Any]) -> SourceItem:
    (item,) = extract(messages)
    return item


# --- what an item is ------------------------------------------------------------------------------------------------------


def test_an_enumeration_becomes_one_item_for_each_of_its_parts() -> None:
    assert texts(user("I bought 3 chairs at $45 each, 2 tables at $120 each and 4 lamps at $15.")) == [
        "I bought 3 chairs at $45 each",
        "2 tables at $120 each",
        "4 lamps at $15",
    ]


def test_a_part_keeps_the_heading_that_its_meaning_depends_on() -> None:
    found = texts(
        user("Considered but not bought:\n- 3 pens at $2\n- 4 cups at $5\n\nOrder A-1: 3 chairs at $45, 2 lamps at $30")
    )
    assert found == [
        "Considered but not bought: 3 pens at $2",
        "Considered but not bought: 4 cups at $5",
        "Order A-1: 3 chairs at $45",
        "Order A-1: 2 lamps at $30",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Bought 3 pens, but not 4 cups.",
        "The shop is open between 3 and 5 pm.",
        "If 3 people come, book 2 tables.",
        "I think the port is 8080 and the host is db1.",
    ],
)
def test_what_belongs_together_is_not_divided(text: str) -> None:
    assert texts(user(text)) == [text.rstrip(".")]


def test_the_span_of_an_item_is_where_it_stands() -> None:
    text = "Hello!\nMy order is ORD-7731. Please hurry."
    item = only(user(text))
    assert text[slice(*item.span)] == item.text == "My order is ORD-7731"
    assert (item.message_id, item.role, item.atoms) == ("m_1", "user", ("ORD-7731",))


def test_an_abbreviation_or_a_decimal_point_ends_no_clause() -> None:
    assert texts(user("Ship approx. 3.5 kg to no. 5 at 10:30 a.m. today")) == ["Ship approx. 3.5 kg to no. 5 at 10:30 a.m. today"]


def test_a_constraint_is_an_item_without_a_number() -> None:
    items = extract([user("Don't touch the main branch. Bob must not be first. I love trains.")])
    assert [(item.text, item.kind) for item in items] == [
        ("Don't touch the main branch", "constraint"),
        ("Bob must not be first", "constraint"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Ann is older than Ben",
        "Carl sits left of Dana",
        "Alice finished before Bob and after Carol",
        "Ben is not the baker",
        "the red house is next to the blue house",
        "Each box holds no more than four items",
    ],
)
def test_what_orders_or_excludes_is_a_constraint(text: str) -> None:
    assert (only(user(text)).text, only(user(text)).kind) == (text, "constraint")


@given(st.data())
@settings(deadline=None, max_examples=80)
def test_no_constraint_is_passed_over(data: st.DataObject) -> None:
    letters = st.characters(codec="ascii", categories=("L", "N"), include_characters=" '")
    text = data.draw(st.from_regex(CONSTRAINT.pattern, alphabet=letters))
    assert extract([user(text)])


def test_a_line_of_key_and_value_is_an_item() -> None:
    assert texts(user("Destination: Paris\nCabin: business class")) == ["Destination: Paris", "Cabin: business class"]


def test_a_bare_number_is_an_item_only_with_the_question_that_gives_it_a_meaning() -> None:
    assert texts(user("42")) == []
    assert texts(assistant("How many chairs do you need?"), user("42")) == ["How many chairs do you need? 42"]
    assert texts(assistant("How many? And in which colour?"), user("42")) == []


def test_commands_and_errors_are_whole_lines() -> None:
    items = extract([user("Run\n$ docker compose up -d\nIt says:\nValueError: bad port 99999, try again")])
    assert [(item.text, item.kind) for item in items] == [
        ("$ docker compose up -d", "command"),
        ("ValueError: bad port 99999, try again", "error"),
    ]


@pytest.mark.parametrize("text", ["I think the port is 8080", "Maybe 5 people", "It weighs about 40 kg", "roughly $300, I guess"])
def test_a_hedged_claim_keeps_its_wording_and_is_marked(text: str) -> None:
    item = only(user(text))
    assert (item.text, item.hedged) == (text, True)


# --- who said it first ----------------------------------------------------------------------------------------------------


def test_assistant_turns_are_no_sources() -> None:
    assert texts(assistant("The total is $205 for order A-1.")) == []


def test_a_restatement_is_dropped_and_the_first_statement_stays() -> None:
    item = only(user("my user id is mia_li_3668"), assistant("Thanks"), user("As I said, my user ID is mia_li_3668."))
    assert item.message_id == "m_1"


def test_the_same_value_with_another_label_is_another_fact() -> None:
    assert len(texts(user("The weight is 5 kg."), user("The reserve is 5 kg."))) == 2


def test_a_users_echo_of_an_assistants_figure_is_no_source() -> None:
    found = texts(user("3 chairs at $45 each"), assistant("That makes $135."), user("OK, so the sum is $135.00 then."))
    assert found == ["3 chairs at $45 each"]


def test_a_figure_that_a_tool_gave_first_is_no_echo() -> None:
    found = texts(*tool('{"sum": 135}'), assistant("That makes $135."), user("Please charge the deposit of $135 today"))
    assert "Please charge the deposit of $135 today" in found


def test_beside_an_echo_the_users_own_value_counts_alone() -> None:
    item = only(assistant("That makes $135."), user("pay the $135 to account DE-4450"))
    assert item.atoms == ("DE-4450",)


def test_the_echo_is_cut_off_where_that_leaves_the_rest_whole() -> None:
    facts = user("3 chairs at $45 each")
    said = assistant("That makes $135.")
    assert texts(facts, said, user("And with a $5 coupon off the $135?"))[1:] == ["And with a $5 coupon"]
    assert texts(facts, said, user("Of the $135, send the invoice to DE-4450."))[1:] == ["send the invoice to DE-4450"]
    assert texts(facts, said, user("Put $5 beside the $135 into box B-12."))[1:] == ["Put $5 beside the $135 into box B-12"]


def test_a_guess_gives_way_to_the_sure_statement_of_the_same() -> None:
    item = only(user("I think the port is 8080."), user("The port is 8080."))
    assert (item.text, item.hedged) == ("The port is 8080", False)


# --- corrections ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "correction", "now"),
    [
        ("The port is 40.", "Actually it's 42, not 40.", "The port is 42"),
        ("The timeout is 30 s.", "Correction: the timeout is 45 s.", "Correction: the timeout is 45 s"),
        ("The budget is $400.", "Sorry, I meant $450.", "The budget is $450"),
        ("We need 3 chairs at $45 each.", "Actually it's $54, not $45.", "We need 3 chairs at $54 each"),
        ("The meeting is at 10:30.", "It's not 10:30, it's 11:30.", "The meeting is at 11:30"),
        ("Order A-17 goes to Berlin.", "A-17 was wrong, it should be A-71.", "Order A-71 goes to Berlin"),
        ("The limit is 20 MB.", "Actually, the limit is 25 MB, not 20 MB.", "Actually, the limit is 25 MB"),
        ("The fee is 20.", "Change the fee to 25.", "Change the fee to 25"),
        ("The fee is $20.", "Please raise the fee to 25 USD.", "Please raise the fee to 25 USD"),
        ("The fee is 20.", "I changed the fee from 20 to 25.", "I changed the fee from 20 to 25"),
        ("The meeting is at 10:30.", "Move the meeting to 11:30.", "Move the meeting to 11:30"),
        ("The deadline is May 20.", "Extend the deadline to May 27.", "Extend the deadline to May 27"),
    ],
)
def test_a_named_correction_takes_the_place_of_the_old_fact(old: str, correction: str, now: str) -> None:
    assert texts(user(old), assistant("Noted."), user(correction)) == [now]


def test_a_correction_of_what_only_the_assistant_said_removes_nothing() -> None:
    found = texts(user("We need 3 chairs."), assistant("The port is 40."), user("Actually the port is 42, not 40."))
    assert "We need 3 chairs" in found
    assert any("42" in text for text in found)


def test_an_addition_or_a_choice_is_no_correction() -> None:
    assert len(texts(user("I have 2 bags."), user("Actually I also need 3 chairs."))) == 2
    found = texts(user("There are flights HAT136 and HAT139 today."), user("I want flight HAT136, not HAT139."))
    assert any(text.startswith("There are flights") for text in found)


@pytest.mark.parametrize(
    "said",
    [
        "Don't change the fee to 25.",
        "If you change the fee to 25, tell me.",
        "Change the deposit to 25.",
        "Send the fee of 25 to the owner.",
        "Can you change the fee to 25?",
    ],
)
def test_what_orders_no_change_of_a_value_leaves_it(said: str) -> None:
    assert "The fee is 20" in texts(user("The fee is 20."), assistant("Noted."), user(said))


# --- recall output --------------------------------------------------------------------------------------------------------


def test_a_quoted_summary_is_no_source() -> None:
    summary = '<summary id="sum_0123456789abcdef" kind="leaf">the port is 9999</summary>'
    assert texts(user(f"You wrote: {summary}\nThe host is db-7.")) == ["The host is db-7"]


def test_the_answer_of_a_recall_tool_is_no_source() -> None:
    assert texts(*tool("the port is 9999", name="lcm_grep")) == []


def test_stubs_and_omission_lines_are_no_sources() -> None:
    stub = '[trimmed read_file src/auth.ts · 847 lines · 31 204 chars · sha256:ab12 · lcm_expand("m_42")]'
    assert texts(user(stub), user("[312 messages not shown, m_12 … m_323; nothing is lost]")) == []


# --- tools ----------------------------------------------------------------------------------------------------------------


def test_leaves_of_a_record_stand_with_its_identifying_key() -> None:
    flights = [
        {"flight_number": "HAT069", "origin": "JFK", "prices": {"economy": 121, "business": 239}},
        {"flight_number": "HAT083", "origin": "JFK", "prices": {"economy": 100, "business": 276}},
    ]
    assert texts(*tool(json.dumps(flights))) == [
        "flight_number: HAT069, origin: JFK",
        "HAT069: prices.economy: 121, prices.business: 239",
        "flight_number: HAT083, origin: JFK",
        "HAT083: prices.economy: 100, prices.business: 276",
    ]


def test_a_leaf_that_was_seen_before_is_not_said_again() -> None:
    first, second = (
        json.dumps({"id": "A-1", "state": "open", "price": 5}),
        json.dumps({"id": "A-1", "state": "closed", "price": 5}),
    )
    calls = [*tool(first, name="get"), *tool(second, name="close")]
    assert texts(*calls) == ["id: A-1, state: open, price: 5", "A-1: state: closed"]


def test_the_same_record_for_other_arguments_is_another_fact() -> None:
    one = tool('[{"id": "F1", "price": 5}]', arguments={"date": "2024-05-20"})
    two = tool('[{"id": "F1", "price": 5}]', arguments={"date": "2024-05-21"})
    items = extract([*one, *two])
    assert [(item.text, item.origin) for item in items] == [
        ("id: F1, price: 5", "look(2024-05-20)"),
        ("id: F1, price: 5", "look(2024-05-21)"),
    ]


def test_an_answer_that_is_only_a_value_is_named_by_its_call() -> None:
    assert texts(*tool("255.0", name="calculate", arguments={"expression": "152 + 103"})) == ["calculate(152 + 103): 255.0"]


def test_rows_of_csv_are_records() -> None:
    found = texts(*tool("id,name,amount\nA-1,Ann,45.00\nA-2,Bob,30\nA-3,Eve,1\n"))
    assert found == ["id: A-1, name: Ann, amount: 45.00", "id: A-2, name: Bob, amount: 30", "id: A-3, name: Eve, amount: 1"]


def test_json_that_was_cut_off_gives_what_stands_before_the_cut() -> None:
    whole = json.dumps([{"id": f"A-{at}", "price": at} for at in range(9)])
    found = texts(*tool(whole[:-12]))
    assert found[:2] == ["id: A-0, price: 0", "id: A-1, price: 1"]
    assert len(found) >= 8


def test_json_in_a_string_and_json_after_words_are_read() -> None:
    inner = json.dumps({"port": 8080, "note": "x" * 200})
    assert any("port: 8080" in text for text in texts(*tool(json.dumps([{"type": "text", "text": inner}]))))
    assert texts(*tool('Result: {"port": 8080}\nDone in 3 s.')) == ["port: 8080", "Done in 3 s"]


def test_numbers_keep_the_form_they_were_written_in() -> None:
    assert texts(*tool('{"a": 1.50, "b": 1e400, "c": 100000000000000000000000}')) == [
        "a: 1.50, b: 1e400, c: 100000000000000000000000"
    ]


def test_source_code_is_not_full_of_facts() -> None:
    code = "12→def area(x, y=3):\n13→    return x * 42\n14→    # see ticket\n"
    assert texts(*tool(code, name="read_file")) == []


def test_an_anthropic_tool_result_inside_a_user_turn_is_the_tools() -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "get_order", "input": {"order": "A-1"}}]}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "total: $45.00"}
    items = extract([call, {"role": "user", "content": [result, {"type": "text", "text": "Ship it by May 5."}]}])
    assert [(item.text, item.role) for item in items] == [("total: $45.00", "tool"), ("Ship it by May 5", "user")]


def test_reasoning_gives_no_item() -> None:
    thinking = {"type": "thinking", "thinking": "the port is 9999", "signature": "x"}
    assert texts({"role": "assistant", "content": [thinking, {"type": "text", "text": "Hello"}]}) == []


# --- bounds ---------------------------------------------------------------------------------------------------------------


def test_what_is_too_much_to_read_is_counted() -> None:
    answer = json.dumps({f"key_{at}": at for at in range(60_000)})
    started = time.process_time()
    found = gather(as_sources(tool(answer)))
    assert time.process_time() - started < 20
    assert found.left_out == 10_000
    assert len(found.items) > 1_000


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "1," * 200_000,
        "not 4, " * 60_000,
        "x 1 and " * 50_000,
        '<summary id="sum_a">' * 20_000,
        "[{" * 200_000,
        "a. 1. " * 50_000,
    ],
)
@pytest.mark.parametrize("part", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_one_huge_line_costs_time_in_proportion(text: str, part: int) -> None:
    text = text[: len(text) // part]
    started = time.process_time()
    extract([user(text), *tool(text)])
    assert time.process_time() - started < 30 / part


def test_a_value_that_comes_again_in_every_line_costs_no_more() -> None:
    log = "\n".join(f"worker handled {word * 3}{at} with status 200" for at in range(4_000) for word in ("foo", "bar", "baz"))
    started = time.process_time()
    extract(tool(log))
    assert time.process_time() - started < 15


def test_a_dict_that_is_no_message_is_refused_with_its_place() -> None:
    with pytest.raises(MessageError) as caught:
        extract([user("hello"), {"content": "no role"}])
    assert caught.value.index == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
VOCABULARY = "the port is 8080 not 40 , and $45 A-17 actually . correction : I think - ; at 10:30 | { } [ ] \" ' ? x=1"
WORDS = st.lists(st.sampled_from([*VOCABULARY.split(), "\n"]), max_size=40).map(" ".join)
TEXT = st.one_of(st.text(max_size=300), WORDS, JSON.map(lambda value: json.dumps(value)))
TURN = st.one_of(TEXT.map(user), TEXT.map(assistant), TEXT.map(lambda text: tool(text)[1]), TEXT.map(lambda text: tool(text)[0]))


@given(st.lists(TURN, max_size=6))
@settings(deadline=None)
def test_extraction_never_fails_and_every_item_is_sound(messages: list[dict[str, Any]]) -> None:
    items = extract(messages)
    assert items == extract(messages)
    sources = {source.id: source for source in as_sources(messages)}
    for item in items:
        assert item.text.strip()
        assert "\n" not in item.text
        assert item.role in ("user", "tool")
        length = max(passage.start + len(passage.text) for passage in sources[item.message_id].passages)
        assert 0 <= item.span[0] <= item.span[1] <= length


@given(
    amount=st.integers(1, 10**6),
    number=st.integers(1000, 9999),
    path=st.lists(st.text(alphabet="abcxyz", min_size=1, max_size=6), min_size=2, max_size=4),
    before=WORDS,
)
@settings(deadline=None)
def test_planted_amounts_ids_and_paths_are_found(amount: int, number: int, path: list[str], before: str) -> None:
    folder = "/" + "/".join(path)
    planted = [
        user(f"{before}\nThe deposit was ${amount} and the ticket is PLANT-{number}."),
        *tool(f"wrote {folder}/file.txt", name="save"),
        *tool(json.dumps({"invoice": f"INV{number}", "amount": amount}), name="bill"),
    ]
    told = "\n".join(texts(*planted))
    for value in (f"${amount}", f"PLANT-{number}", f"{folder}/file.txt", f"INV{number}", f"amount: {amount}"):
        assert value in told


def test_a_line_whose_value_is_only_punctuation_says_nothing() -> None:
    for text in ('You told me: "', "Total: ---", "Name: …"):
        assert extract([{"role": "user", "content": text}]) == []
