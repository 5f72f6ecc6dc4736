"""Chance from a seed that gives the same on every Python version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Dice"]

Thing = TypeVar("Thing")

_MASK = (1 << 64) - 1
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


class Dice:
    """A SplitMix64 generator."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def number(self) -> int:
        """Give 64 bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def between(self, low: int, high: int) -> int:
        """Give a number, both ends included."""
        return low + self.number() % (high - low + 1)

    def around(self, middle: float, share: float) -> float:
        """Give a number that differs from the middle by at most a share of it."""
        return middle * (1 + share * (self.between(-1_000, 1_000) / 1_000))

    def happens(self, percent: int) -> bool:
        """Tell whether something happens that does so in so many of a hundred cases."""
        return self.between(1, 100) <= percent

    def pick(self, things: Sequence[Thing]) -> Thing:
        """Pick one."""
        return things[self.number() % len(things)]

    def letters(self, count: int) -> str:
        """Give letters and digits, as in the ids of a provider."""
        return "".join(self.pick(_LETTERS) for _ in range(count))

    def hexadecimal(self, count: int) -> str:
        """Give hexadecimal digits, as in the ids of traces and commits."""
        return "".join(self.pick("0123456789abcdef") for _ in range(count))
