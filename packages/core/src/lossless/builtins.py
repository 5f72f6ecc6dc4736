"""What Lossless itself brings, registered through the same hooks as any plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lossless.context.corrections import detect_correction
from lossless.hooks import hookimpl
from lossless.messages import AnthropicFormat, Format, LangChainFormat, LlamaIndexFormat, Message, OpenAIFormat
from lossless.policies import builtin_policies
from lossless.policies.model import Policy
from lossless.tokens import ModelInfo, TokenCounter, counter_for, known_models

__all__ = ["Builtins"]


class Builtins:
    """The built-in formats, policies, models, token counters, and what tells corrections."""

    @hookimpl
    def lossless_formats(self) -> Sequence[Format]:
        """Give OpenAI's chat completions, Anthropic's content blocks, LangChain's and LlamaIndex's messages."""
        return (OpenAIFormat(), AnthropicFormat(), LangChainFormat(), LlamaIndexFormat())

    @hookimpl
    def lossless_policies(self, counter: TokenCounter) -> Mapping[str, Policy]:
        """Give ``source_first`` and the controls."""
        return builtin_policies(counter)

    @hookimpl
    def lossless_models(self) -> Sequence[ModelInfo]:
        """Give the models whose windows their vendors document."""
        return known_models()

    @hookimpl(trylast=True)
    def lossless_correction(self, message: Message) -> bool | None:
        """Tell a correction by its words: ``no, it was 42``, ``that is wrong``, ``42, not 40``."""
        return True if detect_correction(message.text) is not None else None

    @hookimpl(trylast=True)
    def lossless_token_counter(self, model: str | None) -> TokenCounter:
        """Give the tokenizer of a model, or the nearest one."""
        return counter_for(model)
