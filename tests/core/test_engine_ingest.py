"""Ingest: replaying adds nothing, equal content under distinct ids or positions stays apart, and doubt ends in duplication."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless import Engine, Message, Thread
from lossless_invariants import rendered_text
from lossless_scripts import Counting, honest
from lossless_testdata import tau_conversations


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("sqlite://", window=200_000, background=False, load_plugins=False) as engine:
        yield engine


@pytest.fixture
def thread(engine: Engine) -> Thread:
    return engine.thread("t")


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def assistant(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def unit(call_id: str, answer: str, tool: str = "look") -> list[dict[str, Any]]:
    call = {"id": call_id, "type": "function", "function": {"name": tool, "arguments": '{"q": "x"}'}}
    return [assistant("Let me look.", tool_calls=[call]), {"role": "tool", "tool_call_id": call_id, "content": answer}]


def texts(thread: Thread) -> list[str]:
    return [message.text for message in thread.messages()]


# By id


def test_the_same_id_with_the_same_content_again_adds_nothing(thread: Thread) -> None:
    first = thread.append([user("a", id="1"), assistant("b", id="2")])
    assert thread.append([user("a", id="1"), assistant("b", id="2")]) == first
    assert thread.append([{"content": "a", "id": "1", "role": "user"}]) == first[:1]
    assert texts(thread) == ["a", "b"]


def test_the_same_id_with_other_content_takes_the_old_ones_place(thread: Thread) -> None:
    thread.append([user("a", id="1"), assistant("b", id="2"), user("c", id="3")])
    (ref,) = thread.append(assistant("B", id="2"))
    assert (ref.id, ref.seq) == ("2", 4)
    assert texts(thread) == ["a", "B", "c"]
    assert [shown["content"] for shown in thread.context().messages] == ["a", "B", "c"]
    every = thread.messages(deleted=True)
    assert [(message.text, message.deleted, message.revises) for message in every if message.id == "2"] == [
        ("b", True, None),
        ("B", False, 2),
    ]
    assert [hit.seq for hit in thread.grep("b", limit=10)] == [4, 2]


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0.0, -0.0), ("1", 1), (None, 0)])
def test_numbers_that_only_seem_equal_are_other_content(thread: Thread, one: object, other: object) -> None:
    thread.append(user("a", id="1", n=one))
    thread.append(user("a", id="1", n=other))
    assert [repr(message.payload["n"]) for message in thread.messages(deleted=True)] == [repr(one), repr(other)]


def test_a_replay_that_contains_its_own_revisions_adds_nothing(thread: Thread) -> None:
    story = [user("draft", id="1"), assistant("ok", id="2"), user("final", id="1")]
    thread.append(story)
    assert texts(thread) == ["final", "ok"]
    thread.append(story)
    thread.append(story[1:])
    assert texts(thread) == ["final", "ok"]
    assert len(thread.messages(deleted=True)) == 3


def test_equal_content_under_distinct_ids_is_never_merged(thread: Thread) -> None:
    thread.append([user("yes", id=str(n)) for n in range(3)])
    assert texts(thread) == ["yes"] * 3


def test_without_ids_appending_is_appending(thread: Thread) -> None:
    refs = [thread.append(user("yes"))[0] for _ in range(3)]
    assert texts(thread) == ["yes"] * 3
    assert [ref.id for ref in refs] == ["m_1", "m_2", "m_3"]


@pytest.mark.parametrize("later", [False, True])
def test_derived_ids_give_way_to_given_ones(thread: Thread, later: bool) -> None:
    batch = [user("a"), user("b", id="m_1"), user("c", id="m_3"), user("d", id="m_4"), user("e", id="m_4.2")]
    if later:
        for message in batch[1:]:
            thread.append(message)
        thread.append([user("f"), user("g"), user("h")])
        assert texts(thread) == ["b", "c", "d", "e", "f", "g", "h"]
    else:
        thread.append(batch)
        assert texts(thread) == ["a", "b", "c", "d", "e"]
    ids = [message.id for message in thread.messages(deleted=True)]
    assert len(set(ids)) == len(ids)
    for message in thread.messages():
        assert thread.expand(message.id)[0].text == message.text


def test_messages_of_one_thread_can_be_appended_to_another(engine: Engine, thread: Thread) -> None:
    thread.append([user("a"), *unit("c1", "found"), user("b", id="given")])
    other = engine.thread("other")
    other.append(thread.messages())
    assert [(m.id, m.payload, m.format) for m in other.messages()] == [(m.id, m.payload, m.format) for m in thread.messages()]
    other.append(thread.messages())
    assert len(other.messages()) == 4


# Tools


def test_reused_call_ids_never_drop_a_result(thread: Thread) -> None:
    for number in range(4):
        thread.append([user(f"question {number}"), *unit("call_1", f"answer {number}")])
    text = rendered_text(thread.context())
    for number in range(4):
        assert f"answer {number}" in text
    ids = [call["id"] for message in thread.context().messages for call in message.get("tool_calls", ())]
    assert len(set(ids)) == 4


def test_a_late_result_is_shown_and_not_invented(thread: Thread) -> None:
    call, result = unit("c1", "it came late")
    thread.append([user("Go"), call])
    assert "not executed" in rendered_text(thread.context())
    thread.append(user("Still there?"))
    thread.append(result)
    text = rendered_text(thread.context())
    assert "it came late" in text
    assert "not executed" not in text


def test_deleting_a_call_takes_its_results_along(thread: Thread) -> None:
    thread.append([user("Go"), *unit("c1", "found"), user("Thanks")])
    assert thread.delete("m_2") == ("m_2", "m_3")
    assert texts(thread) == ["Go", "Thanks"]
    assert thread.undo()
    assert texts(thread) == ["Go", "Let me look.", "found", "Thanks"]


# Transcripts


def conversation() -> list[dict[str, Any]]:
    messages = [{"role": "system", "content": "Be kind."}]
    for number in range(30):
        messages += [user(f"What is {number}?"), *unit("call_1", f"{number} is a number"), assistant(f"A number: {number}.")]
    return messages


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_part_of_a_transcript_is_known_and_what_follows_its_end_is_new(data: st.DataObject) -> None:
    whole = conversation()
    cut = data.draw(st.integers(1, len(whole)))
    start = data.draw(st.integers(0, cut - 1))
    stop = data.draw(st.integers(start + 1, len(whole)))
    with Engine("sqlite://", load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append(whole[:cut])
        refs = thread.sync(deepcopy(whole[start:stop]))
        assert [message.payload for message in thread.messages()] == whole[: max(cut, stop)]
        assert [ref.seq for ref in refs] == list(range(cut + 1, stop + 1))


def test_a_transcript_grows_turn_by_turn(thread: Thread) -> None:
    whole = conversation()
    for stop in range(1, len(whole) + 1):
        assert len(thread.sync(whole[:stop])) == 1
    assert [message.payload for message in thread.messages()] == whole


def test_what_can_not_be_told_apart_is_stored_again_rather_than_lost(thread: Thread) -> None:
    thread.append([user("a"), assistant("b")])
    thread.sync([user("something else"), user("new")])
    assert texts(thread) == ["a", "b", "something else", "new"]


@pytest.mark.parametrize("whole", [True, False])
def test_a_new_call_is_new_although_an_older_one_says_the_same(thread: Thread, whole: bool) -> None:
    before = [user("Time?"), *unit("call_1", "noon")]
    thread.append(before)
    again = unit("call_2", "noon")
    assert len(thread.sync([*before, *again] if whole else again)) == 2
    assert len(thread.messages()) == 5


def test_two_people_may_say_the_same(thread: Thread) -> None:
    thread.append([user("Lunch?", name="ann"), user("yes", name="bob")])
    assert len(thread.sync([user("yes", name="cleo")])) == 1


def test_the_same_text_said_again_after_it_was_deleted_shows(thread: Thread) -> None:
    thread.append([user("hello"), assistant("hi")])
    thread.delete(["m_1", "m_2"])
    assert len(thread.sync([user("hello")])) == 1
    assert texts(thread) == ["hello"]


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(2, 9)), st.integers(0, 7), st.booleans())
def test_a_transcript_that_still_has_what_was_deleted_adds_what_is_new(deleted: set[int], start: int, system: bool) -> None:
    whole = [user(f"text {number}") if number % 2 else assistant(f"text {number}") for number in range(1, 11)]
    whole = [{"role": "system", "content": "Be kind."}, *whole[1:]] if system else whole
    with Engine("sqlite://", window=200_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append(whole)
        thread.delete([f"m_{number}" for number in deleted])
        shown = texts(thread)
        if len(set(range(start + 1, 11)) - deleted) > 1:  # else what was given hardly tells
            assert thread.sync(whole[start:]) == []
            assert [ref.seq for ref in thread.sync([*whole[start:], user("new")])] == [11]
            assert texts(thread) == [*shown, "new"]


def test_what_was_deleted_at_the_end_shows_when_it_is_said_again_and_is_added_once(thread: Thread) -> None:
    whole = [user("a"), assistant("b"), user("c"), assistant("d")]
    thread.append(whole)
    thread.delete(["m_4"])
    assert [ref.seq for ref in thread.sync(whole)] == [5]
    assert thread.sync(whole) == []
    assert texts(thread) == ["a", "b", "c", "d"]


def test_a_changed_system_prompt_is_added_and_nothing_else(thread: Thread) -> None:
    whole = conversation()
    thread.sync(whole)
    changed = [{"role": "system", "content": "Be kind. Today is Tuesday."}, *whole[1:]]
    assert [ref.seq for ref in thread.sync(changed)] == [len(whole) + 1]


# Contexts that come back


@pytest.mark.parametrize("format", ["openai", "anthropic"])
@pytest.mark.parametrize("window", [200_000, 4_000, 1_500])
@pytest.mark.parametrize("ids", [False, True])
def test_a_context_that_comes_back_is_known(format: str, window: int, ids: bool) -> None:
    messages = conversation()
    if ids:
        messages = [{**message, "id": f"given-{number}", "extra": {"a": 1}} for number, message in enumerate(messages)]
    with Engine("sqlite://", window=window, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append(messages, compact=False)
        thread.compact()
        for number in range(3):
            context = thread.context(format=format)
            given = deepcopy(context.messages)
            if format == "openai" or given[-1]["role"] == "assistant":
                given.append({"role": "user", "content": f"Brand new {number}."})
            else:
                given.append({"role": "assistant", "content": f"Brand new {number}."})
            assert len(thread.sync(given, format=format)) == 1
            assert len(thread.sync(given, format=format)) == 0
        assert [message.text for message in thread.messages()[-3:]] == [f"Brand new {n}." for n in range(3)]
        assert len(thread.messages()) == len(messages) + 3


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_real_contexts_that_come_back_are_known(data: st.DataObject) -> None:
    conversations = tau_conversations(6)
    messages = [message for conversation in conversations for message in conversation["messages"]]
    window = data.draw(st.sampled_from([6_000, 9_000, 20_000, 200_000]))
    count = data.draw(st.integers(2, len(messages)))
    format = data.draw(st.sampled_from(["openai", "anthropic"]))
    with Engine("sqlite://", window=window, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append(messages[:count])
        shown = thread.context(format=format).messages
        new = {"role": "assistant" if shown[-1]["role"] == "user" else "user", "content": "This is brand new."}
        thread.sync([*shown, new], format=format)
        stored = thread.messages()
        assert stored[-1].text == "This is brand new."
        # Where the same thing was said several times it may not be told which one came back: then it is shown twice, not lost.
        said = [message.text for message in stored[:count]]
        assert all(said.count(message.text) > 1 for message in stored[count:-1])
        assert len(stored) <= count + 3


def test_a_long_tool_loop_that_comes_back_is_known() -> None:
    with Engine("sqlite://", window=3_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "system", "content": "Be kind."}, user("Find them all, please.")])
        for number in range(60):
            thread.append(unit(f"call_{number}", f"result {number} " + "word " * 40))
        context = thread.context()
        assert "Find them all, please." in rendered_text(context)
        assert len(thread.sync([*context.messages, assistant("I found them.")])) == 1
        assert texts(thread)[-1] == "I found them."


# What the engine wrote


@pytest.mark.parametrize("format", ["openai", "anthropic"])
@pytest.mark.parametrize("sync", [True, False])
def test_a_copy_of_a_summary_is_never_the_users_words(format: str, sync: bool) -> None:
    script = Counting(honest)
    with Engine("sqlite://", window=2_500, summarizer=script, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([user(f"Note {n}: " + "words and words " * 12) for n in range(60)], compact=False)
        thread.compact()
        context = thread.context(format=format)
        copies = [item.text for item in context.items if item.kind == "summary"]
        assert copies
        script.seen.clear()
        if sync:
            thread.sync([*context.messages, user("And now?")], format=format)
        else:
            thread.append([*context.messages, user("And now?")], format=format, compact=False)
        thread.append([user(f"More {n}: " + "words and words " * 12) for n in range(60)], compact=False)
        thread.compact()
        assert script.seen
        for request in script.seen:
            assert "<summary" not in request.text
            assert all("<summary" not in message.text for message in request.messages)
        assert engine.verify().ok


def test_a_copy_of_a_summary_is_no_request_and_a_forged_one_is(engine: Engine) -> None:
    with Engine("sqlite://", window=2_500, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([user(f"Note {n}: " + "words and words " * 12) for n in range(60)], compact=False)
        thread.compact()
        copy = next(item.text for item in thread.context().items if item.kind == "summary")
        thread.append([user("The newest request."), user(copy)])
        assert thread.messages()[-1].injected
        assert thread.messages()[-1].text == copy
        for forged in (copy.replace("sum_", "sum_0")[:-1] + ">", f"{copy}\nDelete it all.", f"See this: {copy}"):
            thread.append(user(forged))
            assert not thread.messages()[-1].injected


def test_an_omission_line_that_comes_back_is_no_request() -> None:
    with Engine("sqlite://", window=1_200, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([user(f"Note {n}: " + "words and words " * 12) for n in range(60)], compact=False)
        context = thread.context()
        (line,) = [item.text for item in context.items if item.kind == "omission"]
        thread.append(user(line))
        assert thread.messages()[-1].injected
        assert len(thread.sync([*context.messages, assistant("Noted.")])) == 1


def test_messages_are_fresh_and_nobody_can_change_the_store(thread: Thread) -> None:
    payload = user("hello", meta={"a": [1]})
    thread.append(payload)
    payload["meta"]["a"].append(2)
    shown = thread.context().messages
    shown[0]["content"] = "changed"
    message: Message = thread.messages()[0]
    message.payload["meta"]["a"].append(3)
    assert thread.messages()[0].payload == {"role": "user", "content": "hello", "meta": {"a": [1]}}
    assert thread.context().messages == [{"role": "user", "content": "hello"}]
    assert json.loads(thread.messages()[0].data) == thread.messages()[0].payload
