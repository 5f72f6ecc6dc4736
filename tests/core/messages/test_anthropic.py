"""Format anthropic/1: what is read, what is refused, and what is written again."""

from __future__ import annotations

from typing import Any

import pytest

from lossless.errors import MessageError
from lossless.messages import (
    GEMINI,
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
)

ANTHROPIC, OPENAI = AnthropicFormat(), OpenAIFormat()
CACHE = {"cache_control": {"type": "ephemeral"}}
SAID = {"type": "text", "text": "x"}
CALL = {"type": "tool_use", "id": "t", "name": "f", "input": {"n": 1.0}}
WORDS = {"type": "text", "media_type": "text/plain", "data": "words"}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "42"}


def turn(payload: dict[str, Any], *, standing: bool = False, reader: Any = ANTHROPIC) -> Turn:
    return Turn(reader.role(payload), reader.read(payload), "m_1", payload if standing else None)


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "hi", **CACHE}, Text("hi")),
        ({"type": "text"}, Opaque({"type": "text"})),
        ("bare", Text("bare")),
        (
            {"type": "tool_use", "id": "t1", "name": "find", "input": {"q": "å", "n": 1.0}},
            Call("t1", "find", '{"q": "å", "n": 1.0}'),
        ),
        ({"type": "tool_use", "id": "t1", "name": "find"}, Call("t1", "find", "{}")),
        (RESULT, Result("t1", (Text("42"),))),
        ({"type": "tool_result", "tool_use_id": "t1"}, Result("t1", ())),
        ({"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "no"}, Result("t1", (Text("no"),), True)),
        (
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a"}, {"type": "tool_reference"}]},
            Result("t1", (Text("a"), Opaque({"type": "tool_reference"}))),
        ),
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, Reasoning("hm", True)),
        ({"type": "thinking", "thinking": "hm", "signature": ""}, Reasoning("hm")),
        ({"type": "redacted_thinking", "data": "x"}, Reasoning("", True)),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
            Media("image", "image/png", "AA=="),
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a"}},
            Media("image", None, None, "https://example.org/a"),
        ),
        ({"type": "document", "source": {"type": "file", "file_id": "f1"}}, Media("document", None, None, "f1")),
        ({"type": "document", "source": WORDS}, Text("words")),
        (
            {"type": "server_tool_use", "id": "s", "name": "web_search"},
            Opaque({"type": "server_tool_use", "id": "s", "name": "web_search"}),
        ),
        ({"type": ["odd"]}, Opaque({"type": ["odd"]})),
    ],
)
def test_a_block_is_read_into_a_part(block: Any, part: Any) -> None:
    assert ANTHROPIC.read({"role": "user", "content": [block]}) == (part,)


@pytest.mark.parametrize(
    ("payload", "role"),
    [
        ({"role": "system", "content": "x"}, "system"),
        ({"role": "assistant", "content": "x"}, "assistant"),
        ({"role": "user", "content": "x"}, "user"),
        ({"role": "user", "content": []}, "user"),
        ({"role": "user", "content": [RESULT, RESULT]}, "tool"),
        ({"role": "user", "content": [RESULT, {"type": "text", "text": "x"}]}, "user"),
        ({"role": "assistant", "content": [RESULT]}, "assistant"),
    ],
)
def test_a_user_message_of_results_only_is_the_tools(payload: dict[str, Any], role: str) -> None:
    assert ANTHROPIC.role(payload) == role


@pytest.mark.parametrize(
    "payload",
    [
        None,
        5,
        {},
        {"role": "tool", "content": "x"},
        {"role": "developer", "content": "x"},
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": 5},
        {"role": "user", "content": {"type": "text"}},
        {"role": "user", "content": [None]},
    ],
)
def test_what_is_no_message_is_refused_with_a_hint(payload: Any) -> None:
    with pytest.raises(MessageError) as caught:
        ANTHROPIC.read(payload)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("block", "only"),
    [
        ({"type": "tool_use"}, True),
        ({"type": "tool_result"}, True),
        ({"type": "thinking"}, True),
        ({"type": "redacted_thinking"}, True),
        ({"type": "image", "source": {}}, True),
        ({"type": "document", "source": {}}, True),
        ({"type": "image", "url": "x"}, False),
        ({"type": "text", "text": "x"}, False),
        ({"type": "image_url", "image_url": {}}, False),
        ("tool_use", False),
    ],
)
def test_blocks_that_only_this_api_has_give_it_away(block: Any, only: bool) -> None:
    assert looks_anthropic({"role": "user", "content": [{"type": "text", "text": "x"}, block]}) is only


@pytest.mark.parametrize("payload", [None, "x", {"content": "tool_use"}, {"content": {"type": "tool_use"}}, {}])
def test_what_holds_no_blocks_gives_nothing_away(payload: Any) -> None:
    assert looks_anthropic(payload) is False


@pytest.mark.parametrize(
    ("role", "content", "sent"),
    [
        ("user", "hello", True),
        ("user", " \n", False),
        ("user", [RESULT, {"type": "text", "text": "and?"}], True),
        ("user", [RESULT, {"type": "text", "text": " "}], False),
        ("user", [{"type": "image", "source": {"type": "url", "url": "https://example.org/a"}}], True),
        ("user", [RESULT], False),
        ("assistant", "hello", False),
        ("system", "hello", False),
    ],
)
def test_a_request_is_what_a_person_sent(role: str, content: Any, sent: bool) -> None:
    payload = {"role": role, "content": content}
    assert is_request(ANTHROPIC.role(payload), ANTHROPIC.read(payload)) is sent


def test_a_standing_payload_is_shown_in_its_own_order_with_the_apis_keys_only() -> None:
    payload = {"content": [{"type": "text", "text": "x", **CACHE}], "id": "m_7", "usage": {"n": 1}, "role": "assistant"}
    (message,) = ANTHROPIC.render([turn(payload, standing=True)]).messages
    assert list(message.items()) == [("content", payload["content"]), ("role", "assistant")]


@pytest.mark.parametrize(
    "payload",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "hi", **CACHE}]},
        {"role": "user", "content": [{**RESULT, **CACHE, "is_error": False}, {"type": "text", "text": "and?"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, SAID]},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}, CALL]},
        {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "w", "input": {}}, SAID]},
        {"role": "user", "content": [{"type": "document", "title": "T", "source": WORDS}]},
    ],
)
def test_what_is_written_from_parts_is_what_was_given(payload: dict[str, Any]) -> None:
    assert ANTHROPIC.render([turn(payload)]).messages == [payload]


@pytest.mark.parametrize(("given", "shown"), [("text", {"_raw": "text"}), (None, {}), ([1], {"_raw": "[1]"})])
def test_input_that_is_no_object_is_shown_as_one(given: Any, shown: dict[str, Any]) -> None:
    payload = {"role": "assistant", "content": [{**CALL, "input": given}]}
    for each in (turn(payload), turn(payload, standing=True)):
        assert ANTHROPIC.render([each]).messages[0]["content"] == [{**CALL, "input": shown}]


def test_leading_system_turns_become_one_system_text() -> None:
    turns = [turn({"role": "system", "content": text}) for text in ("Be brief.", "Be kind.")]
    shown = ANTHROPIC.render([*turns, turn({"role": "user", "content": "hi"})])
    assert shown.system == "Be brief.\n\nBe kind."
    assert shown.messages == [{"role": "user", "content": "hi"}]
    assert ANTHROPIC.render([]).system is None


def test_a_system_prompt_given_in_blocks_stays_in_blocks() -> None:
    blocks = [{"type": "text", "text": "Be brief.", **CACHE}]
    turns = [turn({"role": "system", "content": blocks}, standing=True), turn({"role": "system", "content": "Be kind."})]
    assert ANTHROPIC.render(turns).system == [*blocks, {"type": "text", "text": "Be kind."}]


def test_a_later_system_turn_is_a_framed_note_in_the_users_role() -> None:
    payloads = [{"role": "user", "content": "hi"}, {"role": "system", "content": "The shop closes."}]
    (message,) = ANTHROPIC.render([turn(payload, standing=True) for payload in payloads]).messages
    first, second = message["content"]
    assert first == {"type": "text", "text": "hi"}
    assert second["text"].splitlines()[1] == "The shop closes."
    assert "not from the user" in second["text"]


def test_turns_of_one_role_are_one_message_but_gemini_wants_results_alone() -> None:
    turns = [turn({"role": "user", "content": [RESULT]}), turn({"role": "user", "content": "next"})]
    (message,) = ANTHROPIC.render(turns).messages
    assert message["content"] == [RESULT, {"type": "text", "text": "next"}]
    assert [each["content"] for each in ANTHROPIC.render(turns, GEMINI).messages] == [[RESULT], "next"]


def test_chat_messages_are_written_as_blocks() -> None:
    payloads: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [
            {"type": "text", "text": "Look."},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        ]},
        {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
            {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "not json"}},
            {"id": "c3", "type": "function", "function": {"name": "h", "arguments": ""}},
            {"id": "c4", "type": "function", "function": {"name": "i", "arguments": "[1]"}},
        ]},
        *({"role": "tool", "tool_call_id": f"c{n}", "content": f"answer {n}"} for n in range(1, 5)),
        {"role": "assistant", "content": "Done."},
    ]  # fmt: skip
    shown = ANTHROPIC.render([turn(payload, reader=OPENAI) for payload in payloads])
    assert shown.system == "Be brief."
    user, call, results, done = shown.messages
    assert user["content"] == [
        {"type": "text", "text": "Look."},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}, "title": "a.pdf"},
    ]
    assert [block["input"] for block in call["content"]] == [{"a": 1}, {"_raw": "not json"}, {}, {"_raw": "[1]"}]
    assert results == {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": f"answer {n}"} for n in range(1, 5)],
    }
    assert done == {"role": "assistant", "content": "Done."}
