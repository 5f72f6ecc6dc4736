"""Tokens of a message and of tool schemas, on the safe side of what providers and the usual independent counts charge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.payload import json_text
from lossless.tokens.counter import TokenCounter
from lossless.tokens.media import MediaRates, media_tokens

__all__ = ["count_media", "count_parts", "count_tools"]

_MESSAGE = 4  # role and delimiters of a message: OpenAI's cookbook counts 3 and the role
_NAME = 1  # beside the name itself
_CALL = 8
_RESULT = 6
_BLOCK = 1  # the kind of a text, or what stands before the next
_TOOL = 12
_ANTHROPIC_TOOLS = 530


def count_parts(parts: Iterable[Part], counter: TokenCounter, *, name: str | None = None) -> int:
    """Count the tokens that one message costs a model.

    A message costs 4, a text 1, a call 8, a result 6, each beside what is written in it; media by the rules of the model's
    provider (see ``media.py``). Base64 is never tokenised. Signatures of reasoning are not counted.

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


def count_media(media: Media, counter: TokenCounter | None = None) -> int:
    """Count the tokens of an image, sound, video or document, by the rates of the counter's model.

    Without a counter, or with one that has no attribute ``media`` (a :class:`MediaRates`), the dearest provider's are taken.
    """
    rates = getattr(counter, "media", None)
    return media_tokens(media, rates if isinstance(rates, MediaRates) else None)


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
            return count_media(part, counter)
        case Opaque():
            return _BLOCK + counter.count(part.text)


def _count_name(name: str | None, counter: TokenCounter) -> int:
    return _NAME + counter.count(name) if name else 0
