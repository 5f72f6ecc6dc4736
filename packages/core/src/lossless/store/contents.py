"""Contents: what messages say, one entry for each text, call and answer, comparable across formats, repairs and stubs.

A history that was rendered for a provider and comes back is no longer what was stored: keys that the provider does not know are
gone, reused call ids have new names, results stand directly after their calls, neighbours are merged, long texts are shortened.
What it says is the same. Two lists of contents are compared by ``key``, and each pair that seems equal by :func:`says_the_same`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.units import is_blank

__all__ = ["Content", "Said", "contents", "is_invented", "participant", "says_the_same", "shortened_line"]

_SHORTENED = re.compile(r'^\[(?:shortened|trimmed) [^\n]*sha256:([0-9a-f]{12})… · lcm_expand\("([^"\n]*)"\)\]$', re.MULTILINE)
_NOT_EXECUTED = "[not executed: the call was interrupted, and no result of it was recorded]"
_NO_OUTPUT = "(no output)"
_SYSTEM_NOTE = re.compile(r"\[system note from the application, not from the user\]\n(.*)\n\[end of system note\]", re.DOTALL)
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_NUMBERED = re.compile(r"_\d+")


@dataclass(frozen=True, slots=True)
class Said:
    """A message as far as its content goes; ``id`` is None where none was given, ``name`` is the participant's."""

    id: str | None
    role: str
    name: str | None
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Content:
    """One thing that a message says.

    Attributes:
        key: equal for what says the same, and as a rule only for that.
        message: position of its message in the list that was read.
        id: of that message.
        whole: what must be equal, too, unless it was shortened.
        shortened: beginning, end, and the message's id, of a text that was shortened.
        call_id: of a call or a result.
    """

    key: tuple[str | None, ...]
    message: int
    id: str | None
    whole: str
    shortened: tuple[str, str, str] | None = None
    call_id: str | None = None


def shortened_line(what: str, text: str, message_id: str) -> str:
    """Write the line that stands for the middle of a shortened text: what it is, how long it was, and how to get it back."""
    lines = text.count("\n") + 1
    return f'[shortened {what} · {lines} lines · {len(text)} chars · sha256:{_short(text)}… · lcm_expand("{message_id}")]'


def contents(messages: Sequence[Said]) -> list[Content]:
    """Read what messages say, results directly after their calls; reasoning, blank texts and what answers no call is left out."""
    slots: list[list[Content]] = []
    asked: dict[str, list[Content]] = {}
    for position, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, Result):
                slot = asked.pop(part.call_id, None)
                if slot is not None and not is_invented(part):
                    slot.append(_result(part, position, message))
            elif isinstance(part, Call):
                asked[part.id] = [_call(part, position, message)]
                slots.append(asked[part.id])
            elif not isinstance(part, Reasoning) and not (isinstance(part, Text) and is_blank(part.text)):
                slots.append([_other(part, position, message)])
    return [content for slot in slots for content in slot]


def is_invented(result: Result) -> bool:
    """Tell whether a result is the line that is shown where a call was never answered."""
    return result.text == _NOT_EXECUTED


def says_the_same(stored: Content, given: Content) -> bool:
    """Tell whether contents of one key are the same indeed: no two messages with ids of their own, no two calls, no quotation."""
    if given.id not in (None, stored.id) or not _is_shown_as(stored.call_id, given.call_id):
        return False
    if given.shortened is None:
        return given.whole == stored.whole
    start, end, source = given.shortened
    return source == stored.id and stored.whole.startswith(start) and stored.whole.endswith(end)


def _other(part: Text | Media | Opaque, position: int, message: Said) -> Content:
    role = "system" if message.role == "developer" else message.role
    if isinstance(part, Text):
        note = _SYSTEM_NOTE.fullmatch(part.text) if role == "user" else None
        text, role = (note.group(1), "system") if note is not None else (part.text, role)
        short, shortened = _text(text)
        return Content(("text", role, message.name, short), position, message.id, text, shortened)
    text = _media(part) if isinstance(part, Media) else part.text
    return Content(("block", role, _short(text)), position, message.id, text)


def _call(call: Call, position: int, message: Said) -> Content:
    arguments = _arguments(call.arguments)
    return Content(("call", call.name, _short(arguments)), position, message.id, arguments, call_id=call.id)


def _result(result: Result, position: int, message: Said) -> Content:
    text = "" if is_blank(result.text) or result.text == _NO_OUTPUT else result.text
    short, shortened = _text(text)
    media = "".join(f"{_media(part)}\0" for part in result.parts if isinstance(part, Media))
    return Content(("result", short), position, message.id, media + text, shortened, result.call_id)


def _text(text: str) -> tuple[str, tuple[str, str, str] | None]:
    """Give a text's short digest; and of a shortened one that of the whole text, its beginning, end and source."""
    found = _SHORTENED.search(text)
    if found is None:
        return _short(text), None
    start, end = text[: max(0, found.start() - 1)], text[found.end() + 1 :]
    return found.group(1), (start, end, found.group(2))


def _media(media: Media) -> str:
    return "\0".join((media.kind, media.mime or "", media.data or "", media.reference or ""))


def _arguments(arguments: str) -> str:
    """Write a call's arguments so that their notation doesn't matter; formats keep them as text or as an object."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True, ensure_ascii=True)
    except (ValueError, RecursionError):
        return arguments


def _is_shown_as(stored: str | None, given: str | None) -> bool:
    """Tell whether a call id could be what a stored one was shown as: itself, or made to fit, or with a number after it."""
    if stored is None or given is None or stored == given:
        return stored == given
    fitted = _FOREIGN.sub("_", stored)
    start = fitted if given.startswith(fitted) else stored if given.startswith(stored) else None
    if start is not None:
        return given == start or _NUMBERED.fullmatch(given, len(start)) is not None
    return len(fitted) >= len(given) > 16 and fitted.startswith(given[:16])


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def participant(payload: Any) -> str | None:
    """Give the name of the participant that a payload names."""
    name = payload.get("name") if isinstance(payload, dict) else None
    return name if isinstance(name, str) else None
