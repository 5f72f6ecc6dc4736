"""Formats: whose serialisation a payload is, and the registry that finds the reader for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lossless.messages.parts import Part

__all__ = ["Format", "Rendered", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message about to be shown to a model.

    Attributes:
        role: ``system``, ``developer``, ``user``, ``assistant`` or ``tool``.
        parts: its neutral reading; what is shown unless ``payload`` stands.
        origin: id of the message, summary or line that it stands for.
        payload: the stored payload, when it can be shown as it is: its format is the one rendered, and nothing was repaired.
        name: the name of the participant, where the payload gives one.
    """

    role: str
    parts: tuple[Part, ...]
    origin: str
    payload: Mapping[str, Any] | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """Messages in a provider's wire format; ``system`` apart where the provider wants it apart."""

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
        """Read a payload into parts; unknown blocks become Opaque; raises MessageError if it is no message at all."""
        ...

    def render(self, turns: Sequence[Turn]) -> Rendered:
        """Write turns as the provider's dicts, with the provider's keys only."""
        ...
