"""The recall tools: a model finds and reads everything, within a cap, and bad input is answered in words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lossless
from lossless.tools import RecallTool, recall_tools

Tools = dict[str, RecallTool]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[lossless.Engine]:
    with lossless.Engine(f"sqlite:///{tmp_path}/a.db", window=4_000, background=False) as engine:
        thread = engine.thread("t")
        engine.thread("v").append({"role": "user", "content": "x" + " word" * 9_000, "id": "long"})
        thread.append([{"role": "user", "content": f"note {n}: the order ORD-{n:03} costs {n} EUR. " * 6} for n in range(200)])
        yield engine


def tools_of(engine: lossless.Engine, name: str = "t", **options: Any) -> Tools:
    return {tool.name: tool for tool in recall_tools(engine.thread(name), counter=engine.counter, **options)}


def test_a_model_finds_a_fact_that_is_no_longer_shown_and_reads_it_word_for_word(engine: lossless.Engine) -> None:
    tools = tools_of(engine)
    found = tools["lcm_grep"]({"pattern": "ORD-007"})
    id = re.findall(r"m_\d+", found)[0]
    assert "under sum_" in found
    assert "the order ORD-007 costs 7 EUR." in tools["lcm_expand"](json.dumps({"id": id}))
    assert "role: user" in tools["lcm_describe"](id=id)


def test_the_root_agent_is_refused_a_summary_in_words_and_a_sub_agent_is_not(engine: lossless.Engine) -> None:
    summary = next(item.id for item in engine.thread("t").context().items if item.kind == "summary")
    refused = tools_of(engine)["lcm_expand"](id=summary)
    assert "Search them with lcm_grep" in refused
    assert "note 0:" not in refused
    assert "note 0:" in tools_of(engine, allow_expand=True)["lcm_expand"](id=summary)


def test_pages_of_a_summary_have_neither_gaps_nor_overlaps_and_keep_the_cap(engine: lossless.Engine) -> None:
    tools = tools_of(engine, allow_expand=True, max_tokens=700)
    thread = engine.thread("t")
    summary = next(item.id for item in thread.context().items if item.kind == "summary")
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = tools["lcm_expand"](id=summary, offset=offset)
        assert engine.counter.count(page) <= 700
        seen += re.findall(r"^\[(\S+) ·", page, re.MULTILINE)
        more = re.search(r"offset=(\d+)\)", page)
        offset = int(more.group(1)) if more else None
    assert seen == [message.id for message in thread.expand(summary)]


def test_a_message_longer_than_the_cap_goes_on_within_itself(engine: lossless.Engine) -> None:
    tools = tools_of(engine, "v", max_tokens=1_000)
    whole, place = "", 0
    for _ in range(100):
        page = tools["lcm_expand"](id="long", from_character=place)
        assert engine.counter.count(page) <= 1_000
        head, _, rest = page.partition("\n")
        assert head.startswith("[long ·")
        body, _, more = rest.rpartition("\nThere is more: ")
        whole += body if more.startswith("lcm_expand") else rest
        found = re.search(r"from_character=(\d+)", more)
        if found is None:
            break
        place = int(found.group(1))
    assert whole == "x" + " word" * 9_000


@pytest.mark.parametrize(
    "arguments",
    [
        "{",
        "[]",
        "",
        '{"id": 5}',
        '{"id": "nobody"}',
        r'{"id": "\ud83d"}',
        '{"id": "m_1", "offset": -1}',
        '{"id": "m_1", "what": 1}',
        "[" * 100_000,
    ],
)
def test_bad_input_is_answered_in_words(engine: lossless.Engine, arguments: str) -> None:
    answer = tools_of(engine)["lcm_expand"](arguments)
    assert answer
    assert "Traceback" not in answer


@settings(max_examples=60, deadline=None)
@given(
    pattern=st.text(max_size=30),
    mode=st.sampled_from(["exact", "words", "regex", "other"]),
    cursor=st.none() | st.text(max_size=9),
)
def test_no_call_ever_raises(pattern: str, mode: str, cursor: str | None) -> None:
    with lossless.Engine("sqlite://", window=1_000) as engine:
        engine.thread("t").append({"role": "user", "content": "数据库 and a path/to/file.py"})
        for tool in recall_tools(engine.thread("t"), counter=engine.counter):
            assert isinstance(tool({"pattern": pattern, "mode": mode, "cursor": cursor}), str)
            assert isinstance(tool({"id": pattern}), str)


def test_specifications_are_what_providers_take(engine: lossless.Engine) -> None:
    for tool in tools_of(engine).values():
        assert tool.openai()["function"]["parameters"]["required"] == [next(iter(tool.parameters["properties"]))]
        assert tool.anthropic()["input_schema"]["type"] == "object"
        assert json.loads(json.dumps(tool.openai())) == tool.openai()


def test_what_a_recall_tool_answered_is_not_a_source_again(engine: lossless.Engine) -> None:
    thread = engine.thread("u")
    answer = tools_of(engine)["lcm_grep"](pattern="ORD-007")
    call = {"id": "c1", "type": "function", "function": {"name": "lcm_grep", "arguments": '{"pattern": "ORD-007"}'}}
    thread.append(
        [
            {"role": "user", "content": "What did it cost?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": answer},
        ]
    )
    from lossless.policies import extract

    assert not any("ORD-007" in item.text for item in extract(thread.messages()))
