"""Counting tokens offline, what messages and tool schemas cost, and how large the windows of models are."""

from lossless.tokens.counter import TokenCounter, counter_for, encoding_for, margin_for
from lossless.tokens.estimator import EstimatingCounter
from lossless.tokens.media import MediaRates, is_measured, rates_for
from lossless.tokens.models import ModelInfo, find_model, known_models
from lossless.tokens.parts import count_media, count_parts, count_tools
from lossless.tokens.tiktoken_counter import TiktokenCounter

__all__ = [
    "EstimatingCounter",
    "MediaRates",
    "ModelInfo",
    "TiktokenCounter",
    "TokenCounter",
    "count_media",
    "count_parts",
    "count_tools",
    "counter_for",
    "encoding_for",
    "find_model",
    "is_measured",
    "known_models",
    "margin_for",
    "rates_for",
]
