"""What messages and blocks read as whose class this process does not know, or whose payload is damaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from pydantic import Field

from lossless.messages import LlamaIndexFormat
from lossless.messages.parts import readable
from lossless.messages.payload import json_text

__all__ = ["UnknownBlock", "UnknownMessage", "unknown_block", "unknown_message"]

_READER = LlamaIndexFormat()


class UnknownBlock(TextBlock):
    """A block that can't be made again here: its text is readable, ``payload`` is what is stored, and is stored so again."""

    payload: dict[Any, Any] = Field(default_factory=dict, exclude=True)


class UnknownMessage(ChatMessage):
    """A message that can't be made again here: its text is readable, ``payload`` is what is stored, and is stored so again."""

    payload: dict[Any, Any] = Field(default_factory=dict, exclude=True)


def unknown_block(payload: Any) -> UnknownBlock:
    """Stand for a block, with its own text where it has some, else with all of it as JSON. Never raises."""
    raw = payload if isinstance(payload, dict) else {"payload": payload}
    text = raw.get("text")
    return UnknownBlock(text=text if isinstance(text, str) else json_text(raw), payload=raw)


def unknown_message(payload: Any) -> UnknownMessage:
    """Stand for a message, with its role and what can be read of it. Never raises."""
    raw = payload if isinstance(payload, dict) else {"payload": payload}
    found = raw.get("additional_kwargs")
    aside: dict[Any, Any] = found if isinstance(found, dict) else {}
    kept = {key: aside[key] for key in ("tool_call_id", "name") if isinstance(aside.get(key), str)}
    return UnknownMessage(role=_role(raw), blocks=[TextBlock(text=_text(raw))], additional_kwargs=kept, payload=raw)


def _role(raw: Mapping[Any, Any]) -> MessageRole:
    try:
        return MessageRole(raw.get("role"))
    except ValueError:
        return MessageRole.USER


def _text(raw: Mapping[Any, Any]) -> str:
    try:
        text = readable(_READER.read(raw))
    except Exception:  # whatever a damaged payload holds
        text = ""
    return text or json_text(dict(raw))
