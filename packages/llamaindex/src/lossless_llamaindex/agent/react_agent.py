"""A reasoning agent that stores its steps as they happen, and is shown the active context at each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.react.types import BaseReasoningStep, ObservationReasoningStep
from llama_index.core.agent.workflow import AgentOutput, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from llama_index.core.workflow import Context

from lossless_llamaindex.agent.prompts import in_words, with_calls
from lossless_llamaindex.agent.stepping import StoredSteps

__all__ = ["LosslessReActAgent"]

_ANSWER = "Answer:"


class LosslessReActAgent(StoredSteps, ReActAgent):
    """A ``ReActAgent`` with the same arguments, events and results, whose memory is its history at every step.

    Each thought is put into the memory with the call that it leads to, each observation as that call's result, when they are
    there; the model is shown them in words, as ``ReActAgent`` does it. An answer that can't be read is not stored: the model is
    asked again with it, once. The rest is as with ``LosslessFunctionAgent``.

    Args:
        token_limit: the most tokens that a prompt may have, the answer not included; None: as the memory says.
    """

    async def finalize(self, ctx: Context, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """End the run: its steps are stored already; the thought before the answer is not part of the result."""
        done = await super().finalize(ctx, output, memory)
        text = next((block for block in done.response.blocks if isinstance(block, TextBlock)), None)
        if text is not None and not done.tool_calls and _ANSWER in text.text:
            text.text = text.text.partition(_ANSWER)[2].strip()
        return done

    def _kept_at(self) -> str:
        return self.reasoning_key

    async def _beside(self, ctx: Any, output: AgentOutput | None) -> list[ChatMessage]:
        steps: list[BaseReasoningStep] = await ctx.store.get(self.reasoning_key, default=[])
        kept = [ChatMessage(role=self._role(step), content=step.get_content()) for step in steps]
        return with_calls(kept, output)

    def _sent_beside(
        self, before: list[ChatMessage], tools: Sequence[AsyncBaseTool]
    ) -> tuple[list[ChatMessage], list[dict[str, Any]]]:
        del before
        return self.formatter.format(tools, chat_history=[]), []

    def _told(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        return in_words(messages, self.formatter.observation_role, "Observation: ", "Action: {name}\nAction Input: {arguments}")

    def _role(self, step: BaseReasoningStep) -> MessageRole:
        seen = isinstance(step, ObservationReasoningStep)
        return self.formatter.observation_role if seen else MessageRole.ASSISTANT
