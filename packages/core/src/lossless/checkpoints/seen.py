"""What was read of some checkpoints, of which the next ones have most again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Seen"]

_MOST = 32 * 1024 * 1024
"""Bytes of parts that are kept; above, all are forgotten at once, so that whatever a part refers to is kept as long as itself."""


@dataclass(slots=True, kw_only=True)
class Seen:
    """Parts that were loaded, and what makes their values afresh. For one reader at a time.

    Attributes:
        parts: content by address; what a part refers to was loaded with it.
        makers: by item, what makes a value of its own each time.
        size: bytes of the parts.
    """

    parts: dict[bytes, bytes] = field(default_factory=dict)
    makers: dict[bytes, Callable[[], Any]] = field(default_factory=dict)
    size: int = 0

    def add(self, parts: Mapping[bytes, bytes]) -> None:
        """Keep parts."""
        self.parts.update(parts)
        self.size += sum(map(len, parts.values()))

    def make_room(self) -> None:
        """Forget everything if it is too much."""
        if self.size > _MOST:
            self.parts, self.makers, self.size = {}, {}, 0
