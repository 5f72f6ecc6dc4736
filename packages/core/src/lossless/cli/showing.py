"""Showing messages: as text for a person, as values for JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lossless.cli.output import console, moment, number, styled, visible

if TYPE_CHECKING:
    from lossless.messages import Message, Part

__all__ = ["ROLE_STYLES", "message_json", "message_text", "payload_json", "payload_text", "print_messages"]

ROLE_STYLES = {"user": "green", "assistant": "blue", "tool": "yellow", "system": "magenta", "developer": "magenta"}


def message_json(message: Message) -> dict[str, Any]:
    """Give a message as values that JSON can say, its payload as it is stored."""
    return {
        "id": message.id,
        "seq": message.seq,
        "thread_id": message.thread_id,
        "role": message.role,
        "text": message.text,
        "payload": payload_json(message.data),
        "format": message.format,
        "tokens": message.tokens,
        "exact": message.exact,
        "created_at": message.created_at,
        "deleted": message.deleted,
        "injected": message.injected,
        "revises": message.revises,
    }


def payload_json(data: bytes) -> Any:
    """Read a stored payload as plain JSON: what JSON has no word for stays a tagged object, NaN becomes its name."""
    return json.loads(data.decode("utf-8", "surrogatepass"), parse_constant=str)


def message_text(message: Message, *, call_ids: bool = True) -> str:
    """Give everything that a person would want to read of a message, calls and reasoning included."""
    return _parts_text(message.parts, call_ids)


def payload_text(payload: Mapping[str, Any]) -> str:
    """Give the same, without the ids of calls, of a payload in OpenAI's or Anthropic's style that is no stored message.

    Raises:
        MessageError: it is no message.
    """
    from lossless.messages import AnthropicFormat, OpenAIFormat, looks_anthropic

    reader = AnthropicFormat() if looks_anthropic(payload) else OpenAIFormat()
    return _parts_text(reader.read(payload), call_ids=False)


def print_messages(messages: Iterable[Message]) -> None:
    """Print messages for a person: a line on each, then its text."""
    out = console()
    for message in messages:
        marks = [mark for mark, holds in (("deleted", message.deleted), ("injected", message.injected)) if holds]
        if message.revises is not None:
            marks.append(f"revises seq {message.revises}")
        about = [f"seq {message.seq}", f"{number(message.tokens)} tokens", moment(message.created_at), *marks]
        head = styled(
            (message.id, "bold cyan"), " ", (message.role, ROLE_STYLES.get(message.role, "")), "  ", (", ".join(about), "dim")
        )
        out.print(head, soft_wrap=True)
        out.print(visible(message_text(message), lines=True), soft_wrap=True)
        out.print()


def _parts_text(parts: Iterable[Part], call_ids: bool) -> str:
    return "\n".join(_part_text(part, call_ids) for part in parts)


def _part_text(part: Part, call_ids: bool) -> str:
    from lossless.messages import Call, Media, Reasoning, Result, Text

    match part:
        case Text(text=text):
            return text
        case Reasoning(text=text):
            return f"[reasoning] {text}"
        case Call(id=id, name=name, arguments=arguments):
            return f"→ {name} {arguments}" + (f"  [{id}]" if call_ids else "")
        case Result(call_id=call_id, parts=parts, is_error=is_error):
            mark = "← error " if is_error else "← "
            return mark + (f"[{call_id}] " if call_ids else "") + _parts_text(parts, call_ids)
        case Media(kind=kind, mime=mime, reference=reference):
            return f"[{' '.join(word for word in (kind, mime, reference) if word)}]"
        case _:
            return part.text
