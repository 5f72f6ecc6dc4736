"""Whatever is stored, what is rendered is valid for its provider, says all that was said, and is touched no more than needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.messages import (
    PROFILES,
    AnthropicFormat,
    Call,
    Format,
    Media,
    OpenAIFormat,
    Profile,
    Result,
    Text,
    Turn,
    find_profile,
    is_valid,
    problems,
    repair,
)

FORMATS: dict[str, Format] = {"openai": OpenAIFormat(), "anthropic": AnthropicFormat()}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IDS = ["a", "b", "call_1", "call_1_2", "no.id at:all", "x" * 70, "x" * 69 + "y", "", "function_call:f"]

ids = st.sampled_from(IDS)
blanks = st.sampled_from(["", " ", "\n\t"])
marks = st.just("said.")
texts = st.one_of(marks, marks, marks, blanks)
images = st.sampled_from([PNG, PNG, "PGh0bWw+PC9odG1sPg==", "no base64!", ""])


def one_of_some(**kinds: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(kinds)


def openai_messages() -> st.SearchStrategy[dict[str, Any]]:
    text = st.builds(lambda t: {"type": "text", "text": t}, texts)
    image = st.builds(lambda d: {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{d}"}}, images)
    content = st.one_of(texts, texts, st.none(), st.lists(st.one_of(text, image, st.just({"type": "odd"})), max_size=3))
    call = st.builds(
        lambda i, n, a: {"id": i, "type": "function", "function": {"name": n, "arguments": a}},
        ids,
        st.sampled_from(["f", "g", ""]),
        st.one_of(marks.map(lambda m: json.dumps({"q": m})), marks, st.just("")),
    )
    custom = st.builds(lambda i, m: {"id": i, "type": "custom", "custom": {"name": "h", "input": m}}, ids, marks)
    assistant = one_of_some(role=st.just("assistant"), content=content)
    called = st.lists(st.one_of(call, custom), max_size=3)
    calling = st.builds(
        lambda m, c, r: m | {"tool_calls": c} | r, assistant, called, st.sampled_from([{}, {"reasoning_content": "hm"}])
    )
    legacy = st.builds(lambda m, a: m | {"function_call": {"name": "f", "arguments": a}}, assistant, marks)
    return st.one_of(
        one_of_some(role=st.sampled_from(["user", "user", "system", "developer"]), content=content),
        assistant,
        calling,
        legacy,
        one_of_some(role=st.just("tool"), tool_call_id=ids, content=content),
        one_of_some(role=st.just("function"), name=st.just("f"), content=texts),
        st.builds(lambda m: {"role": "assistant", "content": None, "refusal": m}, marks),
    )


def anthropic_messages() -> st.SearchStrategy[dict[str, Any]]:
    text = st.builds(lambda t: {"type": "text", "text": t, "cache_control": {"type": "ephemeral"}}, texts)
    image = st.builds(
        lambda d, m: {"type": "image", "source": {"type": "base64", "media_type": m, "data": d}},
        images,
        st.sampled_from(["image/png", "image/jpg"]),
    )
    answer = st.one_of(texts, st.lists(st.one_of(text, image), max_size=2))
    result = st.builds(
        lambda i, c, e: {"type": "tool_result", "tool_use_id": i, "content": c} | e,
        ids,
        answer,
        st.sampled_from([{}, {}, {"is_error": True}]),
    )
    call = st.builds(lambda i, m: {"type": "tool_use", "id": i, "name": "f", "input": {"q": m}}, ids, marks)
    thinking = st.sampled_from(
        [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "redacted_thinking", "data": "eA=="},
        ]
    )
    server = st.just({"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}})
    return st.one_of(
        one_of_some(role=st.just("system"), content=st.one_of(texts, st.lists(text, max_size=2))),
        one_of_some(role=st.just("user"), content=st.one_of(texts, st.lists(st.one_of(text, image, result, call), max_size=4))),
        one_of_some(role=st.just("user"), content=st.lists(result, max_size=3)),
        one_of_some(
            role=st.just("assistant"),
            content=st.one_of(texts, st.lists(st.one_of(text, call, call, thinking, server, result), max_size=4)),
        ),
    )


def as_turns(payloads: list[dict[str, Any]], name: str, shown_as: str) -> list[Turn]:
    form = FORMATS[name]
    return [
        Turn(form.role(payload), form.read(payload), f"m_{n}", payload if name == shown_as else None)
        for n, payload in enumerate(payloads, 1)
    ]


def told_apart(payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Number everything that is said, so that each can be told from the others."""
    numbers = count()
    told: list[dict[str, Any]] = json.loads(re.sub(r"said\.", lambda _: f"said{next(numbers)}.", json.dumps(payloads)))
    return told


@st.composite
def soups(draw: st.DrawFn) -> tuple[list[Turn], str, Profile]:
    """Draw turns in any order, the format to show them in, and a profile."""
    stored, shown = draw(st.sampled_from(list(FORMATS))), draw(st.sampled_from(list(FORMATS)))
    payloads = draw(st.lists(openai_messages() if stored == "openai" else anthropic_messages(), max_size=9))
    turns = as_turns(told_apart(payloads), stored, shown)
    for place in draw(st.lists(st.integers(0, len(turns)), max_size=1)):
        turns.insert(place, Turn("user", (Text("summary0"),), "sum_1"))
    return turns, shown, find_profile(draw(st.sampled_from(list(PROFILES))))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def shown_text(turns: tuple[Turn, ...] | list[Turn], form: Format, profile: Profile) -> str:
    rendered = form.render(turns, profile)
    return "\n".join(strings([rendered.messages, rendered.system]))


def answers(turns: list[Turn]) -> dict[str, str]:
    """Say which result answers which call, by the marks in both: the newest call with the id, the first result."""
    found: dict[str, str] = {}
    waiting: dict[str, list[tuple[int, str]]] = {}
    for number, turn in enumerate(turns):
        for part in turn.parts:
            if isinstance(part, Call) and turn.role == "assistant":
                others = [each for each in waiting.get(part.id, []) if each[0] == number]
                waiting[part.id] = [*others, (number, part.arguments)]
            elif isinstance(part, Result) and waiting.get(part.call_id):
                found[waiting[part.call_id].pop(0)[1]] = part.text
    return found


def stored_results(call_id: str) -> Result | None:
    """Find a stored result for some of the calls; not all that is found can be shown as it is."""
    found = {"a": (Text("stored"),), "b": (), "call_1": (Text(" "), Media("image", "image/png", "AAAA"))}
    return Result(call_id, found[call_id]) if call_id in found else None


@settings(max_examples=60, deadline=None)
@given(soups())
def test_whatever_was_stored_is_rendered_as_the_provider_takes_it(soup: tuple[list[Turn], str, Profile]) -> None:
    turns, shown, profile = soup
    repaired = repair(turns, profile, stored_results)
    rendered = FORMATS[shown].render(repaired.turns, profile)
    assert problems(rendered.messages, profile, rendered.system) == []


@settings(max_examples=75, deadline=None)
@given(soups())
def test_repairing_again_changes_nothing(soup: tuple[list[Turn], str, Profile]) -> None:
    turns, _, profile = soup
    once = repair(turns, profile)
    again = repair(once.turns, profile)
    assert is_valid(once.turns, profile)
    assert again.repairs == ()
    assert all(a is b for a, b in zip(once.turns, again.turns, strict=True))


@settings(max_examples=75, deadline=None)
@given(soups())
def test_a_history_is_changed_exactly_if_a_repair_is_reported(soup: tuple[list[Turn], str, Profile]) -> None:
    turns, _, profile = soup
    repaired = repair(turns, profile)
    untouched = len(turns) == len(repaired.turns) and all(a is b for a, b in zip(turns, repaired.turns, strict=True))
    assert untouched is (repaired.repairs == ())
    assert untouched is is_valid(turns, profile)


@settings(max_examples=75, deadline=None)
@given(soups())
def test_every_text_and_every_answered_result_is_still_there(soup: tuple[list[Turn], str, Profile]) -> None:
    turns, shown, profile = soup
    text = shown_text(repair(turns, profile).turns, FORMATS[shown], profile)
    for turn in turns:
        for part in turn.parts:
            if isinstance(part, Text) and part.text.strip():
                assert part.text in text
    for arguments, answer in answers(turns).items():
        assert all(line in text for line in answer.split("\n") if line.strip())
        assert arguments.strip('{}" ').removeprefix('q": "') in text


@settings(max_examples=75, deadline=None)
@given(soups())
def test_each_call_is_shown_with_its_own_result(soup: tuple[list[Turn], str, Profile]) -> None:
    turns, _, profile = soup
    expected = answers(turns)
    shown = answers(list(repair(turns, profile).turns))
    marked = {arguments: text for arguments, text in expected.items() if "said" in arguments and text.strip()}
    for arguments, text in marked.items():
        lines = [line for line in text.split("\n") if line.strip()]
        assert [line for line in shown[arguments].split("\n") if line in lines] == lines


@settings(max_examples=75, deadline=None)
@given(soups())
def test_what_is_rendered_is_fresh(soup: tuple[list[Turn], str, Profile]) -> None:
    turns, shown, profile = soup
    form = FORMATS[shown]
    repaired = repair(turns, profile).turns
    first = form.render(repaired, profile)
    before = json.dumps([first.messages, first.system])
    spoil([first.messages, first.system])
    second = form.render(repaired, profile)
    assert json.dumps([second.messages, second.system]) == before


def spoil(value: Any) -> None:
    if isinstance(value, dict):
        for inner in value.values():
            spoil(inner)
        value.clear()
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.clear()
