"""Ranking without an index: which of the texts that a scan has found are the best, by BM25 over those that were looked at."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from lossless.store.words import And, Expression, Not, Or, Phrase, Prefix, Term, holds

__all__ = ["Ranking"]

K = TypeVar("K")
_SATURATION, _LENGTH = 1.2, 0.75  # the usual k1 and b


@dataclass(slots=True)
class Ranking(Generic[K]):
    """Texts that match an expression, in the making: give it every text that is looked at, newest first."""

    expression: Expression
    _wanted: tuple[Term | Prefix, ...] = ()
    _found: list[tuple[K, tuple[int, ...], int]] = field(default_factory=list)
    _texts: int = 0
    _tokens: int = 0

    def __post_init__(self) -> None:
        self._wanted = tuple(dict.fromkeys(_leaves(self.expression)))

    def look_at(self, key: K, tokens: Sequence[str]) -> None:
        """Count a text, and keep its key if it matches."""
        self._texts += 1
        self._tokens += len(tokens)
        if holds(self.expression, tokens):
            counts = Counter(tokens)
            self._found.append((key, tuple(_times(wanted, counts) for wanted in self._wanted), len(tokens)))

    def best(self) -> list[K]:
        """Give the keys of those that match, the best first, in the order they came among equals."""
        usual = max(1.0, self._tokens / max(1, self._texts))
        weights = [self._weight(place) for place in range(len(self._wanted))]

        def score(found: tuple[K, tuple[int, ...], int]) -> float:
            _key, times, length = found
            spread = _SATURATION * (1 - _LENGTH + _LENGTH * length / usual)
            return sum(
                weight * count * (_SATURATION + 1) / (count + spread) for weight, count in zip(weights, times, strict=True)
            )

        return [found[0] for found in sorted(self._found, key=score, reverse=True)]

    def _weight(self, place: int) -> float:
        """Give how telling a word is: rare ones are. Only texts that match are counted, so that none is held for it."""
        having = sum(1 for _key, times, _length in self._found if times[place])
        return math.log(1 + (self._texts - having + 0.5) / (having + 0.5))


def _times(wanted: Term | Prefix, counts: Counter[str]) -> int:
    if isinstance(wanted, Term):
        return counts[wanted.token]
    return sum(count for token, count in counts.items() if token.startswith(wanted.token))


def _leaves(expression: Expression) -> Iterator[Term | Prefix]:
    """Give the words that a text is to have."""
    match expression:
        case Term() | Prefix():
            yield expression
        case Phrase(tokens=tokens, prefix=prefix):
            whole = tokens[:-1] if prefix else tokens
            yield from map(Term, whole)
            if prefix:
                yield Prefix(tokens[-1])
        case And(operands=operands) | Or(operands=operands):
            for operand in operands:
                yield from _leaves(operand)
        case Not(keep=keep):
            yield from _leaves(keep)
