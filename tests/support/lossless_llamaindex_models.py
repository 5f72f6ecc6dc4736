"""A scripted LLM for LlamaIndex: it answers as a script says, and remembers what it was shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MessageRole,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from pydantic import Field

__all__ = ["ScriptedLLM", "answer", "call"]

Script = Callable[[list[ChatMessage]], ChatMessage]


def answer(text: str) -> ChatMessage:
    """Give an answer in words."""
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


def call(name: str, id: str, **arguments: Any) -> ChatMessage:
    """Give an answer that calls a tool."""
    block = ToolCallBlock(tool_call_id=id, tool_name=name, tool_kwargs=arguments)
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=[block])


class ScriptedLLM(FunctionCallingLLM):
    """Answers by a script: a function of the messages, or answers one after the other, the last of them again and again."""

    script: Any
    window: int = 100_000
    name: str = "scripted"
    seen: list[list[ChatMessage]] = Field(default_factory=list)
    schemas: list[list[dict[str, Any]]] = Field(default_factory=list)
    usage: dict[str, Any] = Field(default_factory=lambda: {"prompt_tokens": 10, "completion_tokens": 2})

    @classmethod
    def class_name(cls) -> str:
        """Give the name of the class."""
        return "ScriptedLLM"

    @property
    def metadata(self) -> LLMMetadata:
        """Say that it calls functions."""
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True, model_name=self.name, context_window=self.window)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Answer."""
        self.seen.append([message.model_copy(deep=True) for message in messages])
        self.schemas.append([tool.metadata.to_openai_tool() for tool in kwargs.get("tools") or ()])
        if callable(self.script):
            said = self.script(list(messages))
        else:
            said = self.script[min(len(self.seen), len(self.script)) - 1]
        return ChatResponse(message=said.model_copy(deep=True), raw={"usage": self.usage})

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Answer."""
        await asyncio.sleep(0)
        return self.chat(messages, **kwargs)

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> AsyncGenerator[ChatResponse, None]:
        """Answer in one piece."""
        response = await self.achat(messages, **kwargs)
        response.delta = response.message.content or ""

        async def stream() -> AsyncGenerator[ChatResponse, None]:
            yield response

        return stream()

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        """Answer in one piece."""
        response = self.chat(messages, **kwargs)
        response.delta = response.message.content or ""
        yield response

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Answer a prompt."""
        said = self.chat([ChatMessage(content=prompt)])
        return CompletionResponse(text=said.message.content or "")

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Answer a prompt."""
        return self.complete(prompt)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Answer in one piece."""
        yield self.complete(prompt)

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Answer in one piece."""
        raise NotImplementedError

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[Any],
        user_msg: Any = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return {"messages": list(chat_history or ()), "tools": list(tools)}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        """Give the calls of an answer."""
        return [
            ToolSelection(tool_id=block.tool_call_id or "", tool_name=block.tool_name, tool_kwargs=dict(block.tool_kwargs))  # type: ignore[arg-type]
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]
