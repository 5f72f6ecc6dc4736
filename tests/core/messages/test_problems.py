"""The checker finds what a provider would refuse, in either dialect."""

from __future__ import annotations

from typing import Any

import pytest

from lossless.messages import ANTHROPIC, GEMINI, OPENAI, Profile, problems

HTML = "PGh0bWw+PC9odG1sPg=="
PAGE = {"type": "base64", "media_type": "image/png", "data": HTML}
URI = f"data:image/png;base64,{HTML}"
THOUGHT = {"type": "thinking", "thinking": "x", "signature": "s"}
USER = {"role": "user", "content": "q"}


def chat_call(*ids: str) -> dict[str, Any]:
    made = [{"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def chat_result(call_id: str, content: Any = "42") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def block_call(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": each, "name": "f", "input": {}} for each in ids]}


def block_result(*ids: str, before: tuple[Any, ...] = (), more: tuple[Any, ...] = ()) -> dict[str, Any]:
    results = [{"type": "tool_result", "tool_use_id": each, "content": "42"} for each in ids]
    return {"role": "user", "content": [*before, *results, *more]}


def with_block(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


SAID = {"type": "text", "text": "and?"}
GOOD: list[tuple[Profile, list[dict[str, Any]]]] = [
    (OPENAI, [{"role": "system", "content": "s"}, USER, chat_call("a", "b"), chat_result("a"), chat_result("b", ""), USER]),
    (OPENAI, [{"role": "assistant", "content": "Welcome."}, USER, {"role": "system", "content": "s"}]),
    (OPENAI, [{"role": "assistant", "content": None, "refusal": "No."}]),
    (
        OPENAI,
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}},
            {"role": "function", "name": "f", "content": "42"},
        ],
    ),
    (ANTHROPIC, [USER, block_call("a", "b"), block_result("a", "b", more=(SAID,))]),
    (ANTHROPIC, [USER, chat_call("a"), chat_result("a"), USER]),
    (GEMINI, [USER, block_call("a"), block_result("a"), USER]),
    (GEMINI, []),
]
BAD: list[tuple[str, Profile, list[dict[str, Any]]]] = [
    ("no message with a known role", OPENAI, [{"role": "human", "content": "x"}]),
    ("keys that the provider does not know: ['id']", OPENAI, [{**USER, "id": "m_1"}]),
    ("a blank content", OPENAI, [{"role": "user", "content": " "}]),
    ("nothing in it", OPENAI, [{"role": "user", "content": []}]),
    ("nothing in it", OPENAI, [{"role": "assistant", "content": None}]),
    ("content of a wrong type", OPENAI, [{"role": "user", "content": 5}]),
    ("a block that is no mapping", OPENAI, [{"role": "user", "content": ["x", SAID]}]),
    ("a blank text", OPENAI, [{"role": "user", "content": [SAID, {"type": "text", "text": ""}]}]),
    ("tool_calls is no list, or empty", OPENAI, [{"role": "assistant", "content": "x", "tool_calls": []}]),
    ("a call without an id", OPENAI, [{"role": "assistant", "content": "x", "tool_calls": [{}]}]),
    ("a result without the id of its call", OPENAI, [{"role": "tool", "content": "x"}]),
    ("a call that is not the assistant's", OPENAI, [{**chat_call("a"), "role": "user"}, chat_result("a")]),
    ("have no result", OPENAI, [USER, chat_call("a")]),
    ("have no result yet: ['b']", OPENAI, [USER, chat_call("a", "b"), chat_result("a"), USER]),
    ("does not answer the next call", OPENAI, [USER, chat_call("a", "b"), chat_result("b"), chat_result("a")]),
    ("does not answer the next call", OPENAI, [USER, chat_result("a")]),
    ("does not answer the next call", OPENAI, [USER, chat_call("a"), chat_result("a"), chat_result("a")]),
    ("have no result yet", OPENAI, [USER, chat_call("a"), USER, chat_result("a")]),
    ("was used before", OPENAI, [USER, chat_call("a"), chat_result("a"), chat_call("a"), chat_result("a")]),
    ("not one that openai takes", OPENAI, [USER, chat_call("a" * 41), chat_result("a" * 41)]),
    ("not one that anthropic takes", ANTHROPIC, [USER, block_call("a.b"), block_result("a.b")]),
    ("has no result", OPENAI, [{"role": "assistant", "content": None, "function_call": {"name": "f"}}, USER]),
    ("has no call before it", OPENAI, [USER, {"role": "function", "name": "f", "content": "x"}]),
    ("the first message is not the user's", ANTHROPIC, [{"role": "assistant", "content": "Welcome."}]),
    ("two messages of the role user in a row", ANTHROPIC, [USER, USER]),
    ("two messages of the role user in a row", ANTHROPIC, [USER, block_call("a"), block_result("a"), USER]),
    ("a system message after the first", ANTHROPIC, [USER, {"role": "system", "content": "s"}]),
    ("a result after something else", ANTHROPIC, [USER, block_call("a"), block_result("a", before=(SAID,))]),
    ("something else beside the results", GEMINI, [USER, block_call("a"), block_result("a", more=(SAID,))]),
    ("an empty result", ANTHROPIC, [USER, chat_call("a"), chat_result("a", "")]),
    ("a blank text in a result", OPENAI, [USER, chat_call("a"), chat_result("a", [{"type": "text", "text": " "}])]),
    ("reasoning comes last", ANTHROPIC, [USER, with_block("assistant", SAID, THOUGHT)]),
    ("reasoning without a signature", ANTHROPIC, [USER, with_block("assistant", {"type": "thinking"}, SAID)]),
    ("not image/png", ANTHROPIC, [with_block("user", {"type": "image", "source": PAGE})]),
    ("not image/png", ANTHROPIC, [with_block("user", {"type": "image_url", "image_url": {"url": URI}})]),
]  # fmt: skip


@pytest.mark.parametrize(("profile", "messages"), GOOD)
def test_a_valid_history_has_no_problems(profile: Profile, messages: list[dict[str, Any]]) -> None:
    assert problems(messages, profile) == []


@pytest.mark.parametrize(("problem", "profile", "messages"), BAD)
def test_what_a_provider_refuses_is_named(problem: str, profile: Profile, messages: list[dict[str, Any]]) -> None:
    assert any(problem in found for found in problems(messages, profile))


@pytest.mark.parametrize("system", [None, "Be brief.", [SAID]])
def test_a_system_prompt_kept_apart_may_be_text_or_blocks(system: Any) -> None:
    assert problems([USER], ANTHROPIC, system) == []


@pytest.mark.parametrize("system", ["", " ", [], {"text": "x"}, [{"type": "text", "text": ""}]])
def test_an_empty_system_prompt_is_refused(system: Any) -> None:
    assert problems([USER], ANTHROPIC, system) != []
