"""A scripted chat model: it answers as a script says, and remembers what it was shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field

__all__ = ["Overflow", "ScriptedModel", "call", "calling"]

Script = Callable[[list[BaseMessage]], "AIMessage | str"]


class Overflow(Exception):
    """What a provider's client raises for a context that is too long; known by its name and text alone."""


Overflow.__name__ = "BadRequestError"


class ScriptedModel(BaseChatModel):
    """Answers by a script: a function of the messages, or answers one after the other, the last of them again and again."""

    script: Any
    profile: Any = None
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[Any] = Field(default_factory=list)
    model_name: str = "scripted"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        """Remember the tools."""
        self.bound[:] = tools
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages)
        words = str(answer.content).split(" ") if answer.content else [""]
        for number, word in enumerate(words):
            text = word if number == len(words) - 1 else f"{word} "
            chunks = [
                {"name": call["name"], "args": _json(call["args"]), "id": call["id"], "index": n, "type": "tool_call_chunk"}
                for n, call in enumerate(answer.tool_calls if number == 0 else [])
            ]
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=text, tool_call_chunks=chunks))  # type: ignore[arg-type]
            if run_manager:
                run_manager.on_llm_new_token(text, chunk=chunk)
            yield chunk

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        self.seen.append(list(messages))
        if callable(self.script):
            answer = self.script(messages)
        else:
            answer = self.script[min(len(self.seen), len(self.script)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return AIMessage(answer) if isinstance(answer, str) else answer.model_copy(deep=True)


def call(name: str, id: str, **arguments: Any) -> dict[str, Any]:
    """Write a tool call."""
    return {"name": name, "args": arguments, "id": id, "type": "tool_call"}


def calling(*calls: dict[str, Any], text: str = "") -> AIMessage:
    """Answer with tool calls."""
    return AIMessage(text, tool_calls=list(calls))


def _json(value: Any) -> str:
    import json

    return json.dumps(value)
