"""The recall tools for graphs: sub-agents read what is under a summary, the agent at the root asks one of them to."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from lossless import Engine, Thread
from lossless_langchain.running import nested_under
from lossless_langchain.tools import tools_where

__all__ = ["lossless_tools"]

_NOTE = "A sub-agent may also read all messages under a summary."


def lossless_tools(
    engine: Engine, thread: str | Thread | None = None, *, allow_expand: bool | None = None, max_tokens: int = 4_000
) -> list[BaseTool]:
    """Give the recall tools (``lcm_grep``, ``lcm_describe``, ``lcm_expand`` and so on) for a ``ToolNode`` or an agent.

    They answer bad input in words, never by an exception, and work in sync and async graphs.

    Args:
        engine: whose threads they look into.
        thread: the thread, or its id; None: the one that the run's config names.
        allow_expand: whether summaries may be expanded, which can be long. None: only in graphs that run within another graph or
            its tools, as sub-agents do; at the root the answer is a refusal in words.
        max_tokens: what an answer may have at the most.
    """

    def may_expand(config: RunnableConfig) -> bool:
        return bool(nested_under(config)) if allow_expand is None else allow_expand

    return tools_where(engine, thread, may_expand, max_tokens=max_tokens, note=_NOTE if allow_expand is None else "")
