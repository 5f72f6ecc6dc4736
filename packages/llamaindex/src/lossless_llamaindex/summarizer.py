"""Summaries written by LlamaIndex's LLMs."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms.llm import LLM

from lossless.errors import ConfigError
from lossless.policies.model import Answer, SummarizeRequest
from lossless_llamaindex.usage import usage_of

__all__ = ["LLMSummarizer"]

_log = logging.getLogger("lossless")


class LLMSummarizer:
    """Writes summaries with an LLM: ``Engine(…, summarizer=LLMSummarizer(llm))``.

    Args:
        llm: an LLM of LlamaIndex.
        fallbacks: LLMs that are asked in turn when the one before raises.

    Raises:
        ConfigError: one of them is no LLM.
    """

    def __init__(self, llm: LLM, *, fallbacks: Sequence[LLM] | None = None) -> None:
        self._chain = (llm, *(fallbacks or ()))
        for each in self._chain:
            if not isinstance(each, LLM):
                raise ConfigError(f"a {type(each).__name__} is no LLM", hint="give one of LlamaIndex, such as Settings.llm")
        self.models = tuple(each.metadata.model_name for each in self._chain)
        self.route = "llamaindex:" + ",".join(self.models)

    async def __call__(self, request: SummarizeRequest) -> Answer:
        """Write a summary of what the request holds."""
        for each in self._chain[:-1]:
            try:
                return _answer(await each.achat(_prompt(request)), each)
            except Exception as error:  # whatever an LLM's client raises: the next is asked
                _log.warning(
                    "summarizer failed, the next is asked model=%s why=%s", each.metadata.model_name, type(error).__name__
                )
        return _answer(await self._chain[-1].achat(_prompt(request)), self._chain[-1])


def _prompt(request: SummarizeRequest) -> list[ChatMessage]:
    before = f"The summary before this part ended with:\n{request.previous}\n\n" if request.previous else ""
    return [
        ChatMessage(role=MessageRole.SYSTEM, content=request.instructions),
        ChatMessage(role=MessageRole.USER, content=before + request.text),
    ]


def _answer(response: ChatResponse, llm: LLM) -> Answer:
    """Read an answer; one without text counts as failed."""
    usage = usage_of(response.raw, response.additional_kwargs)
    return Answer(text=response.message.content or "", model=llm.metadata.model_name, usage=usage)
