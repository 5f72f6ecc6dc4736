"""Counting tokens of rendered messages with tiktoken alone: the second opinion that budgets are held against."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from lossless.tokens import vocabulary

__all__ = ["independent_tokens"]

_MESSAGE = 3  # the delimiters of a message, by OpenAI's cookbook


def independent_tokens(messages: Iterable[Mapping[str, Any]], system: Any = None) -> int:
    """Count what a provider charges for the texts, names, arguments and ids of messages; media are left out."""
    shown = list(messages) if system is None else [{"role": "system", "content": system}, *messages]
    return sum(_MESSAGE + _count(message.get("role")) + _of_message(message) for message in shown)


def _of_message(message: Mapping[str, Any]) -> int:
    tokens = _of_content(message.get("content")) + _count(message.get("tool_call_id")) + _count(message.get("name"))
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        tokens += _MESSAGE + _count(call.get("id")) + _count(function.get("name")) + _count(function.get("arguments"))
    return tokens


def _of_content(content: Any) -> int:
    if isinstance(content, str):
        return _count(content)
    tokens = 0
    for block in content or ():
        kind = block.get("type")
        if kind == "tool_use":
            written = json.dumps(block["input"], ensure_ascii=False)
            tokens += _MESSAGE + _count(block["id"]) + _count(block["name"]) + _count(written)
        elif kind == "tool_result":
            tokens += _MESSAGE + _count(block["tool_use_id"]) + _of_content(block.get("content"))
        else:
            tokens += _count(block.get("text")) + _count(block.get("thinking"))
    return tokens


def _count(text: Any) -> int:
    if not isinstance(text, str) or not text:
        return 0
    encoding = vocabulary.load("o200k_base", allow_network=False)
    assert encoding is not None, "the tokenizer's vocabulary is part of the package"
    return len(encoding.encode_ordinary(text))
