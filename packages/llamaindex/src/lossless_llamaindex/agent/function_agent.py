"""A function agent that stores its steps as they happen, and is shown the active context at each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import AsyncBaseTool

from lossless_llamaindex.agent.prompts import schemas
from lossless_llamaindex.agent.stepping import StoredSteps

__all__ = ["LosslessFunctionAgent"]


class LosslessFunctionAgent(StoredSteps, FunctionAgent):
    """A ``FunctionAgent`` with the same arguments, events and results, whose memory is its history at every step.

    The stock agent keeps its calls and their results beside the memory until the run ends; this one puts each into the memory
    when it is there, so a crash loses none of them. What the model is shown is the memory's active context, with the system
    prompt and the tools' schemas counted into ``token_limit``. With a memory that is not a ``LosslessMemory``, what it holds is
    brought within that memory's ``token_limit`` for the prompt alone.

    Args:
        token_limit: the most tokens that a prompt may have, the answer not included; None: as the memory says.
    """

    def _kept_at(self) -> str:
        return self.scratchpad_key

    async def _beside(self, ctx: Any, output: AgentOutput | None) -> list[ChatMessage]:
        del output
        beside: list[ChatMessage] = await ctx.store.get(self.scratchpad_key, default=[])
        return beside

    def _sent_beside(
        self, before: list[ChatMessage], tools: Sequence[AsyncBaseTool]
    ) -> tuple[list[ChatMessage], list[dict[str, Any]]]:
        return before, schemas(tools)
