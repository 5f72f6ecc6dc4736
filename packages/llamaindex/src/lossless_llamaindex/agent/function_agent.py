"""A function agent that stores its steps as they happen, and is shown the active context at each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ToolCallResult
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from llama_index.core.workflow import Context
from pydantic import Field

from lossless_llamaindex.agent.prompts import count_messages, fitted, opening, profile_of, schemas, with_state
from lossless_llamaindex.memory import LosslessMemory

__all__ = ["LosslessFunctionAgent"]

_GIVEN_UP = ("__fields__", "__fields_set__", "model_computed_fields", "model_fields")
"""Attributes that pydantic has given up for objects."""


class LosslessFunctionAgent(FunctionAgent):
    """A ``FunctionAgent`` with the same arguments, events and results, whose memory is its history at every step.

    The stock agent keeps its calls and their results beside the memory until the run ends; this one puts each into the memory
    when it is there, so a crash loses none of them. What the model is shown is the memory's active context, with the system
    prompt and the tools' schemas counted into ``token_limit``. With a memory that is not a ``LosslessMemory``, what it holds is
    brought within that memory's ``token_limit`` for the prompt alone.

    Args:
        token_limit: the most tokens that a prompt may have, the answer not included; None: as the memory says.
    """

    token_limit: int | None = Field(default=None, gt=0)

    def __dir__(self) -> list[str]:
        # A workflow looks at every attribute of an agent that is listed, also at those that pydantic warns of.
        return [name for name in super().__dir__() if name not in _GIVEN_UP]

    async def take_step(
        self, ctx: AgentContext, llm_input: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> AgentOutput:
        """Ask the model with the active context, and store its answer."""
        await self._keep(ctx, memory)
        prompt = await self._prompt(ctx, llm_input, tools, memory)
        output = await super().take_step(ctx, prompt, tools, memory)
        await self._keep(ctx, memory)
        return output

    async def handle_tool_call_results(self, ctx: Context, results: list[ToolCallResult], memory: BaseMemory) -> None:
        """Store what the tools of a step returned: all of it, also where one of them ends the run."""
        await self._keep(ctx, memory)
        kept = [
            ChatMessage(
                role=MessageRole.TOOL,
                blocks=result.tool_output.blocks,
                additional_kwargs={"tool_call_id": result.tool_id},
            )
            for result in results
        ]
        final = next((each for each in results if each.return_direct and each.tool_name != "handoff"), None)
        if final is not None:
            answer = str(final.tool_output.content)
            kept.append(ChatMessage(role=MessageRole.ASSISTANT, content=answer))
        await memory.aput_messages(kept)

    async def finalize(self, ctx: Context, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """End the run: its steps are stored already."""
        await self._keep(ctx, memory)
        return output

    async def _keep(self, ctx: Any, memory: BaseMemory) -> None:
        """Move what the stock agent keeps beside the memory into it."""
        beside = await ctx.store.get(self.scratchpad_key, default=[])
        if beside:
            await memory.aput_messages(beside)
            await ctx.store.set(self.scratchpad_key, [])

    async def _prompt(
        self, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> list[ChatMessage]:
        before = opening(llm_input, self.system_prompt)
        given = llm_input[len(before) :]
        profile, sent = profile_of(self.llm), schemas(tools)
        if isinstance(memory, LosslessMemory):
            overhead = count_messages(before, memory.engine.counter)
            named = memory.profile or profile
            prompt = await memory.aprompt(overhead=overhead, tools=sent, profile=named, token_limit=self.token_limit)
        else:
            prompt = await self._bounded(given, memory, count_messages(before), sent, profile)
        state = await ctx.store.get("state", default=None)
        return [*before, *(with_state(prompt, given) if state else prompt)]

    async def _bounded(
        self, given: list[ChatMessage], memory: BaseMemory, overhead: int, tools: list[dict[str, Any]], profile: str
    ) -> list[ChatMessage]:
        """Give what another memory holds, within its limit; what it adds itself (its blocks) stays in front."""
        limit = self.token_limit or getattr(memory, "token_limit", None)
        everything = await memory.aget_all()
        shown = await memory.aget()
        cut = bool(everything) and (not shown or shown[-1] != everything[-1])
        if not limit or not (cut or count_messages(shown) + overhead > limit):
            return shown or given
        added = [message for message in shown if message.role == MessageRole.SYSTEM and message not in everything]
        beside = overhead + count_messages(added)
        return [*added, *await asyncio.to_thread(fitted, everything, limit, overhead=beside, tools=tools, profile=profile)]
