"""Parts: the derived, neutral reading of a payload.

Every format is read into these six kinds, so that the rest of the core (counting, search, units, policies, rendering in
another format) never looks into a provider's dicts. Parts are derived and can be made again from the payload at any time.

A part remembers the ``block`` it was read from, as (format, block): where a message must be repaired, what was not touched in
it is written again as it was given, with its signature, its cache marks and its unknown keys. A block belongs to the payload
and is not changed; a part that says something else than its block has none. Blocks don't count in comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lossless.messages.payload import json_text

__all__ = ["Block", "Call", "Media", "Opaque", "Part", "Reasoning", "Result", "Text", "readable", "searchable"]

Block = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """What somebody wrote."""

    text: str
    block: Block | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. ``arguments`` is the text the model wrote: JSON as a rule, verbatim where the format keeps it as text.

    Only ``id`` may differ from what ``block`` says: a reused id is shown under another one.
    """

    id: str
    name: str
    arguments: str
    block: Block | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered to the call ``call_id``: texts and media, or opaque parts.

    Only ``call_id`` may differ from what ``block`` says.
    """

    call_id: str
    parts: tuple[Text | Media | Opaque, ...]
    is_error: bool = False
    name: str | None = None
    block: Block | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The texts of the answer, one after the other, a line break between."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A model's reasoning. Never becomes summary text. ``signed``: a provider checks it against what came before."""

    text: str
    signed: bool = False
    block: Block | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Media:
    """An image, sound, video or document.

    ``kind`` is ``image``, ``audio``, ``video`` or ``document``. ``data`` is base64 text when the payload carries the bytes;
    ``reference`` an address or a provider's file id otherwise, beside ``data`` a file name. ``detail`` is how closely an image
    shall be looked at, where its message says so (``low``, ``high``): OpenAI charges by it.
    """

    kind: str
    mime: str | None = None
    data: str | None = None
    reference: str | None = None
    block: Block | None = field(default=None, compare=False, repr=False)
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block whose type this version does not know, kept as it is."""

    value: Any
    block: Block | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The block as JSON, for search and for reading."""
        return json_text(self.value)


Part = Text | Call | Result | Reasoning | Media | Opaque


def readable(parts: Iterable[Part]) -> str:
    """Give what a person would read: texts and tool answers, without calls and reasoning."""
    found = [part.text for part in _answered(parts) if isinstance(part, Text)]
    return found[0] if len(found) == 1 else "\n".join(found)


def searchable(parts: Iterable[Part]) -> str:
    """Give everything in a message that can be searched, calls, reasoning, references and unknown blocks included."""
    found: list[str] = []
    for part in parts:
        match part:
            case Text(text=text) | Reasoning(text=text):
                found.append(text)
            case Call(id=call_id, name=name, arguments=arguments):
                found.append(f"{name} {arguments}\n{call_id}")
            case Result(call_id=call_id, parts=inner, name=name):
                found.append(f"{searchable(inner)}\n{name or ''} {call_id}".rstrip())
            case Media(kind=kind, mime=mime, reference=reference):
                found.append(" ".join(word for word in (kind, mime, reference) if word))
            case Opaque():
                found.append(part.text)
    return "\n".join(found)


def _answered(parts: Iterable[Part]) -> list[Part]:
    """Put what tools answered in the place of their results."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Result):
            found += _answered(part.parts)
        else:
            found.append(part)
    return found
