"""Contents: what messages say, compared across formats, repairs and stubs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossless.context.rendering import stub_text
from lossless.messages import ANTHROPIC, Call, Part, Reasoning, Result, Text, Turn, repair
from lossless.store.contents import Said, contents, says_the_same


def said(*parts: Part, role: str = "user", id: str | None = None, name: str | None = None) -> Said:
    return Said(id, role, name, parts)


def keys(*messages: Said) -> list[object]:
    return [content.key for content in contents(messages)]


def same(stored: Said, given_: Said) -> bool:
    (one,), (other,) = contents([stored]), contents([given_])
    return one.key == other.key and says_the_same(one, other)


def test_neighbours_that_were_merged_say_what_they_said_apart() -> None:
    assert keys(said(Text("one")), said(Text("two"))) == keys(said(Text("one"), Text("two")))


def test_who_said_it_counts() -> None:
    assert keys(said(Text("yes"))) != keys(said(Text("yes"), role="assistant"))
    assert keys(said(Text("yes"), name="ann")) != keys(said(Text("yes"), name="bob"))


def test_results_stand_after_their_calls_wherever_they_were() -> None:
    call, late = Call("c1", "look", '{"q":1,"r":2}'), Result("c1", (Text("found"),))
    apart = keys(said(call, role="assistant"), said(Text("Hurry")), said(late, role="tool"))
    together = keys(said(call, role="assistant"), said(late, role="tool"), said(Text("Hurry")))
    assert apart == together
    assert keys(said(Call("c2", "look", '{"r": 2, "q": 1}'), role="assistant")) == together[:1]


def test_what_is_withheld_from_providers_does_not_count() -> None:
    orphan = Result("nobody", (Text("orphan"),))
    assert keys(said(Text(" \n")), said(orphan, role="tool"), said(Reasoning("hm"), role="assistant")) == []


def test_an_invented_answer_does_not_count() -> None:
    turn = Turn("assistant", (Call("c1", "look", "{}"),), "m_1")
    shown = repair([Turn("user", (Text("Go"),), "m_0"), turn, Turn("user", (Text("Stop"),), "m_2")], ANTHROPIC).turns
    assert len(shown) > 3 or any(isinstance(part, Result) for each in shown for part in each.parts)
    assert keys(*(Said(None, each.role, None, each.parts) for each in shown)) == keys(
        said(Text("Go")), said(*turn.parts, role="assistant"), said(Text("Stop"))
    )


def test_a_tool_that_answered_with_nothing_is_known_by_what_is_shown_instead() -> None:
    call, nothing = Call("c1", "look", "{}"), Result("c1", (Text(" "),))
    turns = [Turn("user", (Text("Go"),), "m_0"), Turn("assistant", (call,), "m_1"), Turn("tool", (nothing,), "m_2")]
    shown = repair(turns, ANTHROPIC).turns
    assert shown[2].parts != turns[2].parts
    stored = contents([Said(each.origin, each.role, None, each.parts) for each in turns])
    given_ = contents([Said(None, each.role, None, each.parts) for each in shown])
    assert [one.key for one in stored] == [one.key for one in given_]
    assert all(map(says_the_same, stored, given_))


def test_a_system_message_that_was_shown_as_a_note_is_known() -> None:
    turns = [
        Turn("user", (Text("Go"),), "m_0"),
        Turn("assistant", (Text("Ok"),), "m_1"),
        Turn("system", (Text("Be\nkind."),), "m_2"),
    ]
    shown = repair(turns, ANTHROPIC).turns
    assert [each.role for each in shown] == ["user", "assistant", "user"]
    assert keys(*(said(*each.parts, role=each.role) for each in shown)) == keys(*(said(*t.parts, role=t.role) for t in turns))


@pytest.mark.parametrize(
    ("stored", "shown", "expected"),
    [
        ("c1", "c1", True),
        ("c1", "c1_2", True),
        ("c1", "c1_17", True),
        ("c1", "c2", False),
        ("c1", "c1x", False),
        ("c1", "c", False),
        ("call:a/b", "call_a_b", True),
        ("call:a/b", "call_a_b_3", True),
        ("x" * 90, "x" * 27 + "_0123456789ab", True),
        ("call_12", "call_1", False),
    ],
)
def test_a_call_is_known_under_the_names_it_may_be_shown_by(stored: str, shown: str, expected: bool) -> None:
    assert same(said(Call(stored, "f", "{}"), role="assistant"), said(Call(shown, "f", "{}"), role="assistant")) is expected


def test_messages_with_ids_of_their_own_are_never_the_same() -> None:
    assert same(said(Text("yes"), id="1"), said(Text("yes")))
    assert same(said(Text("yes"), id="1"), said(Text("yes"), id="1"))
    assert not same(said(Text("yes"), id="1"), said(Text("yes"), id="2"))


@given(st.text(min_size=1).filter(str.strip), st.integers(0, 80))
def test_a_shortened_text_says_what_the_whole_one_says(text: str, room: int) -> None:
    shown = stub_text(text, message_id="m_5", what="text", room=min(room, len(text)))
    assert same(said(Text(text), id="m_5"), said(Text(shown)))
    assert not same(said(Text(text), id="m_6"), said(Text(shown)))


def test_a_question_about_a_shortened_text_is_not_that_text() -> None:
    shown = stub_text("a long story " * 50, message_id="m_5", what="text", room=20)
    stored = said(Text("a long story " * 50), id="m_5")
    assert same(stored, said(Text(shown)))
    for question in (f"What is this?\n{shown}", f"{shown}\nWhat is this?", shown.replace("a long", "What is", 1)):
        assert not same(stored, said(Text(question)))
