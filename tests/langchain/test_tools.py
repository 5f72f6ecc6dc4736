"""The recall tools, as LangChain tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from lossless import Engine
from lossless_langchain import lossless_tools


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("sqlite://", window=4_000) as engine:
        engine.thread("t").append([{"role": "user", "content": f"Invoice {n} is over {n} EUR. " + "x " * 40} for n in range(80)])
        engine.thread("t").compact()
        engine.thread("u").append({"role": "user", "content": "Another conversation."})
        yield engine


CONFIG: Any = {"configurable": {"thread_id": "t"}}


def test_the_tools_look_into_the_thread_that_the_config_names(engine: Engine) -> None:
    tools = {tool.name: tool for tool in lossless_tools(engine)}
    assert set(tools) >= {"lcm_grep", "lcm_describe", "lcm_expand"}
    found = tools["lcm_grep"].invoke({"pattern": "Invoice 7 "}, CONFIG)
    assert "Invoice 7 is over" in found
    assert "Nothing found" in tools["lcm_grep"].invoke({"pattern": "Invoice"}, {"configurable": {"session_id": "u"}})
    assert "Invoice 7" in asyncio.run(tools["lcm_grep"].ainvoke({"pattern": "Invoice 7 "}, CONFIG))
    assert "belongs to no thread" in tools["lcm_grep"].invoke({"pattern": "x"})


def test_a_thread_may_be_given(engine: Engine) -> None:
    for thread in ("u", engine.thread("u")):
        grep = lossless_tools(engine, thread)[0]
        assert "Another conversation" in grep.invoke("conversation")


def test_a_summary_is_expanded_only_where_that_is_allowed(engine: Engine) -> None:
    summary = next(item.id for item in engine.thread("t").context().items if item.kind == "summary")
    refusing = {tool.name: tool for tool in lossless_tools(engine, "t")}["lcm_expand"]
    allowed = {tool.name: tool for tool in lossless_tools(engine, "t", allow_expand=True)}["lcm_expand"]
    assert "too many" in refusing.invoke(summary)
    assert "Invoice 0 is over 0 EUR" in allowed.invoke({"id": summary})


@pytest.mark.parametrize(
    "arguments", [{}, {"patern": "x"}, {"pattern": 7}, {"pattern": None}, "", {"pattern": "(", "mode": "regex"}]
)
def test_bad_input_is_answered_in_words(engine: Engine, arguments: Any) -> None:
    for tool in lossless_tools(engine, "t"):
        assert isinstance(tool.invoke(arguments), str)
    answer = lossless_tools(engine, "t")[0].invoke({"name": "lcm_grep", "args": {}, "id": "c1", "type": "tool_call"})
    assert isinstance(answer, ToolMessage)
    assert "missing" in answer.text


def test_a_provider_is_sent_the_schema(engine: Engine) -> None:
    schema = convert_to_openai_tool(lossless_tools(engine)[0])["function"]
    assert schema["parameters"]["required"] == ["pattern"]
    assert next(iter(schema["parameters"]["properties"])) == "pattern"
