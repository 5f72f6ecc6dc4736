"""A memory's language model and prompt as a summarizer."""

from __future__ import annotations

from typing import Any

from langchain_classic.memory.prompt import SUMMARY_PROMPT
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from lossless import policies
from lossless.errors import ConfigError
from lossless.policies.model import SummarizeRequest
from lossless_langchain.models import chat_model_of
from lossless_langchain.summarizer import ChatModelSummarizer, as_summarizer

__all__ = ["checked_prompt", "new_summary", "summarizer_for"]

_VARIABLES = {"summary", "new_lines"}
_TARGET = 500
"""Tokens of a summary that is asked for without a limit."""


def checked_prompt(prompt: Any) -> None:
    """Refuse a prompt that summaries can't be written with.

    Raises:
        ConfigError: it has other variables than ``summary`` and ``new_lines``.
    """
    found = set(getattr(prompt, "input_variables", None) or ())
    if prompt is not None and found != _VARIABLES:
        raise ConfigError(
            f"the prompt for summaries has the variables {', '.join(sorted(found)) or 'none'}",
            hint="it must have exactly summary and new_lines",
        )


def summarizer_for(llm: Any, prompt: Any) -> Any:
    """Make a summarizer of a model and a prompt; None without a model. What is no model is taken as the middleware takes it."""
    if llm is None or isinstance(llm, ChatModelSummarizer):
        return llm
    if not isinstance(llm, Runnable):
        return as_summarizer(llm)
    if prompt is None and chat_model_of(llm) is not None:
        return ChatModelSummarizer(llm)
    return _PromptSummarizer(llm, prompt or SUMMARY_PROMPT)


def new_summary(llm: Any, prompt: Any, new_lines: str, existing: str) -> str:
    """Write a summary of text that continues an existing one."""
    if isinstance(llm, Runnable):
        chain: Runnable[Any, Any] = (prompt or SUMMARY_PROMPT) | llm
        return _text(chain.invoke(_values(existing, new_lines)))
    return policies.get("source_first").write(_said(existing, new_lines), _TARGET).text


class _PromptSummarizer:
    """Asks a language model with the user's prompt."""

    def __init__(self, llm: Runnable[Any, Any], prompt: Runnable[Any, Any]) -> None:
        self._chain = prompt | llm
        self.route = f"langchain:{llm.get_name()}"

    async def __call__(self, request: SummarizeRequest) -> str:
        """Write a summary of what the request holds."""
        return _text(await self._chain.ainvoke(_values(request.previous, request.text)))


def _values(existing: str, new_lines: str) -> dict[str, str]:
    return {"summary": existing, "new_lines": new_lines}


def _text(answer: Any) -> str:
    return str(answer.text) if isinstance(answer, BaseMessage) else str(answer)


def _said(*texts: str) -> list[Any]:
    return [{"role": "user", "content": text} for text in texts if text]
