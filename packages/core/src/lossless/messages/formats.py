"""Formats: whose serialisation a payload is. How to read payloads into parts and write turns as a provider's dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lossless.messages.parts import Media, Part, Text
from lossless.messages.profiles import Profile
from lossless.messages.units import Shape, is_blank

__all__ = ["Format", "Rendered", "Turn", "is_request"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message about to be shown to a model.

    Attributes:
        role: ``system``, ``developer``, ``user``, ``assistant`` or ``tool``.
        parts: its neutral reading; what is shown unless ``payload`` stands.
        origin: id of the message, summary or line that it stands for; of a line made for the sake of another turn, that turn's.
        payload: the stored payload, when it can be shown as it is: its format is the one rendered, and nothing was repaired.
        name: the name of the participant, where the payload gives one.
        shape: the shape of ``parts``, where it is known already; it is read off the parts otherwise.
    """

    role: str
    parts: tuple[Part, ...]
    origin: str
    payload: Mapping[str, Any] | None = None
    name: str | None = None
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """Messages in a provider's wire format; ``system`` apart where the provider wants it apart. All of it is fresh."""

    messages: list[dict[str, Any]]
    system: Any = None


class Format(Protocol):
    """Reads the payloads of one serialisation and writes turns in it.

    Attributes:
        name: with a version, such as ``openai/1``.
    """

    name: str

    def role(self, payload: Mapping[str, Any]) -> str:
        """Give the neutral role of a payload, or raise MessageError for one the format does not know."""
        ...

    def read(self, payload: Mapping[str, Any]) -> tuple[Part, ...]:
        """Read a payload into parts; unknown blocks become Opaque; raises MessageError if it is no message at all.

        The parts refer to the payload's blocks: give one that nobody changes afterwards.
        """
        ...

    def render(self, turns: Sequence[Turn], profile: Profile | None = None) -> Rendered:
        """Write turns as the provider's dicts, with the provider's keys only.

        What the turns say is taken as it is: repair them first. ``profile`` matters only where one format is written for
        another provider, and its rules leave a choice.
        """
        ...


def is_request(role: str, parts: Sequence[Part]) -> bool:
    """Tell whether a person sent this message: the user's, with words or media beside any tool results."""
    return role == "user" and any(
        not is_blank(part.text) if isinstance(part, Text) else isinstance(part, Media) for part in parts
    )
