"""An agent that writes code, stores its steps as they happen, and is shown the active context at each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, CodeActAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.prompts import BasePromptTemplate
from llama_index.core.tools import AsyncBaseTool

from lossless.errors import ConfigError
from lossless_llamaindex.agent.prompts import in_words, schemas, with_calls
from lossless_llamaindex.agent.stepping import StoredSteps
from lossless_llamaindex.arguments import whole

__all__ = ["LosslessCodeActAgent"]

_ADDED = ("execute", "handoff")
"""Tools that the prompt does not describe."""


class LosslessCodeActAgent(StoredSteps, CodeActAgent):  # type: ignore[misc]  # names its tools less narrowly
    """A ``CodeActAgent`` with the same arguments, events and results, whose memory is its history at every step.

    Each answer is put into the memory with the call that runs its code, what the code printed as that call's result, when they
    are there; the model is shown them in words, as ``CodeActAgent`` does it. The rest is as with ``LosslessFunctionAgent``.

    Args:
        token_limit: the most tokens that a prompt may have, the answer not included; None: as the memory says.
        args, given: what ``CodeActAgent`` takes.

    Raises:
        ConfigError: the limit is no positive number.
    """

    def __init__(self, *args: Any, token_limit: int | None = None, **given: Any) -> None:
        super().__init__(*args, **given)
        if token_limit is not None and whole(token_limit, "token_limit") <= 0:
            raise ConfigError(f"a prompt can't have {token_limit} tokens", hint="give token_limit= a positive number")
        self.token_limit = token_limit

    def _kept_at(self) -> str:
        return self.scratchpad_key

    async def _beside(self, ctx: Any, output: AgentOutput | None) -> list[ChatMessage]:
        beside: list[ChatMessage] = await ctx.store.get(self.scratchpad_key, default=[])
        return with_calls(beside, output)

    def _sent_beside(
        self, before: list[ChatMessage], tools: Sequence[AsyncBaseTool]
    ) -> tuple[list[ChatMessage], list[dict[str, Any]]]:
        del before
        described = "\n\n".join(
            f'def {tool.metadata.name}:\n  """\n{tool.metadata.description}\n  """\n\n  ...\n'
            for tool in tools
            if tool.metadata.name not in _ADDED
        )
        prompt = self.code_act_system_prompt
        text = prompt.format(tool_descriptions=described) if isinstance(prompt, BasePromptTemplate) else f"{prompt}{described}"
        handing_over = [tool for tool in tools if tool.metadata.name == "handoff"]
        return [ChatMessage(role=MessageRole.SYSTEM, content=text)], schemas(handing_over)

    def _in_front(self, before: list[ChatMessage]) -> list[ChatMessage]:
        # The stock agent writes its prompt over the first system message that it finds: it shall be none of the history.
        return before or [ChatMessage(role=MessageRole.SYSTEM, content="")]

    def _told(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        return in_words(messages, MessageRole.USER, "Result of executing the code given:\n\n", "{name}({arguments})")
