"""Format langchain/1: read and written without LangChain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lossless.errors import MessageError
from lossless.messages import (
    ANTHROPIC,
    AnthropicFormat,
    Call,
    LangChainFormat,
    Media,
    Opaque,
    OpenAIFormat,
    Reasoning,
    Result,
    Text,
    Turn,
    repair,
    rules_for,
)
from lossless_prepared import prepared

FORMAT = LangChainFormat()
CALL = {"name": "search", "args": {"q": "x"}, "id": "c1", "type": "tool_call"}


def message(kind: str, content: Any = "hi", **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"content": content, **data}}


def turn(payload: dict[str, Any], *, stands: bool = True) -> Turn:
    return Turn(FORMAT.role(payload), FORMAT.read(payload), "m", payload if stands else None)


@pytest.mark.parametrize(
    ("payload", "role"),
    [
        (message("human"), "user"),
        (message("ai"), "assistant"),
        (message("system"), "system"),
        (message("tool", tool_call_id="c"), "tool"),
        (message("function", name="f"), "tool"),
        (message("chat", role="assistant"), "assistant"),
        (message("chat", role="critic"), "user"),
        (message("AIMessageChunk"), "assistant"),
        (message("ToolMessageChunk", tool_call_id="c"), "tool"),
        (message("remove", ""), "system"),
        (message("own") | {"base": "ai", "class": "x:Y"}, "assistant"),
        (message("parrot"), "user"),
    ],
)
def test_a_message_has_the_role_of_its_type(payload: dict[str, Any], role: str) -> None:
    assert FORMAT.role(payload) == role


@pytest.mark.parametrize("payload", [None, {}, {"role": "user", "content": "hi"}, {"type": "human"}, {"type": 1, "data": {}}])
def test_what_is_no_langchain_message_is_refused(payload: Any) -> None:
    with pytest.raises(MessageError, match="message"):
        FORMAT.role(payload)


def test_calls_are_read_once_and_at_their_place() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "c1", "name": "search", "input": {}},
        {"type": "text", "text": "after"},
    ]
    parts = FORMAT.read(message("ai", content, tool_calls=[CALL]))
    assert parts == (Reasoning("hm", True), Call("c1", "search", '{"q": "x"}'), Text("after"))
    assert FORMAT.read(message("ai", "", tool_calls=[CALL, CALL])) == (Call("c1", "search", '{"q": "x"}'),) * 2


def test_calls_beside_the_content_count_only_where_there_are_no_others() -> None:
    raw = {"tool_calls": [{"id": "r", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
    assert FORMAT.read(message("ai", "", additional_kwargs=raw)) == (Call("r", "f", "{}"),)
    assert FORMAT.read(message("ai", "", additional_kwargs=raw, tool_calls=[CALL])) == (Call("c1", "search", '{"q": "x"}'),)
    invalid = [{"name": "g", "args": "{", "id": "i", "error": "bad", "type": "invalid_tool_call"}]
    assert FORMAT.read(message("ai", "", invalid_tool_calls=invalid)) == (Call("i", "g", "{"),)


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ("plain", Text("plain")),
        ({"type": "text", "text": "x", "cache_control": {}}, Text("x")),
        ({"type": "image", "base64": "aGk=", "mime_type": "image/png"}, Media("image", "image/png", "aGk=")),
        ({"type": "image", "url": "https://e.com/a"}, Media("image", None, None, "https://e.com/a")),
        (
            {"type": "image", "source_type": "base64", "data": "aGk=", "mime_type": "image/png"},
            Media("image", "image/png", "aGk="),
        ),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}, Media("image", "image/png", "aGk=")),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
            Media("image", "image/png", "aGk="),
        ),
        ({"type": "media", "mime_type": "video/mp4", "data": "aGk="}, Media("video", "video/mp4", "aGk=")),
        ({"type": "file", "file_id": "f1"}, Media("document", None, None, "f1")),
        ({"type": "text-plain", "text": "x"}, Text("x")),
        ({"type": "refusal", "refusal": "no"}, Text("no")),
        ({"type": "reasoning", "reasoning": "r", "extras": {"signature": "s"}}, Reasoning("r", True)),
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "r"}]}, Reasoning("r", False)),
        ({"type": "server_tool_call", "id": "s"}, Opaque({"type": "server_tool_call", "id": "s"})),
        ({"no": "type"}, Opaque({"no": "type"})),
        (7, Opaque(7)),
    ],
    ids=repr,
)
def test_a_block_is_read_as_what_it_is(block: Any, part: Any) -> None:
    assert FORMAT.read(message("human", [block])) == (part,)


def test_a_result_knows_its_call_and_whether_it_failed() -> None:
    (part,) = FORMAT.read(message("tool", ["a", {"type": "text", "text": "b"}], tool_call_id="c1", status="error", name="f"))
    assert part == Result("c1", (Text("a"), Text("b")), True, "f")


def test_a_message_that_needs_no_repair_is_rendered_as_it_is_and_apart_from_the_stored_one() -> None:
    payload = message("ai", [{"type": "text", "text": "x", "at": (1, [2])}], own={"a": {1}}) | {"id": "m"}
    (found,) = FORMAT.render([turn(payload)]).messages
    assert found == payload
    assert type(found["data"]["content"][0]["at"]) is tuple
    found["data"]["content"][0]["at"][1].append(3)
    assert payload["data"]["content"][0]["at"] == (1, [2])


def test_other_formats_are_written_as_langchain_messages_and_back() -> None:
    openai = [
        {"role": "system", "content": "be brief"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "https://e.com/a"}}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
                {"id": "c2", "type": "function", "function": {"name": "f", "arguments": "{"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
    ]
    source = OpenAIFormat()
    turns = [Turn(source.role(one), source.read(one), "m") for one in openai]
    written = FORMAT.render(turns).messages
    assert [one["type"] for one in written] == ["system", "human", "ai", "tool", "tool"]
    assert written[2]["data"]["tool_calls"] == [{"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}]
    assert written[2]["data"]["invalid_tool_calls"][0]["args"] == "{"
    assert [FORMAT.read(one) for one in written[3:]] == [one.parts for one in turns[3:]]


def test_a_summary_is_marked_as_langchain_marks_its_own() -> None:
    (found,) = FORMAT.render([Turn("user", (Text("<summary …>"),), "sum_0123456789abcdef")]).messages
    assert found["data"]["additional_kwargs"] == {"lc_source": "summarization"}


def test_a_repaired_history_keeps_the_rest_of_its_messages() -> None:
    result = message("tool", "42", tool_call_id="c1", artifact={"rows": (1,)}, id="t1")
    turns = [turn(message("human")), turn(message("ai", "", tool_calls=[CALL])), turn(result)] * 2
    fixed = repair(turns, rules_for("langchain/1", "anthropic"))
    written = FORMAT.render(fixed.turns).messages
    (first, second) = (one for one in written if one["type"] == "tool")
    assert first == result
    assert second["data"]["artifact"] == {"rows": (1,)}
    assert second["data"]["tool_call_id"] != "c1"
    assert second["data"]["tool_call_id"] == written[4]["data"]["tool_calls"][0]["id"]


def test_signed_reasoning_is_shown_to_its_provider_as_it_was() -> None:
    block = {"type": "thinking", "thinking": "hm", "signature": "s"}
    payload = message("ai", [block, {"type": "text", "text": "so"}])
    fixed = repair([turn(message("human"), stands=False), turn(payload, stands=False)], ANTHROPIC)
    assert AnthropicFormat().render(fixed.turns).messages[1]["content"][0] == block


def test_reading_needs_no_langchain(tmp_path: Path) -> None:
    code = (
        "import sys; from lossless import Engine\n"
        "with Engine('sqlite://') as engine:\n"
        "    t = engine.thread('t'); t.append({'type': 'human', 'data': {'content': 'hi'}}, format='langchain')\n"
        "    assert t.messages()[0].text == 'hi'\n"
        "assert not any(name.startswith('langchain') for name in sys.modules)"
    )
    done = prepared().run(code, folder=tmp_path)
    assert done.code == 0, done.err
