"""Failures that users of other tools reported, as far as a valid history is what they lacked."""

from __future__ import annotations

from typing import Any

import pytest

from lossless.messages import AnthropicFormat, Format, OpenAIFormat, Rendered, Turn, find_profile, problems, repair
from lossless_testdata import trim_cases

FORMATS: dict[str, Format] = {"openai": OpenAIFormat(), "anthropic": AnthropicFormat()}
CASES = [case for case in trim_cases() if case["format"] in FORMATS]


def rendered(case: dict[str, Any]) -> Rendered:
    form, profile = FORMATS[case["format"]], find_profile(case["profile"])
    turns = [Turn(form.role(m), form.read(m), f"m_{n}", m) for n, m in enumerate(case["messages"], 1)]
    return form.render(repair(turns, profile).turns, profile)


def blocks(content: Any) -> Any:
    """Write content without notation: a string as one text block, inside results too."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [{**block, "content": blocks(block["content"])} if "content" in block else block for block in content]
    return content


def matches(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(found, dict) and found.keys() == wanted.keys() and all(matches(found[k], wanted[k]) for k in wanted)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(matches, found, wanted))
    if isinstance(wanted, str) and wanted.startswith("$"):
        return isinstance(found, str) and bool(found.strip()) and (wanted != "$stub" or len(found) < 500)
    return bool(found == wanted)


def plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**message, "content": blocks(message["content"])} for message in messages]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_reported_history_is_rendered_valid(case: dict[str, Any]) -> None:
    shown = rendered(case)
    assert problems(shown.messages, find_profile(case["profile"]), shown.system) == []


@pytest.mark.parametrize(
    "case", [case for case in CASES if "one_of" in case["expect"] and "steps" not in case], ids=lambda case: case["id"]
)
def test_a_broken_history_becomes_what_its_reporter_expected(case: dict[str, Any]) -> None:
    found = plain(rendered(case).messages)
    assert any(matches(found, plain(wanted)) for wanted in case["expect"]["one_of"])


@pytest.mark.parametrize("case", [case for case in CASES if case["expect"].get("same")], ids=lambda case: case["id"])
def test_a_valid_history_is_shown_as_it_was_given(case: dict[str, Any]) -> None:
    assert rendered(case).messages == case["messages"]
