"""What a message reads as whose class this process does not know, or whose payload is damaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

from lossless.messages.payload import json_text

__all__ = ["RawPayload", "placeholder"]


class RawPayload(dict[str, Any]):
    """The payload that a placeholder stands for, in its attribute ``payload``; what is stored when the placeholder is stored."""


def placeholder(payload: Any) -> BaseMessage:
    """Make a readable message of a payload, with the payload itself as its attribute ``payload``.

    What derives from one of LangChain's own types is a message of that type, so that a model can still be shown it; the rest is
    a ``ChatMessage`` whose role is the unknown type. Never raises.
    """
    raw = RawPayload(payload) if isinstance(payload, Mapping) else RawPayload(payload=payload)
    found = raw.get("data")
    data: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    kind = str(raw.get("base") or raw.get("type") or "unknown")
    fields: dict[str, Any] = {"content": _content(data, raw), "payload": raw}
    if isinstance(data.get("id"), str):
        fields["id"] = data["id"]
    if kind.startswith("human"):
        return HumanMessage(**fields)
    if kind.startswith("system"):
        return SystemMessage(**fields)
    if kind.startswith("tool"):
        return ToolMessage(**fields, tool_call_id=str(data.get("tool_call_id") or ""))
    if kind.startswith(("ai", "AI")):
        message = AIMessage(**fields)
        message.tool_calls = [call for call in _list(data.get("tool_calls")) if _is_call(call)]
        return message
    role = data.get("role")
    return ChatMessage(**fields, role=role if isinstance(role, str) and role else kind)


def _content(data: Mapping[str, Any], raw: Mapping[str, Any]) -> str | list[str | dict[Any, Any]]:
    content = data.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(block, (str, dict)) for block in content):
        return content
    return json_text(dict(raw))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_call(call: Any) -> bool:
    return isinstance(call, dict) and isinstance(call.get("name"), str) and isinstance(call.get("args"), dict) and "id" in call
