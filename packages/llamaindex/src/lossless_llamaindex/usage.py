"""What a provider says that an answer took, as far as its response says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from lossless.policies.model import Usage

__all__ = ["usage_of"]

_INPUT = ("prompt_tokens", "input_tokens", "prompt_token_count", "inputTokens")
_OUTPUT = ("completion_tokens", "output_tokens", "candidates_token_count", "outputTokens")
_CACHED = "cache_read_input_tokens"
_APART = (_CACHED, "cache_creation_input_tokens")
"""Tokens of a prompt that Anthropic does not count among its input tokens."""


def usage_of(raw: Any, beside: Mapping[str, Any] | None = None) -> Usage | None:
    """Give what an answer took, where it is said in one of the usual ways; else None.

    Args:
        raw: the provider's response: ``raw`` of LlamaIndex's.
        beside: ``additional_kwargs`` of LlamaIndex's response.
    """
    said = _plain(raw)
    usage = _plain(said.get("usage") or said.get("usage_metadata"))
    for found in (usage, beside or {}):
        read, written = _first(found, _INPUT), _first(found, _OUTPUT)
        if read or written:
            return Usage(
                calls=1,
                input_tokens=read + sum(_first(found, (name,)) for name in _APART),
                output_tokens=written,
                cached_tokens=_first(found, (_CACHED,)),
            )
    return None


def _plain(value: Any) -> Mapping[str, Any]:
    given = value.model_dump() if isinstance(value, BaseModel) else value
    return given if isinstance(given, Mapping) else {}


def _first(found: Mapping[str, Any], names: tuple[str, ...]) -> int:
    return next((found[name] for name in names if isinstance(found.get(name), int)), 0)
