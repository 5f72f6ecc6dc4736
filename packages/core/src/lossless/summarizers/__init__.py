"""Summarizers: those that call a model, how any is called, what it costs, and when it is left alone."""

from lossless.summarizers.breaker import BreakerRules
from lossless.summarizers.calling import SummarizerError
from lossless.summarizers.fallback import FallbackSummarizer
from lossless.summarizers.openai_chat import OpenAISummarizer

__all__ = ["BreakerRules", "FallbackSummarizer", "OpenAISummarizer", "SummarizerError"]
