"""The recall tools as LlamaIndex tools."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from llama_index.core.tools import FunctionTool
from llama_index.core.tools.types import ToolMetadata
from llama_index.core.workflow import Context
from pydantic import BaseModel, Field, create_model

from lossless import Engine, Thread
from lossless.tools import RecallTool, recall_tools
from lossless_llamaindex.arguments import engine_of

__all__ = ["lossless_tools"]

_NO_THREAD = (
    "This call belongs to no thread, so there is nothing to look into. "
    "Run the agent with a LosslessMemory, or give lossless_tools a thread."
)
_TYPES: dict[str, Any] = {"string": str, "integer": int, "boolean": bool}


def lossless_tools(
    engine: Engine | str, thread: str | Thread | None = None, *, allow_expand: bool = False, max_tokens: int = 4_000
) -> list[FunctionTool]:
    """Give the recall tools (``lcm_grep``, ``lcm_describe``, ``lcm_expand`` and so on) for an agent or an LLM.

    They answer bad input in words, never by an exception, and work from sync and async calls.

    Args:
        engine: whose threads they look into; or its URL.
        thread: the thread, or its id; None: the session of the memory that the agent runs with.
        allow_expand: whether summaries may be expanded, which can be long: for sub-agents rather than for the agent itself.
        max_tokens: what an answer may have at the most.

    Raises:
        ConfigError: it is no engine.
        StoreOpenError: there is no database at the URL.
    """
    found = engine_of(engine)
    fixed = thread.id if isinstance(thread, Thread) else thread

    def tools_of(thread_id: str) -> list[RecallTool]:
        opened = found.thread(thread_id)
        return recall_tools(opened, counter=found.counter, allow_expand=allow_expand, max_tokens=max_tokens)

    def named(name: str, thread_id: str) -> RecallTool:
        return next(tool for tool in tools_of(thread_id) if tool.name == name)

    return [_tool(tool, fixed, lambda id, name=tool.name: named(name, id)) for tool in tools_of(fixed or "no thread")]


@dataclass
class _Metadata(ToolMetadata):
    """A tool's metadata with the parameters as the core says them."""

    parameters: dict[str, Any] = field(default_factory=dict)

    def get_parameters_dict(self) -> dict[str, Any]:
        return self.parameters


def _tool(tool: RecallTool, fixed: str | None, find: Any) -> FunctionTool:
    """Make one tool; its recall tool is found anew for the thread of each call, since a handle on a thread costs nothing."""
    first = tool.parameters["required"][0] if tool.parameters["required"] else None

    def answer(thread_id: str | None, given: tuple[Any, ...], arguments: dict[str, Any]) -> str:
        if thread_id is None:
            return _NO_THREAD
        wanted: Any = arguments
        if given and isinstance(given[0], str) and first is not None and not given[0].lstrip().startswith("{"):
            wanted = {first: given[0], **arguments}
        elif given:
            wanted = given[0]
        try:
            return str(find(thread_id)(wanted))
        except Exception as error:  # a tool that raises would fail the agent's step
            return f"The answer can't be given: {type(error).__name__}: {error}"

    def run(*given: Any, ctx: Any = None, **arguments: Any) -> str:
        del ctx  # its store is read by awaiting
        return answer(fixed, given, arguments)

    async def arun(*given: Any, ctx: Any = None, **arguments: Any) -> str:
        thread_id = fixed if fixed is not None or ctx is None else await _session(ctx)
        return await asyncio.to_thread(answer, thread_id, given, arguments)

    for function in (run, arun):
        function.__annotations__["ctx"] = Context  # LlamaIndex looks for the class itself, no text
    metadata = _Metadata(description=tool.description, name=tool.name, fn_schema=_schema(tool), parameters=tool.parameters)
    # An agent gives its context; who calls the tool without an agent has none.
    return FunctionTool(fn=run, async_fn=arun, metadata=metadata, partial_params={"ctx": None})


async def _session(ctx: Context) -> str | None:
    """Give the session of the memory that an agent runs with."""
    memory = await ctx.store.get("memory", default=None)
    names = (getattr(memory, name, None) for name in ("session_id", "chat_store_key"))
    return next((name for name in names if isinstance(name, str)), None)


def _schema(tool: RecallTool) -> type[BaseModel]:
    """Give the parameters as a model, for what asks for one."""
    required = tool.parameters["required"]
    fields: dict[str, Any] = {}
    for name, said in tool.parameters["properties"].items():
        kind = _kind(said)
        described = said.get("description")
        fields[name] = (
            (kind, Field(description=described))
            if name in required
            else (kind | None, Field(default=None, description=described))
        )
    return create_model(tool.name, **fields)


def _kind(said: Mapping[str, Any]) -> Any:
    return Literal[tuple(said["enum"])] if "enum" in said else _TYPES.get(said.get("type", ""), str)
