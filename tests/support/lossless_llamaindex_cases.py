"""LlamaIndex messages of every kind, and how to tell that two are the same."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal
from io import BytesIO, IOBase
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import (
    AudioBlock,
    CacheControl,
    CachePoint,
    ChatMessage,
    CitableBlock,
    CitationBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    VideoBlock,
)
from pydantic import BaseModel, Field

__all__ = ["CASES", "NoteMessage", "Report", "same"]

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060000000040001f61738550000000049454e44ae426082"
)


class Report(BaseModel):
    """What a tool of some SDK returns."""

    title: str
    rows: list[tuple[int, str]] = Field(default_factory=list)


class NoteMessage(ChatMessage):
    """A message class of a user's own."""

    priority: int = 1
    tags: set[str] = Field(default_factory=set)


def _call(name: str, arguments: dict[str, Any] | str) -> ToolCallBlock:
    return ToolCallBlock(tool_call_id="call_1", tool_name=name, tool_kwargs=arguments)


def _cases() -> dict[str, ChatMessage]:
    by_role = {f"role {role.value}": ChatMessage(role=role, content=f"as {role.value}") for role in MessageRole}
    return by_role | {
        "no words": ChatMessage(role="user"),
        "an empty text": ChatMessage(role="assistant", content=""),
        "odd text": ChatMessage(content="\x00 \ud800 🏳️‍🌈 مرحبا"),
        "two texts": ChatMessage(blocks=[TextBlock(text="a"), TextBlock(text="b")]),
        "an image": ChatMessage(blocks=[TextBlock(text="see"), ImageBlock(image=PNG, image_mimetype="image/png", detail="low")]),
        "an image by url": ChatMessage(blocks=[ImageBlock(url="https://example.org/a.png?x=1")]),
        "a sound": ChatMessage(blocks=[AudioBlock(audio=b"RIFF....WAVE", format="wav")]),
        "a film": ChatMessage(blocks=[VideoBlock(video=b"\x00\x00\x00\x18ftypmp42", video_mimetype="video/mp4", fps=2)]),
        "a document": ChatMessage(blocks=[DocumentBlock(data=b"%PDF-1.7", title="t.pdf", document_mimetype="application/pdf")]),
        "a document in a buffer": ChatMessage(blocks=[DocumentBlock(data=BytesIO(b"%PDF-1.7"), document_mimetype="a/b")]),
        "a cache point": ChatMessage(
            blocks=[CachePoint(cache_control=CacheControl(type="ephemeral", ttl="1h")), TextBlock(text="a")]
        ),
        "a citable source": ChatMessage(blocks=[CitableBlock(title="T", source="s", content=[TextBlock(text="said")])]),
        "a citation": ChatMessage(
            blocks=[
                CitationBlock(cited_content=TextBlock(text="said"), source="s", title="T", additional_location_info={"page": 3})
            ]
        ),
        "a citation of a picture": ChatMessage(
            blocks=[CitationBlock(cited_content=ImageBlock(image=PNG), source="s", title="T", additional_location_info={})]
        ),
        "thinking": ChatMessage(
            role="assistant",
            blocks=[
                ThinkingBlock(content="hm", num_tokens=3, additional_information={"signature": "EqQB"}),
                TextBlock(text="so"),
            ],
        ),
        "a call": ChatMessage(role="assistant", blocks=[TextBlock(text="hm"), _call("read", {"path": "a.py", "n": {"x": 1.0}})]),
        "a call in words": ChatMessage(role="assistant", blocks=[_call("read", '{"path": ')]),
        "a call without id": ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_name="now")]),
        "a result": ChatMessage(role="tool", content="42", additional_kwargs={"tool_call_id": "call_1", "name": "read"}),
        "a result with a picture": ChatMessage(
            role="tool", blocks=[TextBlock(text="here"), ImageBlock(image=PNG)], additional_kwargs={"tool_call_id": "call_1"}
        ),
        "calls beside the blocks": ChatMessage(
            role="assistant",
            content=None,
            additional_kwargs={
                "tool_calls": [{"id": "call_9", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
            },
        ),
        "odd values beside": ChatMessage(
            content="x",
            additional_kwargs={
                "tuple": (1, 2.0, "3"),
                "bytes": b"\xff\x00",
                "report": Report(title="r", rows=[(1, "a")]),
                "when": datetime(2026, 1, 2, 3, 4, 5, 678),
                "decimal": Decimal("1.10"),
                "nan": math.nan,
                "big": 2**200,
                "set": {1},
                "$object": "mine",
                "path": Path("a/b"),
                "int keys": {1: "one", None: 2},
            },
        ),
        "a message within": ChatMessage(content="x", additional_kwargs={"cause": ChatMessage(role="tool", content="inner")}),
        "a class of one's own": NoteMessage(blocks=[TextBlock(text="x")], priority=7, tags={"a"}),
    }


CASES = _cases()


def same(left: Any, right: Any) -> bool:
    """Tell whether two values are the same in every field, types, NaN and what open streams hold included."""
    if type(left) is not type(right):
        return False
    if isinstance(left, IOBase):
        return isinstance(right, IOBase) and _content(left) == _content(right)
    if isinstance(left, BaseModel):
        return same(left.__dict__, right.__dict__) and same(left.__pydantic_extra__, right.__pydantic_extra__)
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) or bool(left != left and right != right)


def _content(stream: IOBase) -> Any:
    stream.seek(0)
    return stream.read()
