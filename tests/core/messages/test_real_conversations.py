"""Real conversations, whose tool-call ids repeat within and across them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lossless.messages import PROFILES, AnthropicFormat, OpenAIFormat, Text, Turn, find_profile, problems, repair, units
from lossless_testdata import tau_conversations

OPENAI, ANTHROPIC = OpenAIFormat(), AnthropicFormat()


def turns(messages: list[dict[str, Any]], *, standing: bool) -> list[Turn]:
    return [
        Turn(OPENAI.role(message), OPENAI.read(message), f"m_{n}", message if standing else None)
        for n, message in enumerate(messages, 1)
    ]


@pytest.fixture(scope="module")
def history() -> list[dict[str, Any]]:
    return [message for conversation in tau_conversations() for message in conversation["messages"]]


@pytest.mark.parametrize("profile", PROFILES)
def test_all_conversations_in_a_row_are_valid_in_both_formats(history: list[dict[str, Any]], profile: str) -> None:
    rules = find_profile(profile)
    shown = OPENAI.render(repair(turns(history, standing=True), rules).turns, rules)
    assert problems(shown.messages, rules) == []
    across = ANTHROPIC.render(repair(turns(history, standing=False), rules).turns, rules)
    assert problems(across.messages, rules, across.system) == []


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_that_was_said_or_answered_is_missing(history: list[dict[str, Any]], profile: str) -> None:
    rules = find_profile(profile)
    repaired = repair(turns(history, standing=False), rules)
    shown = ANTHROPIC.render(repaired.turns, rules)
    text = json.dumps([shown.messages, shown.system], ensure_ascii=False)
    for message in history:
        if message["content"] and message["content"].strip():
            assert json.dumps(message["content"], ensure_ascii=False)[1:-1] in text
    assert not {each.kind for each in repaired.repairs} & {"orphan_result", "duplicate_result", "missing_result"}


def test_under_its_own_profile_only_reused_ids_differ(history: list[dict[str, Any]]) -> None:
    repaired = repair(turns(history, standing=True), find_profile("openai"))
    assert {each.kind for each in repaired.repairs} == {"renamed_call"}
    shown = OPENAI.render(repaired.turns).messages
    assert [without_ids(message) for message in shown] == [without_ids(message) for message in history]


def without_ids(message: dict[str, Any]) -> dict[str, Any]:
    calls = [{**call, "id": "…"} for call in message.get("tool_calls", [])]
    return {**message, **({"tool_calls": calls} if calls else {}), **({"tool_call_id": "…"} if "tool_call_id" in message else {})}


def test_ids_given_to_a_history_stay_when_it_grows(history: list[dict[str, Any]]) -> None:
    rules = find_profile("openai")
    shorter = OPENAI.render(repair(turns(history[:900], standing=True), rules).turns).messages
    longer = OPENAI.render(repair(turns(history[:1100], standing=True), rules).turns).messages
    assert shorter[:-2] == longer[: len(shorter) - 2]


def test_each_real_unit_is_a_call_and_its_results(history: list[dict[str, Any]]) -> None:
    groups = units(turns(history, standing=True))
    assert sorted(position for group in groups for position in group) == list(range(len(history)))
    for group in groups:
        first, *rest = (history[position] for position in group)
        assert {message["role"] for message in rest} <= {"tool"}
        assert first["role"] != "tool"
        assert len(rest) == len(first.get("tool_calls", []))


def test_a_conversation_whose_ids_are_unique_comes_back_untouched() -> None:
    texts = [
        message for message in tau_conversations(1)[0]["messages"] if message["role"] != "tool" and "tool_calls" not in message
    ]
    given = turns(texts, standing=True)
    repaired = repair(given, find_profile("openai"))
    assert repaired.repairs == ()
    assert all(a is b for a, b in zip(given, repaired.turns, strict=True))
    assert OPENAI.render(repaired.turns).messages == texts
    assert all(isinstance(part, Text) for turn in given for part in turn.parts)
