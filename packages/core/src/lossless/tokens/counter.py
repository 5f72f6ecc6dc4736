"""The contract of a token counter."""

from __future__ import annotations

from typing import Protocol

__all__ = ["TokenCounter"]


class TokenCounter(Protocol):
    """Counts the tokens of a text.

    Attributes:
        name: what counted, stored with each count: an encoding's name, or ``estimate``.
        exact: whether a real tokenizer counted.
    """

    name: str
    exact: bool

    def count(self, text: str) -> int:
        """Count the tokens of any text, special tokens as ordinary text; never raises."""
        ...
