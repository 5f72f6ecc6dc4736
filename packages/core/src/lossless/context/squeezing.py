"""Squeezing: shortening the newest messages when even they alone can't fit. Pure.

Tool results give way first, the longest first, then other texts; a message that a person sent is the last to be shortened. Each
shortened text says what it is, how long it was and how to get it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lossless.context.rendering import stub_text
from lossless.messages.model import Message
from lossless.messages.notes import media_note
from lossless.messages.parts import Call, Media, Opaque, Part, Result, Text, readable
from lossless.tokens.counter import TokenCounter
from lossless.tokens.parts import count_parts

__all__ = ["Stub", "squeeze"]

_CHARACTERS = 8
"""Of a token, at the most: what is longer than the room can't fit anyway, and is not even counted."""
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
        characters = min(longest // 2, max(room, 0) * _CHARACTERS)
        while total() > room:
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
    return max((_length(part) for part in message.parts), default=0)


def _length(part: Part) -> int:
    """Give how long a part is in characters, as far as it can be shortened."""
    if isinstance(part, Media):
        return _MEDIA
    if isinstance(part, Result):
        return sum(map(_length, part.parts))
    return len(part.text) if isinstance(part, Text) else 0


def _shortened(part: Part, message_id: str, names: Mapping[str, str], characters: int) -> Part:
    if _length(part) <= characters:
        return part
    if isinstance(part, Text):
        return Text(stub_text(part.text, message_id=message_id, what="text", room=characters))
    if isinstance(part, Media):
        return Text(media_note(part, message_id, "the context has no room for it"))
    if isinstance(part, Result):
        what = f"result of {names.get(part.call_id) or part.name or 'a tool'}"
        shown: list[Text | Media | Opaque] = [inner for inner in part.parts if isinstance(inner, Opaque)]
        if part.text:
            shown.append(Text(stub_text(part.text, message_id=message_id, what=what, room=characters)))
        media = (inner for inner in part.parts if isinstance(inner, Media))
        shown.extend(Text(media_note(each, message_id, "the context has no room for it")) for each in media)
        return replace(part, parts=tuple(shown), block=None)
    return part
