"""Format openai/1: what is read, what is refused, and what is written again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.errors import MessageError
from lossless.messages import (
    PROFILES,
    AnthropicFormat,
    Call,
    Media,
    Opaque,
    OpenAIFormat,
    Reasoning,
    Result,
    Text,
    Turn,
    is_request,
    looks_anthropic,
    problems,
    repair,
)

OPENAI, ANTHROPIC = OpenAIFormat(), AnthropicFormat()
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "x"}'}}


def shown(payload: dict[str, Any]) -> dict[str, Any]:
    """Render one payload that stands."""
    (message,) = OPENAI.render([Turn(OPENAI.role(payload), OPENAI.read(payload), "m_1", payload)]).messages
    return message


def written(payload: dict[str, Any], reader: Any = OPENAI) -> list[dict[str, Any]]:
    """Render one message from its parts."""
    return OPENAI.render([Turn(reader.role(payload), reader.read(payload), "m_1")]).messages


@pytest.mark.parametrize(
    ("payload", "parts"),
    [
        ({"role": "user", "content": "hi"}, [Text("hi")]),
        ({"role": "user", "content": ""}, []),
        ({"role": "user", "content": None}, []),
        ({"role": "system", "content": " "}, [Text(" ")]),
        (
            {"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}]},
            [Text("a"), Text("b")],
        ),
        ({"role": "user", "content": ("plain",)}, [Text("plain")]),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/PNG;charset=x;base64,AA=="}}]},
            [Media("image", "image/png", "AA==")],
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": "https://example.org/a.png"}]},
            [Media("image", None, None, "https://example.org/a.png")],
        ),
        ({"role": "user", "content": [{"type": "image_url"}]}, [Opaque({"type": "image_url"})]),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]},
            [Media("audio", "audio/wav", "AA==")],
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]},
            [Media("document", None, None, "file-1")],
        ),
        (
            {
                "role": "user",
                "content": [{"type": "file", "file": {"file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"}}],
            },
            [Media("document", "application/pdf", "AA==", "a.pdf")],
        ),
        ({"role": "user", "content": [{"type": "hologram", "x": 1}, {}]}, [Opaque({"type": "hologram", "x": 1}), Opaque({})]),
        ({"role": "assistant", "content": None, "tool_calls": [CALL]}, [Call("c1", "find", '{"q": "x"}')]),
        (
            {"role": "assistant", "tool_calls": [{"id": "c2", "type": "custom", "custom": {"name": "run", "input": "ls -l"}}]},
            [Call("c2", "run", "ls -l")],
        ),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}, [Call("", "f", '{"a": 1}')]),
        ({"role": "assistant", "content": None, "refusal": "I won't."}, [Text("I won't.")]),
        ({"role": "assistant", "content": None, "audio": {"id": "au", "transcript": "Hello."}}, [Text("Hello.")]),
        ({"role": "assistant", "content": "yes", "reasoning_content": "why"}, [Reasoning("why"), Text("yes")]),
        (
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            [Call("function_call:f", "f", "{}")],
        ),
        ({"role": "function", "name": "f", "content": "42"}, [Result("function_call:f", (Text("42"),), False, "f")]),
        ({"role": "tool", "tool_call_id": "c1", "content": "42", "name": "find"}, [Result("c1", (Text("42"),), False, "find")]),
        ({"role": "tool", "tool_call_id": "c1", "content": ""}, [Result("c1", ())]),
        ({"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "42"}]}, [Result("c1", (Text("42"),))]),
    ],
)
def test_a_message_is_read_into_parts(payload: dict[str, Any], parts: list[Any]) -> None:
    assert list(OPENAI.read(payload)) == parts


@pytest.mark.parametrize(
    ("role", "neutral"),
    [(role, role) for role in ("system", "developer", "user", "assistant", "tool")] + [("function", "tool")],
)
def test_roles_are_neutral(role: str, neutral: str) -> None:
    assert OPENAI.role({"role": role, "content": "x"}) == neutral


@pytest.mark.parametrize(
    "payload",
    [
        None,
        "hello",
        ["role", "user"],
        {},
        {"content": "x"},
        {"role": None, "content": "x"},
        {"role": "human", "content": "x"},
        {"role": ["user"], "content": "x"},
        {"role": 10**5000, "content": "x"},
        {"role": "user"},
        {"role": "user", "text": "x"},
        {"role": "tool", "tool_call_id": "c1"},
        {"role": "assistant"},
        {"role": "user", "content": 5},
        {"role": "user", "content": b"x"},
        {"role": "user", "content": {"type": "text", "text": "x"}},
        {"role": "user", "content": ["x", 5]},
        {"role": "assistant", "content": "x", "tool_calls": "c1"},
        {"role": "assistant", "content": "x", "tool_calls": ["c1"]},
    ],
)
def test_what_is_no_message_is_refused_with_a_hint(payload: Any) -> None:
    with pytest.raises(MessageError) as caught:
        OPENAI.read(payload)
    assert caught.value.hint


NAMES = [
    "role",
    "content",
    "type",
    "text",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "image_url",
    "url",
    "file",
    "file_data",
    "input_audio",
    "data",
    "custom",
    "input",
    "refusal",
    "audio",
    "transcript",
    "function_call",
    "tool_call_id",
    "source",
    "media_type",
    "thinking",
    "signature",
    "tool_use_id",
    "is_error",
    "title",
]
WORDS = [
    "user",
    "assistant",
    "tool",
    "function",
    "system",
    "text",
    "image_url",
    "file",
    "input_audio",
    "refusal",
    "image",
    "document",
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "base64",
    "url",
    "data:;base64,",
    "data:image/png;base64,AA==",
]
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3)
anything = st.recursive(
    leaves | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.integers(), inner, max_size=5),
    max_leaves=25,
)
payloads = st.builds(
    lambda role, content, rest: {**rest, "role": role, "content": content},
    st.sampled_from(["user", "assistant", "tool", "function", "system"]),
    anything,
    st.dictionaries(st.sampled_from(NAMES), anything, max_size=3),
)


@settings(max_examples=200)
@given(anything | payloads)
def test_reading_anything_gives_parts_or_a_message_error(payload: Any) -> None:
    for form in (OPENAI, ANTHROPIC):
        assert isinstance(looks_anthropic(payload), bool)
        try:
            role, parts = form.role(payload), form.read(payload)
        except MessageError:
            continue
        assert isinstance(is_request(role, parts), bool)
        for shown_by in (OPENAI, ANTHROPIC):
            shown_by.render([Turn(role, parts, "m_1")])
            shown_by.render([Turn(role, parts, "m_1", payload if form is shown_by else None)])


@settings(max_examples=200, deadline=None)
@given(st.lists(payloads, max_size=4), st.sampled_from([OPENAI, ANTHROPIC]), st.sampled_from([OPENAI, ANTHROPIC]), st.data())
def test_whatever_was_read_can_be_shown_to_every_provider(given_: list[Any], stored: Any, shown_by: Any, data: Any) -> None:
    profile = PROFILES[data.draw(st.sampled_from(list(PROFILES)))]
    turns = []
    for payload in given_:
        try:
            turns.append(Turn(stored.role(payload), stored.read(payload), "m", payload if stored is shown_by else None))
        except MessageError:
            continue
    rendered = shown_by.render(repair(turns, profile).turns, profile)
    assert problems(rendered.messages, profile, rendered.system) == []


def test_a_standing_payload_is_shown_in_its_own_order_with_the_apis_keys_only() -> None:
    payload = {"content": "x", "id": "m_7", "role": "user", "name": "Ada", "metadata": {"a": 1}, "created_at": 5}
    assert list(shown(payload).items()) == [("content", "x"), ("role", "user"), ("name", "Ada")]


def test_keys_that_an_answer_has_and_a_request_may_not_are_left_out() -> None:
    nothing = dict.fromkeys(["audio", "function_call", "tool_calls"])
    dumped = {"content": "x", "refusal": None, "role": "assistant", "annotations": [], **nothing}
    assert shown(dumped) == {"content": "x", "refusal": None, "role": "assistant", "audio": None, "function_call": None}
    assert "tool_calls" not in shown({"role": "assistant", "content": "x", "tool_calls": []})
    spoken = {"role": "assistant", "content": None, "audio": {"id": "au", "data": "AAAA", "transcript": "Hello."}}
    assert shown(spoken)["audio"] == {"id": "au"}


@pytest.mark.parametrize(
    "payload",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}]},
        {"role": "user", "content": [{"type": "text", "text": "a", "unknown": 1}, {"type": "hologram"}]},
        {"role": "assistant", "content": None, "tool_calls": [{**CALL, "extra_content": {"google": {"thought_signature": "s"}}}]},
        {"role": "assistant", "content": "x", "reasoning_content": "why", "tool_calls": [CALL]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "run", "input": "ls"}}],
        },
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "tool", "name": "find", "tool_call_id": "c1", "content": [{"type": "text", "text": "42"}]},
        {"role": "system", "content": [{"type": "text", "text": "be brief"}]},
    ],
)
def test_what_is_written_from_parts_is_what_was_given(payload: dict[str, Any]) -> None:
    assert written(payload) == [payload]


def test_arguments_that_are_no_text_are_shown_as_text() -> None:
    payload = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}],
    }
    (call,) = shown(payload)["tool_calls"]
    assert call == {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    assert payload["tool_calls"][0]["function"]["arguments"] == {"a": 1}


def test_keys_of_another_role_are_left_out() -> None:
    assert shown({"role": "user", "content": "x", "tool_calls": [CALL], "tool_call_id": "c"}) == {"role": "user", "content": "x"}


def test_the_older_form_of_calls_is_kept_with_its_results() -> None:
    payloads = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "42"},
    ]
    turns = [Turn(OPENAI.role(payload), OPENAI.read(payload), "m_1") for payload in payloads]
    assert OPENAI.render(turns).messages == payloads


def test_calls_and_results_of_the_messages_api_are_written_as_chat_messages() -> None:
    call = {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "find", "input": {"q": "å"}},
        {"type": "tool_use", "id": "t2", "name": "find", "input": {}},
    ]}  # fmt: skip
    two, three = {"type": "text", "text": "two"}, {"type": "text", "text": "three"}
    answer = {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
        {"type": "tool_result", "tool_use_id": "t2", "content": [two, three]},
        {"type": "text", "text": "Go on."},
    ]}  # fmt: skip
    assert written(call, ANTHROPIC) == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "find", "arguments": '{"q": "å"}'}},
                {"id": "t2", "type": "function", "function": {"name": "find", "arguments": "{}"}},
            ],
        }
    ]
    assert written(answer, ANTHROPIC) == [
        {"role": "tool", "tool_call_id": "t1", "content": "one"},
        {"role": "tool", "tool_call_id": "t2", "content": "two\nthree"},
        {"role": "user", "content": "Go on."},
    ]


def test_images_that_tools_returned_follow_the_last_result() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    results = [{"type": "tool_result", "tool_use_id": name, "content": [image]} for name in ("t1", "t2")]
    separate = [{"role": "user", "content": [result]} for result in results] + [{"role": "user", "content": "Which is larger?"}]
    turns = [Turn(ANTHROPIC.role(payload), ANTHROPIC.read(payload), "m_1") for payload in separate]
    messages = OPENAI.render(turns).messages
    assert [message["role"] for message in messages] == ["tool", "tool", "user"]
    kinds = [block["type"] for block in messages[2]["content"]]
    assert kinds == ["text", "image_url", "text", "image_url", "text"]
    assert messages[2]["content"][1]["image_url"]["url"] == "data:image/png;base64,AAAA"
    assert OPENAI.render(turns[:2]).messages[2]["role"] == "user"


def test_what_has_no_place_in_a_chat_message_is_named_with_the_way_back() -> None:
    payload = {"role": "user", "content": [
        {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
        {"type": "search_result", "title": "Moss", "pages": "x" * 3000},
        {"type": "small", "n": 1},
    ]}  # fmt: skip
    document, long, short = (block["text"] for block in written(payload, ANTHROPIC)[0]["content"])
    assert "https://example.org/a.pdf" in document
    assert 'lcm_expand("m_1")' in document
    assert "search_result" in long
    assert 'lcm_expand("m_1")' in long
    assert len(long) < 300
    assert json.loads(short) == {"type": "small", "n": 1}
