"""What an agent's model is shown at a step: the active context, with what else the prompt has counted in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.llms.llm import LLM
from llama_index.core.tools import AsyncBaseTool
from pydantic import BaseModel

from lossless import Budget, Engine
from lossless.messages import LlamaIndexFormat
from lossless.tokens import TokenCounter, count_parts, count_tools, counter_for
from lossless_llamaindex.codec import FORMAT, decode_message, encode_message

__all__ = ["count_messages", "count_schema", "fitted", "in_words", "opening", "profile_of", "schemas", "with_calls", "with_state"]

_READER = LlamaIndexFormat()
_PROFILES = (
    ("anthropic", "anthropic"),
    ("claude", "anthropic"),
    ("google", "gemini"),
    ("gemini", "gemini"),
    ("vertex", "gemini"),
)


def profile_of(llm: LLM) -> str:
    """Give whose rules an LLM's provider sets for a history: ``anthropic``, ``gemini``, or ``openai`` for all others."""
    said = f"{type(llm).__module__} {type(llm).__name__} {llm.metadata.model_name}".lower()
    return next((profile for word, profile in _PROFILES if word in said), "openai")


def schemas(tools: Sequence[AsyncBaseTool]) -> list[dict[str, Any]]:
    """Give tools as OpenAI has them."""
    return [tool.metadata.to_openai_tool(skip_length_check=True) for tool in tools]


def opening(llm_input: Sequence[ChatMessage], system_prompt: str | None) -> list[ChatMessage]:
    """Give what a workflow put before the history: the agent's system prompt."""
    first = next(iter(llm_input), None)
    is_prompt = first is not None and first.role == MessageRole.SYSTEM and first.content == system_prompt
    return [first] if first is not None and is_prompt and system_prompt else []


def with_state(prompt: list[ChatMessage], given: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Keep what a workflow wrote around the newest message, if a person sent it: its state."""
    if not (given and prompt and prompt[-1].role == given[-1].role == MessageRole.USER):
        return prompt
    return [*prompt[:-1], given[-1]] if _text(prompt[-1]) in _text(given[-1]) else prompt


def _text(message: ChatMessage) -> str:
    return next((block.text for block in reversed(message.blocks) if isinstance(block, TextBlock)), "")


def with_calls(kept: list[ChatMessage], output: AgentOutput | None) -> list[ChatMessage]:
    """Add the calls that a step led to, to the message that made them in words, which is the last one."""
    if output is None or not kept or not output.tool_calls:
        return kept
    last = kept[-1].model_copy()
    last.blocks = [
        *last.blocks,
        *(
            ToolCallBlock(tool_call_id=call.tool_id, tool_name=call.tool_name, tool_kwargs=call.tool_kwargs)
            for call in output.tool_calls
        ),
    ]
    return [*kept[:-1], last]


def in_words(messages: Sequence[ChatMessage], role: MessageRole, result: str, call: str) -> list[ChatMessage]:
    """Give a history for a model that calls tools in words.

    Args:
        messages: the history.
        role: who says what a call returned.
        result: what stands before that.
        call: how a call is written that its message does not say in words, with ``{name}`` and ``{arguments}``.
    """
    told: list[ChatMessage] = []
    for message in messages:
        said = message.content or ""
        calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
        if message.role == MessageRole.TOOL:
            told.append(ChatMessage(role=role, content=result + said))
        elif calls:
            silent = [each for each in calls if each.tool_name not in said]
            spoken = [TextBlock(text=call.format(name=each.tool_name, arguments=each.tool_kwargs)) for each in silent]
            blocks = [block for block in message.blocks if not isinstance(block, ToolCallBlock)]
            told.append(ChatMessage(role=message.role, blocks=[*blocks, *spoken]))
        else:
            told.append(message)
    return told


def count_messages(messages: Sequence[ChatMessage], counter: TokenCounter | None = None) -> int:
    """Count the tokens of messages, on the safe side; calls and reasoning, too."""
    known = counter or counter_for(None)
    return sum(count_parts(_READER.read(encode_message(message)), known) for message in messages)


def count_schema(cls: type[BaseModel], counter: TokenCounter | None = None) -> int:
    """Count the tokens of the schema of what an answer shall be."""
    schema = {"name": cls.__name__, "description": cls.__doc__ or "", "parameters": cls.model_json_schema()}
    return count_tools([{"type": "function", "function": schema}], counter or counter_for(None))


def fitted(
    messages: Sequence[ChatMessage], limit: int, *, overhead: int, tools: Sequence[Mapping[str, Any]], profile: str
) -> list[ChatMessage]:
    """Give messages of a memory that is not ours within a limit (tokens): older ones under summaries, units whole.

    Args:
        messages: all of them.
        limit: the most that they may have together with the rest of the prompt.
        overhead: tokens of the rest, without tools.
        tools: schemas that are sent beside them.
        profile: whose rules they must meet.
    """
    beside = overhead + count_tools(tools, counter_for(None), profile=profile)
    budget = Budget(window=limit, reserve=0, overhead=beside)
    with Engine("sqlite://", budget=budget, background=False, load_plugins=False) as engine:
        thread = engine.thread("prompt")
        thread.append([encode_message(message) for message in messages], format=FORMAT, compact=False)
        thread.compact(by_hand=False)
        return [decode_message(payload) for payload in thread.context(format=FORMAT, profile=profile).messages]
