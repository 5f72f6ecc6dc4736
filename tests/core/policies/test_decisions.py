"""Decisions and actions: what was settled and done, with the role that made it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.policies import decisions


def call(name: str, arguments: Any, *, answer: str | None = None) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}
    made = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    return [made] if answer is None else [made, {"role": "tool", "tool_call_id": "c1", "content": answer}]


def kinds(role: str, text: str) -> list[str]:
    return [decision.kind for decision in decisions([{"role": role, "content": text}])]


@pytest.mark.parametrize(
    ("role", "text", "kind"),
    [
        ("user", "I'll go with the first option, Flight HAT136.", "decision"),
        ("user", "Yes, that works for me.", "decision"),
        ("user", "Let's use PostgreSQL instead of SQLite.", "decision"),
        ("assistant", "We decided to keep the old schema.", "decision"),
        ("assistant", "I will send the invoice tomorrow.", "commitment"),
        ("assistant", "The plan is to migrate the tables first.", "plan"),
        ("assistant", "TODO: ask the warehouse about the lock", "open_task"),
        ("user", "The tests are still to be done.", "open_task"),
        ("user", "- [ ] write the docs", "open_task"),
        ("assistant", "Your flight has been successfully booked.", "decision"),
    ],
)
def test_a_decision_is_found_by_its_words(role: str, text: str, kind: str) -> None:
    assert kinds(role, text) == [kind]


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("assistant", "I'll need your user ID to proceed."),
        ("assistant", "I'll be happy to help with that."),
        ("assistant", "Would you like to go ahead?"),
        ("user", "Could you book it?"),
        ("user", "Sure, my user ID is mia_li_3668."),
        ("tool", "I'll go with the first option"),
        ("system", "Let's use PostgreSQL"),
    ],
)
def test_politeness_questions_and_other_roles_decide_nothing(role: str, text: str) -> None:
    messages = call("x", {}) if role == "tool" else []
    found = decisions([*messages, {"role": role, "content": text, **({"tool_call_id": "c1"} if role == "tool" else {})}])
    assert found == []


@pytest.mark.parametrize("name", ["book_flight", "updateOrder", "delete-file", "send_certificate", "write_file", "cancel"])
def test_a_call_whose_name_says_that_it_changes_something_is_an_action(name: str) -> None:
    (found,) = decisions(call(name, {"id": "A-1", "count": 2}))
    assert (found.kind, found.role, found.text) == ("action", "assistant", f"{name}(id=A-1, count=2)")


@pytest.mark.parametrize("name", ["get_order", "search_flights", "get_update_status", "calculate", "think", "lcm_expand"])
def test_a_call_that_only_reads_is_none(name: str) -> None:
    assert decisions(call(name, {"id": "A-1"})) == []


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("rm -rf build", True),
        ("git commit -m x", True),
        ("ls -la && git push", True),
        ("echo x > a.txt", True),
        ("ls -la", False),
        ("git status", False),
    ],
)
def test_a_shell_call_is_an_action_if_its_command_changes_something(command: str, changes: bool) -> None:
    assert bool(decisions(call("bash", {"command": command}))) is changes


def test_an_action_that_failed_is_marked_also_when_call_ids_are_used_again() -> None:
    messages = [
        *call("book_room", {"room": 5}, answer="Error: taken"),
        *call("book_room", {"room": 6}, answer='{"room": 6}'),
        *call("book_room", {"room": 7}, answer="ValueError: no such room"),
    ]
    assert [decision.text for decision in decisions(messages)] == [
        "book_room(room=5) (failed)",
        "book_room(room=6)",
        "book_room(room=7) (failed)",
    ]


def test_long_arguments_are_named_by_their_size() -> None:
    (found,) = decisions(call("write_file", {"path": "a.txt", "content": "x" * 5000}))
    assert found.text == "write_file(path=a.txt, content=<5000 characters>)"


def test_the_same_words_count_once_and_the_same_action_each_time() -> None:
    said = [{"role": "user", "content": "Please proceed with that."}] * 2
    done = call("send_mail", {"to": "a@b.c"}) * 2
    assert [decision.kind for decision in decisions([*said, *done])] == ["decision", "action", "action"]


@given(st.text(max_size=200), st.sampled_from(["user", "assistant"]), st.text(min_size=1, max_size=20), st.text(max_size=50))
@settings(deadline=None)
def test_anything_can_be_looked_through(text: str, role: str, name: str, arguments: str) -> None:
    messages = [{"role": role, "content": text}, *call(name, arguments)]
    assert decisions(messages) == decisions(messages)
