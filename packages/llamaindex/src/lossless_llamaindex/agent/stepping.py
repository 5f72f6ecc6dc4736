"""Storing the steps of an agent as they happen, and showing it the active context at each: what all our agents share."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from llama_index.core.workflow import Context
from pydantic import Field

from lossless import ActiveContext
from lossless.errors import LosslessError
from lossless_llamaindex.agent.prompts import count_messages, count_schema, fitted, opening, profile_of, with_state
from lossless_llamaindex.codec import decode_message
from lossless_llamaindex.memory import LosslessMemory
from lossless_llamaindex.usage import usage_of

__all__ = ["StoredSteps"]

_log = logging.getLogger("lossless")

_GIVEN_UP = ("__fields__", "__fields_set__", "model_computed_fields", "model_fields")
"""Attributes that pydantic has given up for objects."""
_LAST_WORDS = 100
"""Tokens of the prompt that LlamaIndex asks for an answer with when a run has taken all its steps; it has about 60."""
_RETRY = "lossless_retry"
"""Where a context keeps what an agent asks its model again with, until it has."""


class StoredSteps(BaseWorkflowAgent):
    """What comes before a stock agent among the bases of ours; that agent's own methods ask the model and read its answer."""

    token_limit: int | None = Field(default=None, gt=0)

    def __dir__(self) -> list[str]:
        # A workflow looks at every attribute of an agent that is listed, also at those that pydantic warns of.
        return [name for name in super().__dir__() if name not in _GIVEN_UP]

    async def take_step(
        self, ctx: AgentContext, llm_input: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> AgentOutput:
        """Ask the model with the active context, and store its answer."""
        await self._keep(ctx, memory)
        asked_again = await ctx.store.get(_RETRY, default=[])
        prompt, context = await self._prompt(ctx, llm_input, tools, memory, asked_again)
        output = await super().take_step(ctx, prompt, tools, memory)  # type: ignore[safe-super]
        if asked_again or output.retry_messages:
            await ctx.store.set(_RETRY, output.retry_messages)
        await self._keep(ctx, memory, output)
        if context is not None and isinstance(memory, LosslessMemory):
            await _report(memory, context, output)
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
        final = next((each for each in results if _ends(each)), None)
        if final is not None:
            answer = str(final.tool_output.content)
            kept.append(ChatMessage(role=MessageRole.ASSISTANT, content=answer))
        await memory.aput_messages(kept)

    async def finalize(self, ctx: Context, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """End the run: its steps are stored already."""
        await self._keep(ctx, memory)
        return output

    async def _keep(self, ctx: Any, memory: BaseMemory, output: AgentOutput | None = None) -> None:
        """Move what the stock agent keeps beside the memory into it; where that fails, it stays and is moved later."""
        beside = await self._beside(ctx, output)
        if beside:
            await memory.aput_messages(beside)
            await ctx.store.set(self._kept_at(), [])

    @abstractmethod
    def _kept_at(self) -> str:
        """Give the key of a context where the stock agent keeps something beside the memory."""

    @abstractmethod
    async def _beside(self, ctx: Any, output: AgentOutput | None) -> list[ChatMessage]:
        """Give what the stock agent keeps beside the memory, as messages; ``output``: of the step that was taken just now."""

    @abstractmethod
    def _sent_beside(
        self, before: list[ChatMessage], tools: Sequence[AsyncBaseTool]
    ) -> tuple[list[ChatMessage], list[dict[str, Any]]]:
        """Give what is sent with the history: messages before it, and tools' schemas as OpenAI has them."""

    def _in_front(self, before: list[ChatMessage]) -> list[ChatMessage]:
        """Give what stands before the history, of what a workflow put there."""
        return before

    def _told(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        """Give a history as the agent's model is used to it."""
        return messages

    async def _prompt(
        self,
        ctx: Any,
        llm_input: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
        asked_again: list[ChatMessage],
    ) -> tuple[list[ChatMessage], ActiveContext | None]:
        """Give the prompt of a step, and of a memory of ours, the context that is in it."""
        before = opening(llm_input, self.system_prompt)
        given = llm_input[len(before) : len(llm_input) - len(asked_again)]
        beside, sent = self._sent_beside(before, tools)
        stateful = bool(await ctx.store.get("state", default=None))
        profile, later = profile_of(self.llm), await self._asked_later(ctx)
        shown, context, state = [], None, 0
        for _again in range(2 if stateful else 1):
            if isinstance(memory, LosslessMemory):
                overhead = count_messages([*beside, *asked_again], memory.engine.counter) + later + state
                named = memory.profile or profile
                context = await memory.afitting(overhead=overhead, tools=sent, profile=named, token_limit=self.token_limit)
                shown = [decode_message(payload, restore=True) for payload in context.messages]
            else:
                overhead = count_messages([*beside, *asked_again]) + state
                shown = await self._bounded(given, memory, overhead, sent, profile)
            if not stateful:
                break
            bare, shown = shown, with_state(shown, given)
            state = count_messages(shown[-1:]) - count_messages(bare[-1:])
            if state <= 0:
                break
        return [*self._in_front(before), *self._told(shown), *asked_again], context

    async def _asked_later(self, ctx: Any) -> int:
        """Count what a run may be asked at its end, with the same history: for words instead of calls, for an object."""
        stops = await ctx.store.get("early_stopping_method", default=None) == "generate"
        return (_LAST_WORDS if stops else 0) + (count_schema(self.output_cls) if self.output_cls is not None else 0)

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


async def _report(memory: LosslessMemory, context: ActiveContext, output: AgentOutput) -> None:
    """Tell the engine what the provider charged for a prompt, where its response says so."""
    usage = usage_of(output.raw)
    if usage is None or usage.input_tokens <= 0:
        return
    try:
        await memory.thread().areport_usage(usage.input_tokens, context)
    except LosslessError as error:  # the answer is there, and stored
        _log.warning("usage not reported thread=%s why=%s", memory.session_id, error)


def _ends(result: ToolCallResult) -> bool:
    """Tell whether a result ends the run; a handing over and an error don't."""
    return result.return_direct and result.tool_name != "handoff" and not result.tool_output.is_error
