"""``source_first``: within any budget, whole items only, counted by the witness, the same every time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.messages.model import Message
from lossless.messages.openai import OpenAIFormat
from lossless.messages.payload import encode
from lossless.policies import Note, SourceFirst, decisions, extract, witness
from lossless.tokens import TokenCounter

Messages = list[dict[str, Any]]


def check(note: Note, budget: int, counter: TokenCounter, items: Sequence[Any]) -> None:
    """Check what holds for every note."""
    assert note.tokens == counter.count(note.text) <= budget
    assert 0 <= note.kept <= note.total
    assert note.kept == len(note.items)
    if note.text:
        assert (f"{note.kept} of {note.total}" in note.text.partition("\n")[0]) == (note.kept < note.total)
    assert not note.regime.endswith("silent")
    seen = witness(note.text, items, left_out=note.total - len(items))
    assert (seen.kept, seen.total, seen.regime) == (note.kept, note.total, note.regime)


def test_no_budget_is_ever_exceeded(workshop: Messages, counter: TokenCounter) -> None:
    policy, items = SourceFirst(counter), extract(workshop)
    kept = []
    for budget in [*range(0, 320), *range(320, 3000, 97)]:
        note = policy.write(workshop, budget)
        check(note, budget, counter, items)
        kept.append(note.kept)
    assert kept[-1] == len(items) > 10
    assert kept[0] == 0


def test_each_kept_item_stands_verbatim_in_a_note_that_had_to_choose(workshop: Messages, pieces: TokenCounter) -> None:
    note = SourceFirst(pieces).write(workshop, 200)
    assert 0 < note.kept < note.total
    for item in note.items:
        assert item.text in note.text


def test_with_room_everything_is_kept_and_nothing_is_tagged(workshop: Messages, pieces: TokenCounter) -> None:
    note = SourceFirst(pieces).write(workshop, 2000)
    assert (note.kept, note.regime) == (note.total, "correctable")
    assert all(item.text in note.text for item in extract(workshop))
    assert {decision.kind for decision in note.decisions} == {"action", "decision", "open_task", "commitment"}
    assert "update_order(order_id=ORD-7731, express=true) (failed)" in note.text
    assert "source items kept" not in note.text


def test_the_assistants_conclusion_is_left_out(workshop: Messages, pieces: TokenCounter) -> None:
    note = SourceFirst(pieces).write(workshop, 2000)
    assert "196.50" not in note.text
    assert witness(note.text, extract(workshop), "$196.50").regime == "correctable"


def test_the_tag_names_the_messages_to_expand(workshop: Messages, pieces: TokenCounter) -> None:
    note = SourceFirst(pieces).write(workshop, 150)
    tag = note.text.partition("\n")[0]
    assert re.fullmatch(r"\[\d+ of \d+ source items kept; the rest: expand m_\d+( … m_\d+)?\]", tag)
    assert note.regime == "recoverable"


def test_hedged_items_go_first(pieces: TokenCounter) -> None:
    messages = [{"role": "user", "content": "I think the port is 8080.\nThe host is db-1.\nThe room is 17.\nThe code is ZX-81."}]
    policy = SourceFirst(pieces)
    note = next(note for note in (policy.write(messages, budget) for budget in range(200, 0, -1)) if note.kept < note.total)
    assert note.items
    assert not any(item.hedged for item in note.items)


def test_the_goal_decides_what_stays(pieces: TokenCounter) -> None:
    rows = [{"id": f"ROW-{at}", "colour": f"shade{at}", "harbour": f"port{at}"} for at in range(40)]
    function = {"name": "list_rows", "arguments": "{}"}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": json.dumps(rows)},
    ]
    policy = SourceFirst(pieces)
    assert "ROW-31" not in policy.write(messages, 100).text
    assert "ROW-31" in policy.write(messages, 100, goal="What is the colour of ROW-31?").text


def test_what_was_taken_up_again_stays_before_what_was_only_listed(pieces: TokenCounter) -> None:
    flights = [{"flight": f"HAT{at:03}", "price": at} for at in range(60)]
    function = {"name": "search", "arguments": "{}"}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": json.dumps(flights)},
        {"role": "user", "content": "I take HAT042 then."},
    ]
    assert "flight: HAT042, price: 42" in SourceFirst(pieces).write(messages, 90).text


def test_roles_are_kept_and_reasoning_is_not(pieces: TokenCounter) -> None:
    messages = [
        {"role": "user", "content": "We want to move the shop to another town before winter comes."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "the secret plan of the shop", "signature": "s"},
                {"type": "text", "text": "The shop can move before winter when the town agrees."},
            ],
        },
    ]
    text = SourceFirst(pieces).write(messages, 300).text
    assert "- user: We want to move the shop" in text
    assert "- assistant: The shop can move" in text
    assert "secret" not in text


def test_a_message_object_and_its_dict_make_the_same_note(workshop: Messages, pieces: TokenCounter) -> None:
    stored = [
        Message(
            id=f"m_{at}",
            seq=at,
            thread_id="t",
            role=OpenAIFormat().role(payload),
            format="openai/1",
            data=encode(payload),
            parts=OpenAIFormat().read(payload),
            tokens=0,
            exact=True,
            created_at=datetime.now(UTC),
        )
        for at, payload in enumerate(workshop, 1)
    ]
    policy = SourceFirst(pieces)
    assert policy.write(stored, 300) == policy.write(workshop, 300)


def test_every_process_writes_the_same_bytes(workshop: Messages) -> None:
    program = (
        "import json, sys\n"
        "from lossless.policies import complete, decisions, extract, get\n"
        "from lossless.tokens import EstimatingCounter\n"
        "said = json.load(sys.stdin); counter = EstimatingCounter(); policy = get('source_first', counter=counter)\n"
        "notes = [policy.write(said, budget) for budget in (40, 150, 2000)]\n"
        "notes += [policy.condense(notes, 200), complete('Hello.', extract(said), decisions(said), 150, counter, 'sum_a')]\n"
        "print(repr(notes))"
    )
    written = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(workshop),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(written) == 1


def test_nothing_makes_an_empty_note_that_is_whole(counter: TokenCounter) -> None:
    for messages in ([], [{"role": "user", "content": ""}], [{"role": "system", "content": "The port is 8080."}]):
        note = SourceFirst(counter).write(messages, 100)
        assert (note.text, note.kept, note.total, note.regime) == ("", 0, 0, "correctable")


def test_without_facts_the_most_central_words_stay(pieces: TokenCounter) -> None:
    said = "The garden needs water because the garden is dry and the summer was long"
    note = SourceFirst(pieces).write([{"role": "user", "content": said}], 8)
    assert note.text
    assert said.startswith(note.text.removesuffix(" …"))


# --- condensing -----------------------------------------------------------------------------------------------------------


def halves(messages: Messages, policy: SourceFirst, budget: int) -> list[Note]:
    return [policy.write(messages[:5], budget), policy.write(messages[5:], budget)]


def test_condensing_keeps_the_budget_and_adds_up_the_totals(workshop: Messages, counter: TokenCounter) -> None:
    policy = SourceFirst(counter)
    for size in (60, 200, 2000):
        notes = halves(workshop, policy, size)
        for budget in [*range(0, 200), *range(200, 1500, 101)]:
            note = policy.condense(notes, budget)
            check(note, budget, counter, [item for old in notes for item in old.items])
            assert note.total == sum(old.total for old in notes)


def test_condensing_with_room_loses_nothing(workshop: Messages, pieces: TokenCounter) -> None:
    policy = SourceFirst(pieces)
    notes = halves(workshop, policy, 2000)
    note = policy.condense(notes, 4000)
    assert note.kept == note.total
    assert note.decisions == tuple(decision for old in notes for decision in old.decisions)
    again = policy.condense([note], 4000)
    assert (again.text, again.items) == (note.text, note.items)


def test_what_was_lost_before_is_still_counted_and_pointed_at(workshop: Messages, pieces: TokenCounter) -> None:
    policy = SourceFirst(pieces)
    notes = halves(workshop, policy, 100)
    note = policy.condense(notes, 4000)
    assert note.kept == sum(old.kept for old in notes) < note.total
    assert note.text.startswith(f"[{note.kept} of {note.total} source items kept; the rest: expand m_")


def test_older_prose_goes_before_newer_prose_and_before_items(pieces: TokenCounter) -> None:
    policy = SourceFirst(pieces)
    old = policy.write([{"role": "user", "content": "The port is 8080.\nThe old harbour was quiet and full of boats."}], 200)
    new = policy.write([{"role": "user", "content": "The host is db-1.\nThe new station was loud and full of trains."}], 200)
    whole = policy.condense([old, new], 400)
    assert "harbour" in whole.text
    assert "station" in whole.text
    shorter = policy.condense([old, new], whole.tokens - 4)
    assert "harbour" not in shorter.text
    assert "station" in shorter.text
    assert shorter.kept == 2


def test_condensing_values_what_a_person_named_as_the_first_note_does(pieces: TokenCounter) -> None:
    policy = SourceFirst(pieces)
    tool = [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}]
    said = [
        {"role": "user", "content": "We left 8443 to the fraud sidecar that runs on each node."},
        {"role": "assistant", "content": None, "tool_calls": tool},
        {"role": "tool", "tool_call_id": "c1", "content": "The canary must never run on its own or after nine at night."},
    ]
    whole = policy.write(said, 400)
    assert (whole.kept, whole.total) == (2, 2)
    for budget in range(1, whole.tokens):
        assert policy.condense([whole], budget).items == policy.write(said, budget).items
    assert "8443 to the fraud sidecar" in policy.condense([whole], whole.tokens - 1).text


# --- any conversation -----------------------------------------------------------------------------------------------------

VOCABULARY = (
    "the port is 8080 , and $45 for A-17 actually not 40 . I think we must pay 3 chairs at 10:30 /etc/app.conf x=1 ; Order A-1 : "
    "yes please book it"
)
TEXT = st.one_of(st.text(max_size=200), st.lists(st.sampled_from([*VOCABULARY.split(), "\n"]), max_size=60).map(" ".join))
RECORD = {"id": st.from_regex(r"[A-Z]{2}-\d{1,4}", fullmatch=True), "price": st.integers(0, 999), "name": TEXT}
RECORDS = st.lists(st.fixed_dictionaries(RECORD), max_size=5)
TURN = st.one_of(
    st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "assistant", "system"]), TEXT),
    RECORDS.map(lambda rows: {"role": "tool", "tool_call_id": "c1", "content": json.dumps(rows)}),
)


@given(st.lists(TURN, max_size=8), st.integers(0, 400), st.integers(0, 200), st.none() | TEXT)
@settings(deadline=None, max_examples=80)
def test_every_note_of_any_conversation_is_sound(
    counter: TokenCounter, messages: Messages, budget: int, smaller: int, goal: str | None
) -> None:
    policy, items = SourceFirst(counter), extract(messages)
    note = policy.write(messages, budget, goal)
    check(note, budget, counter, items)
    assert note == policy.write(messages, budget, goal)
    assert all(decision in decisions(messages) for decision in note.decisions)
    other = policy.write(messages[:3], 100)
    both = policy.condense([note, other], smaller, goal)
    check(both, smaller, counter, [*note.items, *other.items])


@pytest.mark.parametrize("size", [1, 10, 100, 1000])
def test_more_messages_never_break_a_note(size: int, pieces: TokenCounter) -> None:
    messages = [{"role": "user", "content": f"Fact {at}: the value of V-{at} is {at * 7}."} for at in range(size)]
    note = SourceFirst(pieces).write(messages, 500)
    check(note, 500, pieces, extract(messages))
    assert note.kept >= min(size, 20)
