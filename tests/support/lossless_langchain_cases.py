"""LangChain messages of every kind that has to come back equal, and how to compare them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag
from pathlib import Path
from typing import Any
from uuid import UUID

from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from pydantic import BaseModel, PrivateAttr

__all__ = ["CASES", "Colour", "Money", "Point", "Report", "TicketMessage", "same", "shape"]


class Report(BaseModel):
    """A pydantic object as an artifact."""

    title: str
    rows: tuple[int, ...] = ()
    _secret: int = PrivateAttr(default=3)


class TicketMessage(HumanMessage):
    """A user's subclass with a field of its own."""

    ticket: int = 0


class OwnType(BaseMessage):
    """A message of a type that LangChain does not know."""

    type: str = "critic"
    score: float = 0.0


class Colour(Enum):
    """An enumeration."""

    RED = "red"


class Rights(Flag):
    """Another."""

    READ = 1


@dataclass(frozen=True)
class Point:
    """A frozen dataclass."""

    x: int
    y: int = 0


@dataclass(slots=True)
class Money:
    """A dataclass with slots."""

    amount: Decimal
    currency: str


_CALL: dict[str, Any] = {"name": "search", "args": {"q": "x", "n": 2}, "id": "call_1", "type": "tool_call"}
_USAGE: dict[str, Any] = {
    "input_tokens": 7,
    "output_tokens": 3,
    "total_tokens": 10,
    "input_token_details": {"cache_read": 2, "audio": 0},
    "output_token_details": {"reasoning": 1},
}
_ODD: dict[Any, Any] = {
    "tuple": (1, (2, [3, (4,)])),
    "bytes": b"\x00\xff",
    "nan": math.nan,
    "infinite": -math.inf,
    "zero": -0.0,
    "big": 2**200,
    "surrogate": "half \ud83d of a pair",
    "nul": "a\0b",
    "set": {1, 2},
    "frozenset": frozenset({"a"}),
    "when": datetime(2026, 3, 29, 2, 30, tzinfo=UTC),
    "day": date(2026, 1, 1),
    "hour": time(1, 2, 3, 4),
    "lasting": timedelta(days=-1, microseconds=1),
    "decimal": Decimal("1.10"),
    "uuid": UUID(int=7),
    "path": Path("a/b.txt"),
    1: "an int key",
    (1, 2): "a tuple key",
    None: "no key",
    "$object": "pydantic",
    "$lossless": "bytes",
    "lc": 1,
    "enum": Colour.RED,
    "flag": Rights.READ,
    Colour.RED: "an enum key",
    "points": {Point(1, 2)},
    "money": Money(Decimal("2"), "EUR"),
    "report": Report(title="Q1", rows=(1, 2)),
    "documents": [Document(page_content="text", metadata={"source": "a.md", "rows": (1, 2)}, id="d1")],
    "message": AIMessage("inner", artifact=Report(title="deep")),
}
_BLOCKS: list[Any] = [
    "a plain string",
    {"type": "text", "text": "hi", "annotations": [{"type": "citation", "url": "https://example.com"}]},
    {"type": "reasoning", "reasoning": "because", "extras": {"signature": "sig"}},
    {"type": "thinking", "thinking": "hm", "signature": "sig"},
    {"type": "redacted_thinking", "data": "opaque"},
    {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
    {"type": "image", "url": "https://example.com/a.png"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
    {"type": "audio", "base64": "aGk=", "mime_type": "audio/wav"},
    {"type": "video", "file_id": "file-1"},
    {"type": "file", "base64": "aGk=", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
    {"type": "text-plain", "text": "plain", "mime_type": "text/plain"},
    {"type": "text", "text": "cached", "cache_control": {"type": "ephemeral"}},
    {"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {"query": "x"}},
    {"type": "server_tool_result", "tool_call_id": "s1", "status": "success", "output": [1]},
    {"type": "refusal", "refusal": "no"},
    {"type": "non_standard", "value": {"provider": "own", "blob": (1, b"x")}},
    {"no": "type"},
    {"type": 7},
]


def _resurrecting() -> AIMessage:
    """Calls taken away by hand, while the provider's own are still there."""
    message = AIMessage(
        "", additional_kwargs={"tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
    )
    message.tool_calls = []
    return message


def _stripped() -> AIMessage:
    """A key in a call that the validator would strip."""
    message = AIMessage("", tool_calls=[_CALL])
    message.tool_calls[0]["extras"] = {"signature": "s"}  # type: ignore[typeddict-unknown-key]
    return message


CASES: dict[str, BaseMessage] = {
    "human": HumanMessage("hello"),
    "human with all": HumanMessage("hello", id="h1", name="ann", additional_kwargs={"k": 1}, response_metadata={"m": [1]}),
    "human with a number as id": HumanMessage("hello", id=7),
    "human without words": HumanMessage(""),
    "human of blocks": HumanMessage(_BLOCKS),
    "human example": HumanMessage("hello", example=True),
    "system": SystemMessage("be brief"),
    "ai": AIMessage("hi", id="run-1"),
    "ai with calls": AIMessage("", tool_calls=[_CALL, {**_CALL, "id": None}], usage_metadata=_USAGE),
    "ai with invalid calls": AIMessage(
        "", invalid_tool_calls=[{"name": "f", "args": "{", "id": "c", "error": "bad", "type": "invalid_tool_call"}]
    ),
    "ai with a key in a call": _stripped(),
    "ai of blocks": AIMessage(
        [*_BLOCKS, {"type": "tool_use", "id": "call_1", "name": "search", "input": {}}], tool_calls=[_CALL]
    ),
    "ai with metadata": AIMessage("hi", response_metadata={"logprobs": None, "when": datetime(2026, 1, 1), "x": (1,)}),
    "ai whose calls were taken away": _resurrecting(),
    "ai with extra fields": AIMessage("hi", foo=1, bar={"x": (1,)}),
    "tool": ToolMessage(content="42", tool_call_id="call_1", name="search", status="error", id="t1"),
    "tool with odd artifact": ToolMessage(content="42", tool_call_id="call_1", artifact=_ODD),
    "tool with bytes": ToolMessage(content="42", tool_call_id="call_1", artifact=b"\x89PNG"),
    "tool of blocks": ToolMessage(content=[{"type": "text", "text": "x"}, "y"], tool_call_id="call_1"),
    "chat": ChatMessage(content="hi", role="critic"),
    "function": FunctionMessage(content="42", name="f"),
    "remove": RemoveMessage(id="h1"),
    "human chunk": HumanMessageChunk(content="he"),
    "ai chunk": AIMessageChunk(
        content="he",
        tool_call_chunks=[{"name": "f", "args": '{"a"', "id": "c", "index": 0, "type": "tool_call_chunk"}],
        id="run-2",
    ),
    "last ai chunk": AIMessageChunk(content="", chunk_position="last"),
    "system chunk": SystemMessageChunk(content="s"),
    "tool chunk": ToolMessageChunk(content="4", tool_call_id="c"),
    "chat chunk": ChatMessageChunk(content="h", role="critic"),
    "function chunk": FunctionMessageChunk(content="4", name="f"),
    "a user's subclass": TicketMessage("hello", ticket=7, also="this"),  # type: ignore[call-arg]
    "a user's own type": OwnType(content="hm", score=0.5),
}


def shape(value: Any) -> Any:
    """Write a value so that equal texts mean the same types and values all the way down, NaN and −0.0 included."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, BaseModel):
        held = {**value.__dict__, **(value.__pydantic_extra__ or {})}
        return kind, sorted((name, shape(inner)) for name, inner in held.items()), shape(value.__pydantic_private__)
    if isinstance(value, dict):
        return kind, [(shape(key), shape(inner)) for key, inner in value.items()]
    if isinstance(value, (list, tuple)):
        return kind, [shape(inner) for inner in value]
    if isinstance(value, (set, frozenset)):
        return kind, sorted(repr(shape(inner)) for inner in value)
    return kind, repr(value)


def same(found: BaseMessage, given: BaseMessage) -> bool:
    """Tell whether two messages are equal in every field, and in the class of every value in them."""
    return type(found) is type(given) and repr(shape(found)) == repr(shape(given))
