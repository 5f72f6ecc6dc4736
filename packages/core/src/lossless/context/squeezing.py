"""Squeezing: shortening the newest messages when even they alone can't fit. Pure.

Tool results give way first, the longest first, then other texts; a message that a person sent is the last to be shortened. Each
shortened text says what it is, how long it was and how to get it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lossless.context.rendering import stub_text
from lossless.messages.model import Message
from lossless.messages.notes import media_note
from lossless.messages.parts import Call, Media, Part, Result, Text, readable
from lossless.tokens.counter import TokenCounter
from lossless.tokens.parts import count_parts

__all__ = ["Stub", "squeeze"]

_ROUNDS = 12
_MEDIA = 4_000
"""Characters of text that cost as much as media do."""


@dataclass(frozen=True, slots=True)
class Stub:
    """A message shortened: its parts as shown, and what they cost."""

    parts: tuple[Part, ...]
    tokens: int

    @property
    def text(self) -> str:
        """What a person would read of it."""
        return readable(self.parts)


def squeeze(messages: Sequence[Message], room: int, counter: TokenCounter) -> dict[int, Stub]:
    """Give the messages that must be shortened so that all of them have at most ``room`` tokens, by seq.

    If that can't be reached, they are as short as they can be.
    """
    names = {part.id: part.name for message in messages for part in message.parts if isinstance(part, Call)}
    stubs: dict[int, Stub] = {}

    def total() -> int:
        return sum(stubs[m.seq].tokens if m.seq in stubs else m.tokens for m in messages)

    requests = [message for message in messages if message.role == "user"]
    others = [message for message in messages if message.role != "user"]
    for group in (others, requests):
        longest = max((_longest(message) for message in group), default=0)
        characters = longest // 2
        for _round in range(_ROUNDS):
            if total() <= room:
                return stubs
            for message in group:
                parts = tuple(_shortened(part, message.id, names, characters) for part in message.parts)
                if parts != message.parts:
                    tokens = count_parts(parts, counter)
                    if tokens < message.tokens:
                        stubs[message.seq] = Stub(parts, tokens)
            if characters <= 0:
                break
            characters //= 2
    return stubs


def _longest(message: Message) -> int:
    return max((_MEDIA if isinstance(part, Media) else len(part.text) for part in message.parts if _can_be_shortened(part)), default=0)


def _can_be_shortened(part: Part) -> TypeGuard[Text | Result | Media]:
    return isinstance(part, (Text, Result, Media))


def _shortened(part: Part, message_id: str, names: dict[str, str], characters: int) -> Part:
    if isinstance(part, Text) and len(part.text) > characters:
        return Text(stub_text(part.text, message_id=message_id, what="text", room=characters))
    if isinstance(part, Result) and len(part.text) > characters:
        what = f"result of {names.get(part.call_id) or part.name or 'a tool'}"
        shown = Text(stub_text(part.text, message_id=message_id, what=what, room=characters))
        return replace(part, parts=(shown,), block=None)
    if isinstance(part, Media) and characters < _MEDIA:
        return Text(media_note(part, message_id, "the context has no room for it"))
    return part
