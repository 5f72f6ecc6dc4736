"""The recall tools as LangChain tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from lossless import Engine, Thread
from lossless.tools import RecallTool, recall_tools
from lossless_langchain.running import thread_of

__all__ = ["lossless_tools", "tools_where"]

_NO_THREAD = (
    "This run belongs to no thread, so there is nothing to look into. Its config needs a thread id: "
    '{"configurable": {"thread_id": "…"}}.'
)


def lossless_tools(
    engine: Engine, thread: str | Thread | None = None, *, allow_expand: bool = False, max_tokens: int = 4_000
) -> list[BaseTool]:
    """Give the recall tools (``lcm_grep``, ``lcm_describe``, ``lcm_expand`` and so on) for an agent or a chat model.

    They answer bad input in words, never by an exception, and work from sync and async calls.

    Args:
        engine: whose threads they look into.
        thread: the thread, or its id; None: the one that the run's config names (``thread_id`` or ``session_id``).
        allow_expand: whether summaries may be expanded, which can be long: for sub-agents rather than for the agent itself.
        max_tokens: what an answer may have at the most.
    """
    return tools_where(engine, thread, lambda _config: allow_expand, max_tokens=max_tokens)


def tools_where(
    engine: Engine,
    thread: str | Thread | None,
    may_expand: Callable[[RunnableConfig], bool],
    *,
    max_tokens: int,
    note: str = "",
) -> list[BaseTool]:
    """Give the recall tools, where it depends on the call whether summaries may be expanded.

    Args:
        engine: whose threads they look into.
        thread: the thread, or its id; None: the one that the run's config names.
        may_expand: tells of a call's config whether summaries may be expanded in it.
        max_tokens: what an answer may have at the most.
        note: what the description of ``lcm_expand`` says of it.
    """
    fixed = thread.id if isinstance(thread, Thread) else thread

    def tools_of(thread_id: str, config: RunnableConfig) -> list[RecallTool]:
        opened = engine.thread(thread_id)
        return recall_tools(opened, counter=engine.counter, allow_expand=may_expand(config), max_tokens=max_tokens)

    return [
        _Tool(
            name=tool.name,
            description=f"{tool.description} {note}".rstrip() if tool.name == "lcm_expand" else tool.description,
            args_schema=tool.parameters,
            find=tools_of,
            thread=fixed,
        )
        for tool in tools_of(fixed or "no thread", {})
    ]


class _Tool(BaseTool):
    """One recall tool, made anew for the thread of each call: a handle on a thread costs nothing."""

    find: Any
    thread: str | None

    def _to_args_and_kwargs(self, tool_input: Any, tool_call_id: str | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # Arguments are checked where the answer to bad ones is in words.
        del tool_call_id
        return (tool_input,), {}

    def _run(self, arguments: Any, config: RunnableConfig) -> str:
        thread_id = self.thread or thread_of(config)
        if thread_id is None:
            return _NO_THREAD
        tool = next(tool for tool in self.find(thread_id, config) if tool.name == self.name)
        if isinstance(arguments, str) and not arguments.lstrip().startswith("{"):
            arguments = {tool.parameters["required"][0]: arguments}
        try:
            return str(tool(arguments))
        except Exception as error:  # a tool that raises would end the agent's run
            return f"The answer can't be given: {type(error).__name__}: {error}"

    async def _arun(self, arguments: Any, config: RunnableConfig) -> str:
        return await asyncio.to_thread(self._run, arguments, config)
