"""Tokens of a message and of tool schemas, on the safe side of what providers and the usual independent counts charge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.payload import json_text
from lossless.tokens.counter import TokenCounter

__all__ = ["count_media", "count_parts", "count_tools"]

_MESSAGE = 4  # role and delimiters of a message: OpenAI's cookbook counts 3 and the role
_NAME = 1  # beside the name itself
_CALL = 8
_RESULT = 6
_BLOCK = 1  # the kind of a text, or what stands before the next
_TOOL = 12
_ANTHROPIC_TOOLS = 530

# An image costs about 1 600 tokens at the largest size that providers keep. Anthropic: width × height / 750 after scaling to
# 1.15 megapixels, 1 568 at the most; OpenAI: 765 for 1024 × 1024, 1 105 for 2048 × 4096; Gemini: 258 a tile of 768 × 768.
_MEDIA = 1_600
# Sound and video cost by duration (Gemini: 32 tokens a second of sound, 263 a second of video), documents by page (Anthropic:
# 1 500 to 3 000 tokens of text, and an image of each page). Neither is known without decoding, so bytes stand for them: 4 kB for
# a second of sound, 32 kB for a second of video, 64 kB for a page. Most have more bytes than that, so the estimate is high.
_BYTES_A_TOKEN = {"audio": 128, "video": 121, "document": 16}
_TEXT_DIVISOR = (
    2  # a document that is text: 1.5 bytes a token (the densest JSON has 1.9), and base64 has 4 characters for 3 bytes
)
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/yaml")


def count_parts(parts: Iterable[Part], counter: TokenCounter, *, name: str | None = None) -> int:
    """Count the tokens that one message costs a model.

    A message costs 4, a text 1, a call 8, a result 6, each beside what is written in it; an image 1 600; sound, video and
    documents by the size of their data, 1 600 at the least. Base64 is never tokenised. Signatures of reasoning are not counted.

    Args:
        parts: the neutral reading of the message.
        counter: counts the texts.
        name: of the participant, where the message gives one.
    """
    total = _MESSAGE + _count_name(name, counter)
    for part in parts:
        total += _count_part(part, counter)
    return total


def count_tools(tools: Sequence[Mapping[str, Any]] | None, counter: TokenCounter, *, profile: str = "openai") -> int:
    """Count the tokens of tool schemas: each as the provider's JSON, and 12 beside it; 0 for none.

    Providers write schemas more tersely than JSON does, so this errs on the safe side. Anthropic adds a system prompt of its own
    where there are tools (its documentation: 313 to 530 tokens, by model).

    Args:
        tools: in the shape of any provider.
        counter: counts their texts.
        profile: the provider that they are sent to.
    """
    if not tools:
        return 0
    written = sum(_TOOL + counter.count(json_text(_tool_for(tool, profile))) for tool in tools)
    return written + (_ANTHROPIC_TOOLS if profile == "anthropic" else 0)


def _tool_for(tool: Mapping[str, Any], profile: str) -> Mapping[str, Any]:
    """Write a function's schema as a provider has it; a tool of another kind stays as it is."""
    inner = tool.get("function") if tool.get("type") == "function" and isinstance(tool.get("function"), Mapping) else tool
    assert inner is not None
    schema = next((inner[name] for name in ("parameters", "input_schema") if name in inner), None)
    if "name" not in inner or schema is None:
        return tool
    rest = {name: value for name, value in inner.items() if name not in ("parameters", "input_schema", "type")}
    match profile:
        case "anthropic":
            return {**rest, "input_schema": schema}
        case "gemini":
            return {**rest, "parameters": schema}
        case _:
            return {"type": "function", "function": {**rest, "parameters": schema}}


def count_media(media: Media) -> int:
    """Price an image, sound, video or document by its kind and the size of its data; at least 1 600 tokens."""
    rate = _BYTES_A_TOKEN.get(media.kind)
    if media.data is None or rate is None:
        return _MEDIA
    if media.kind == "document" and (media.mime or "").lower().startswith(_TEXT_TYPES):
        return max(_MEDIA, len(media.data) // _TEXT_DIVISOR)
    return max(_MEDIA, len(media.data) * 3 // 4 // rate)


def _count_part(part: Part, counter: TokenCounter) -> int:
    match part:
        case Text(text=text) | Reasoning(text=text):
            return _BLOCK + counter.count(text)
        case Call(id=call_id, name=name, arguments=arguments):
            return _CALL + counter.count(name) + counter.count(arguments) + counter.count(call_id)
        case Result(call_id=call_id, parts=inner, name=name):
            answer = sum(_count_part(each, counter) for each in inner)
            return _RESULT + answer + counter.count(call_id) + _count_name(name, counter)
        case Media():
            return count_media(part)
        case Opaque():
            return _BLOCK + counter.count(part.text)


def _count_name(name: str | None, counter: TokenCounter) -> int:
    return _NAME + counter.count(name) if name else 0
