"""The contract of a token counter, and which counter counts for a model."""

from __future__ import annotations

import re
from typing import Protocol

from lossless.tokens.media import rates_for
from lossless.tokens.models import bare_names
from lossless.tokens.tiktoken_counter import TiktokenCounter

__all__ = ["TokenCounter", "counter_for", "encoding_for", "margin_for"]

_DEFAULT = "o200k_base"
_EXACT_MARGIN = 0.01
_OTHER_MARGIN = 0.15

# Which encoding a model of OpenAI has (its public table of models to encodings), by the start of the name up to a boundary.
_ENCODINGS = (
    (re.compile(r"(?:chatgpt-4o|gpt-4o|gpt-4\.[15]|gpt-5(?:\.\d+)?|gpt-oss|o[134]|codex-mini)(?![\w.])"), "o200k_base"),
    (re.compile(r"(?:gpt-4|gpt-3\.5|gpt-35|text-embedding-(?:3|ada-002)|davinci-002|babbage-002)(?![\w.])"), "cl100k_base"),
)


class TokenCounter(Protocol):
    """Counts the tokens of a text.

    One that has an attribute ``media``, a :class:`~lossless.tokens.MediaRates`, says by it what images and documents cost.
    """

    @property
    def name(self) -> str:
        """What counts, stored with each count: an encoding's name, or ``estimate``."""
        ...

    @property
    def exact(self) -> bool:
        """Whether a real tokenizer counts."""
        ...

    def count(self, text: str) -> int:
        """Count the tokens of any text, special tokens as ordinary text; never raises."""
        ...


def counter_for(model: str | None = None, *, allow_network: bool = False) -> TokenCounter:
    """Give the counter for a model; loads nothing yet.

    A model whose tokenizer is not public is counted with ``o200k_base``, and wants the margin of :func:`margin_for`.

    Args:
        model: its name, with or without a provider's prefix; None for no model in particular.
        allow_network: whether a vocabulary that is nowhere on this machine may be downloaded, for 3 seconds at the most.
    """
    return TiktokenCounter(encoding_for(model) or _DEFAULT, allow_network=allow_network, media=rates_for(model))


def encoding_for(model: str | None) -> str | None:
    """Give the name of a model's encoding, ``o200k_base`` for None, or None where it is not public."""
    if model is None:
        return _DEFAULT
    for name in bare_names(model):
        for pattern, encoding in _ENCODINGS:
            if pattern.match(name):
                return encoding
    return None


def margin_for(model: str | None, counter: TokenCounter) -> float:
    """Give the share of a budget to keep free for what a count may be wrong by.

    0.01 where the counter counts exactly for the model (a counter other than ours that says it is exact is believed), else 0.15.
    """
    if not counter.exact:
        return _OTHER_MARGIN
    if counter.name in {encoding for _, encoding in _ENCODINGS}:
        return _EXACT_MARGIN if model is None or encoding_for(model) == counter.name else _OTHER_MARGIN
    return _EXACT_MARGIN
