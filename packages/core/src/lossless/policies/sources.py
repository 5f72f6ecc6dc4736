"""Sources: messages of any format, read into the little that policies look at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lossless.errors import MessageError
from lossless.messages.model import Message
from lossless.messages.parts import Call, Part, Result, Text
from lossless.policies.quotes import replace_quotes

if TYPE_CHECKING:
    from lossless.messages.formats import Format

__all__ = ["Passage", "Source", "as_sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One text of a message: what a person or a model wrote, or what one tool answered.

    Attributes:
        role: ``user``, ``assistant``, ``tool``, ``system`` or ``developer``; ``tool`` for an answer, also inside a user turn.
        text: with quoted recall output blanked out, so that places in it stay places in the message.
        start: where it begins in the message's text.
        tool: name of the tool that answered, where known.
        context: the short arguments of its call that the answer does not repeat.
        call_id: id of the call that it answers.
        failed: whether the answer says that the call failed.
    """

    role: str
    text: str
    start: int = 0
    tool: str = ""
    context: str = ""
    call_id: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One message, as policies see it; without reasoning and without what the engine injected."""

    id: str
    role: str
    passages: tuple[Passage, ...]
    calls: tuple[Call, ...] = field(default=())


def as_sources(messages: Iterable[Message | Mapping[str, Any]]) -> list[Source]:
    """Read messages, or OpenAI-style or Anthropic-style dicts, in order.

    A dict without an ``id`` is called ``m_1``, ``m_2``, … by its place. Answers of recall tools (``lcm_*``), rendered summaries,
    stubs and omission lines that were quoted are left out: they are no sources.

    Raises:
        MessageError: a dict is no message of either format; ``index`` is its place.
    """
    calls: dict[str, Call] = {}
    found: list[Source] = []
    for at, message in enumerate(messages):
        parts: Sequence[Part]
        if isinstance(message, Message):
            name, role, parts = message.id, message.role, () if message.injected else message.parts
        else:
            name, role, parts = _from_dict(message, at)
        own = tuple(part for part in parts if isinstance(part, Call))
        calls.update((call.id, call) for call in own)
        found.append(Source(id=name, role=role, passages=tuple(_passages(role, parts, calls)), calls=own))
    return found


def _from_dict(payload: Mapping[str, Any], at: int) -> tuple[str, str, Sequence[Part]]:
    if not isinstance(payload, Mapping):
        raise MessageError(
            f"message {at} is a {type(payload).__name__}", hint="give Message objects or dicts with a role", index=at
        )
    reader = _format_of(payload)
    try:
        role, parts = reader.role(payload), reader.read(payload)
    except MessageError as error:
        raise MessageError(error.message, hint=error.hint, index=at) from error
    return str(payload.get("id") or f"m_{at + 1}"), role, parts


def _format_of(payload: Mapping[str, Any]) -> Format:
    from lossless.messages.anthropic import AnthropicFormat, looks_anthropic
    from lossless.messages.openai import OpenAIFormat

    return AnthropicFormat() if looks_anthropic(payload) else OpenAIFormat()


def _passages(role: str, parts: Sequence[Part], calls: Mapping[str, Call]) -> Iterator[Passage]:
    start = 0
    for part in parts:
        if isinstance(part, Text):
            yield Passage(role=role, text=_without_recall(part.text), start=start)
            start += len(part.text) + 1
        elif isinstance(part, Result):
            yield from _answer(part, start, calls)
            start += sum(len(inner.text) + 1 for inner in part.parts if isinstance(inner, Text))


def _answer(result: Result, start: int, calls: Mapping[str, Call]) -> Iterator[Passage]:
    call = calls.get(result.call_id)
    tool = " ".join((result.name or (call.name if call else "")).split())
    if tool.startswith("lcm_"):
        return
    for inner in result.parts:
        if not isinstance(inner, Text):
            continue
        text = inner.text
        yield Passage(
            role="tool",
            text=_without_recall(text),
            start=start,
            tool=tool,
            context=_context(call, text) if call else "",
            call_id=result.call_id,
            failed=result.is_error or _FAILED.match(text) is not None,
        )
        start += len(text) + 1


_FAILED = re.compile(
    r"\s{0,20}(?:\{\s{0,9}\"?error\"?\s{0,9}[:}]|\w{0,40}(?:Error|Exception)\b|(?i:error|failed|failure|traceback|fatal)\b)"
)


def _context(call: Call, answer: str) -> str:
    """Give the short arguments that the answer does not repeat: what it is an answer *for*."""
    if len(call.arguments) > 4000:
        return ""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(arguments, dict):
        return ""
    shown: list[str] = []
    for value in arguments.values():
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            continue
        text = str(value)
        if 0 < len(text) <= 60 and "\n" not in text and text not in answer:
            shown.append(text)
    return ", ".join(shown[:4])


def _without_recall(text: str) -> str:
    """Blank out what the engine itself once rendered and somebody quoted."""
    return replace_quotes(text, lambda quote: _gap(len(quote)))


def _gap(width: int) -> str:
    """Give white space of a width that ends what stood before it."""
    return "\n" + " " * (width - 2) + "\n"
