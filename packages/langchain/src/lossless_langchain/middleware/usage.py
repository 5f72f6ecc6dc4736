"""What a provider charged for the prompt of a call, as far as it can correct how tokens are counted here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

__all__ = ["charged_tokens", "tells"]

_LEAST = 1_000
"""Counted tokens from which on a report is worth a write; what a provider adds to every prompt outweighs the rest of less."""
_ABSURD = 4
"""A report of so many times more or less is none of the context that was counted: of several prompts, or of a part of one."""


def charged_tokens(answers: Sequence[BaseMessage]) -> int | None:
    """Give the tokens that a provider reports for the prompt of an answer, those from its cache included. Never raises.

    LangChain's own integrations count those from the cache among the input; where there are more of them than input, the
    integration does not.

    Args:
        answers: what the model said.

    Returns:
        None if it does not say.
    """
    usage = next((found for each in answers if isinstance(found := getattr(each, "usage_metadata", None), dict)), {})
    charged, details = _number(usage.get("input_tokens")), usage.get("input_token_details")
    cached = sum(_number(details.get(key)) for key in ("cache_read", "cache_creation")) if isinstance(details, dict) else 0
    return (charged if charged >= cached else charged + cached) or None


def tells(counted: int, charged: int) -> bool:
    """Tell whether a report says anything of how tokens are counted: it is of enough, and can be of the same context."""
    return counted >= _LEAST and counted <= charged * _ABSURD and charged <= counted * _ABSURD


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
