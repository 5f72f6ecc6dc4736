"""What messages and tool schemas cost is never less than the usual independent counts say."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.tokens import EstimatingCounter, TokenCounter, count_media, count_parts, count_tools, counter_for

COUNTERS = [counter_for("gpt-4o"), counter_for("gpt-4"), EstimatingCounter()]
TEXTS = st.text(max_size=80) | st.sampled_from(
    ["ok", "The total is $1,234.56.", '{"a": [1, 2]}', "第一章", "def f():\n    return 1\n"]
)
NAMES = st.from_regex(r"[a-z_]{1,20}", fullmatch=True)
IDS = st.from_regex(r"(?:call|toolu)_[A-Za-z0-9]{4,24}", fullmatch=True)
CALLS = st.builds(Call, id=IDS, name=NAMES, arguments=st.dictionaries(NAMES, TEXTS | st.integers(), max_size=3).map(json.dumps))


def cookbook(message: dict[str, Any], count: Callable[[str], int]) -> int:
    """Count as OpenAI's cookbook does: 3 a message, the value of every key, and 1 for each name."""

    def values(value: Any) -> int:
        match value:
            case str():
                return count(value)
            case dict():
                return sum(values(inner) + (key == "name") for key, inner in value.items())
            case list():
                return sum(map(values, value))
            case _:
                return 0

    return 3 + values(message)


def as_openai(role: str, parts: list[Part], name: str | None) -> list[dict[str, Any]]:
    """Write one message in OpenAI's form: results are messages of their own there."""
    written: list[dict[str, Any]] = []
    blocks = [{"type": "text", "text": part.text} for part in parts if isinstance(part, Text)]
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.arguments}}
        for part in parts
        if isinstance(part, Call)
    ]
    if blocks or calls:
        content = blocks[0]["text"] if len(blocks) == 1 else blocks
        written.append(
            {"role": role, "content": content, **({"name": name} if name else {}), **({"tool_calls": calls} if calls else {})}
        )
    for part in parts:
        if isinstance(part, Result):
            written.append({"role": "tool", "tool_call_id": part.call_id, "content": part.text})
    return written


def as_anthropic(role: str, parts: list[Part]) -> dict[str, Any]:
    """Write one message in Anthropic's form: everything is a block."""
    blocks: list[dict[str, Any]] = []
    for part in parts:
        match part:
            case Text(text=text):
                blocks.append({"type": "text", "text": text})
            case Call(id=call_id, name=name, arguments=arguments):
                blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": json.loads(arguments)})
            case Result(call_id=call_id, parts=inner):
                content = [{"type": "text", "text": each.text} for each in inner if isinstance(each, Text)]
                blocks.append({"type": "tool_result", "tool_use_id": call_id, "content": content})
    return {"role": role, "content": blocks}


RESULTS = st.builds(Result, call_id=IDS, parts=st.lists(st.builds(Text, TEXTS), max_size=3).map(tuple))
MESSAGES = st.one_of(
    st.tuples(st.sampled_from(["system", "user"]), st.lists(st.builds(Text, TEXTS), min_size=1, max_size=3)),
    st.tuples(st.just("assistant"), st.lists(st.builds(Text, TEXTS) | CALLS, min_size=1, max_size=4)),
    st.tuples(st.just("tool"), st.lists(RESULTS, min_size=1, max_size=3)),
)


@pytest.mark.parametrize("counter", COUNTERS[:2], ids=lambda counter: counter.name)
@given(message=MESSAGES, name=st.none() | NAMES)
@settings(deadline=None)
def test_a_message_costs_no_less_than_by_openais_cookbook(
    counter: TokenCounter, message: tuple[str, list[Part]], name: str | None
) -> None:
    role, parts = message
    written = as_openai(role, parts, name)
    assert count_parts(parts, counter, name=name) >= sum(cookbook(each, counter.count) for each in written)


@pytest.mark.parametrize("counter", COUNTERS[:2], ids=lambda counter: counter.name)
@given(message=MESSAGES)
@settings(deadline=None)
def test_a_message_of_blocks_costs_no_less_than_the_values_in_it(counter: TokenCounter, message: tuple[str, list[Part]]) -> None:
    role, parts = message
    assert count_parts(parts, counter) >= cookbook(as_anthropic("user" if role == "tool" else role, parts), counter.count)


@given(message=MESSAGES)
@settings(deadline=None)
def test_a_message_costs_little_more_than_what_is_written_in_it(message: tuple[str, list[Part]]) -> None:
    counter = counter_for()
    role, parts = message
    written = cookbook(as_anthropic(role, parts), counter.count)
    quoting = sum(counter.count(part.arguments) for part in parts if isinstance(part, Call))
    assert count_parts(parts, counter) <= written + quoting + 6 * len(parts) + 2


def test_what_a_message_costs_is_the_sum_of_its_parts() -> None:
    counter = counter_for()
    count = counter.count
    assert count_parts((), counter) == 4
    assert count_parts([Text("hello world")], counter) == 4 + 1 + count("hello world")
    assert count_parts([Reasoning("because", signed=True)], counter) == 4 + 1 + count("because")
    call = Call(id="call_1", name="search", arguments='{"q": "x"}')
    assert count_parts([call], counter) == 4 + 8 + count("call_1") + count("search") + count('{"q": "x"}')
    result = Result(call_id="call_1", parts=(Text("found"), Text("more")))
    assert count_parts([result], counter) == 4 + 6 + count("call_1") + 1 + count("found") + 1 + count("more")
    assert count_parts([Opaque({"type": "odd", "n": 1})], counter) == 4 + 1 + count('{"type": "odd", "n": 1}')
    assert count_parts([Text("hi")], counter, name="ada") == count_parts([Text("hi")], counter) + 1 + count("ada")
    assert count_parts([Result(call_id="c", parts=(), name="f")], counter) == 4 + 6 + count("c") + 1 + count("f")


class Refusing:
    """A counter that must not be asked."""

    name = "refusing"
    exact = True

    def count(self, text: str) -> int:
        raise AssertionError(f"asked to count {text[:20]!r}")


@pytest.mark.parametrize("kind", ["image", "audio", "video", "document", "hologram"])
def test_base64_is_never_tokenised(kind: str) -> None:
    data = base64.b64encode(bytes(3_000_000)).decode()
    media = Media(kind=kind, mime=None, data=data)
    cost = count_parts([media, Media(kind=kind, reference="https://example.com/x")], Refusing())
    assert cost == 4 + count_media(media) + count_media(Media(kind=kind, reference="https://example.com/x"))
    assert cost < len(data) // 15


@pytest.mark.parametrize("kind", ["audio", "video", "document"])
def test_media_cost_1600_tokens_at_the_least_and_more_where_there_is_more(kind: str) -> None:
    costs = [count_media(Media(kind=kind, data="A" * size)) for size in (4, 400, 10_000, 10_000_000)]
    assert costs[0] == 1_600
    assert costs == sorted(costs)
    assert costs[-1] > 1_600


def test_a_document_of_text_costs_no_less_than_its_text() -> None:
    counter = counter_for()
    for text in [
        "Plain words of a long report. " * 400,
        json.dumps([{"id": i, "v": i * 7} for i in range(500)]),
        "第一章：开始。" * 500,
    ]:
        data = base64.b64encode(text.encode()).decode()
        assert count_media(Media(kind="document", mime="text/plain; charset=utf-8", data=data)) >= counter.count(text)


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda counter: counter.name)
@pytest.mark.parametrize(
    "value",
    [{(1, 2): b"x"}, {"a": {1, 2}}, float("nan"), "\ud800", 10**5000, None],
    ids=["odd keys", "set", "NaN", "surrogate", "long integer", "None"],
)
def test_an_unknown_block_of_any_value_has_a_price(counter: TokenCounter, value: Any) -> None:
    assert count_parts([Opaque(value)], counter) > 4


def test_a_block_that_contains_itself_has_a_price() -> None:
    circle: list[Any] = []
    circle.append(circle)
    deep: Any = None
    for _ in range(100_000):
        deep = [deep]
    assert count_parts([Opaque(circle), Opaque(deep)], EstimatingCounter()) > 4
    while deep is not None:  # taken apart by hand: the interpreter would do it recursively
        deep = deep[0]


SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "number", "boolean"]), "description": TEXTS},
    optional={"enum": st.lists(NAMES, max_size=4)},
)
TOOLS = st.builds(
    lambda name, description, properties: {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": list(properties)[:1]},
        },
    },
    NAMES,
    TEXTS,
    st.dictionaries(NAMES, SCHEMAS, max_size=5),
)


def cookbook_of_tools(tools: list[dict[str, Any]], count: Callable[[str], int]) -> int:
    """Count tool schemas as OpenAI's cookbook does for gpt-4o."""
    total = 12 if tools else 0
    for function in (tool["function"] for tool in tools):
        total += 7 + count(function["name"] + ":" + function["description"].rstrip("."))
        properties = function["parameters"]["properties"]
        total += 3 if properties else 0
        for key, schema in properties.items():
            total += 3 + count(f"{key}:{schema['type']}:{schema['description'].rstrip('.')}")
            if schema.get("enum"):
                total += -3 + sum(3 + count(value) for value in schema["enum"])
    return total


@pytest.mark.parametrize("counter", COUNTERS[:2], ids=lambda counter: counter.name)
@given(tools=st.lists(TOOLS, max_size=4))
@settings(max_examples=60, deadline=None)
def test_tools_cost_no_less_than_by_the_cookbook_or_as_json(counter: TokenCounter, tools: list[dict[str, Any]]) -> None:
    cost = count_tools(tools, counter)
    assert cost >= cookbook_of_tools(tools, counter.count)
    if tools:
        assert cost >= counter.count(json.dumps(tools, ensure_ascii=False))


def test_no_tools_cost_nothing() -> None:
    assert count_tools(None, counter_for()) == 0
    assert count_tools([], counter_for()) == 0


def test_a_tool_that_json_cannot_write_still_has_a_price() -> None:
    assert count_tools([{"name": "f", "default": object(), ("odd",): 1}], counter_for()) > 12
