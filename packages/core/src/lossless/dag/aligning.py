"""Aligning: which messages of a given transcript are new to a thread, when nothing but their content tells. Pure.

What was given must be a part of what is stored, or run on from its end; the stored and the given part overlap in one piece. Where
several overlaps are possible, the longest is taken. Where none is, all is new: ambiguity ends in visible duplication, never in
loss.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

__all__ = ["count_known", "filled", "overlap"]


def count_known(stored: Sequence[Hashable], given: Sequence[Hashable]) -> int:
    """Count how many messages at the front of ``given`` are stored already; the rest is new.

    Linear in the length of both.
    """
    return overlap(stored, given) or _common_prefix(stored, given)


def overlap(stored: Sequence[Hashable], given: Sequence[Hashable], may_end: Sequence[bool] | None = None) -> int:
    """Give the length of the longest front of ``given`` that stands at the end of ``stored``; all of it, if it stands anywhere.

    ``may_end`` says of each stored value whether all that is given may end there; None: everywhere. Linear in the length of both.
    """
    if not given:
        return 0
    failure = _failure(given)
    matched = 0
    for index, value in enumerate(stored):
        while matched and (matched == len(given) or given[matched] != value):
            matched = failure[matched - 1]
        if given[matched] == value:
            matched += 1
            if matched == len(given) and (may_end is None or may_end[index]):
                return matched
    return matched


def _failure(given: Sequence[Hashable]) -> list[int]:
    """For each front of ``given``, the longest shorter front that is also its end (Knuth, Morris and Pratt)."""
    failure = [0] * len(given)
    matched = 0
    for index in range(1, len(given)):
        while matched and given[index] != given[matched]:
            matched = failure[matched - 1]
        if given[index] == given[matched]:
            matched += 1
        failure[index] = matched
    return failure


def _common_prefix(stored: Sequence[Hashable], given: Sequence[Hashable]) -> int:
    count = 0
    for one, other in zip(stored, given, strict=False):
        if one != other:
            break
        count += 1
    return count


def filled(stored: Sequence[T], gaps: Mapping[int, Hashable], given: Sequence[T], kinds: Sequence[Hashable]) -> list[T]:
    """Give what is stored with its gaps filled from what is given, where the rest of both says that they belong together.

    A gap is a message that was erased: of its content nothing is known any more, only its kind. What stands around it tells what
    it was; two gaps in a row, or a thread of gaps alone, tell it by their kinds.

    Args:
        stored: values in order; those at gaps don't matter.
        gaps: the kind of each gap, by its index in ``stored``.
        given: values in order, and ``kinds`` the kind of each.
    """
    out = list(stored)
    if not gaps or not given:
        return out
    for start, length in _fits(stored, gaps, given, kinds):
        empty = sum(index in gaps for index in range(start, start + length))
        if length > empty or empty > 1 or length == len(stored):
            out[start : start + length] = given[:length]
            return out
    return out


def _fits(
    stored: Sequence[T], gaps: Mapping[int, Hashable], given: Sequence[T], kinds: Sequence[Hashable]
) -> Iterator[tuple[int, int]]:
    """Give where all that is given fits, then where a front of it fits the end of what is stored, the longest first.

    Bit ``n`` of ``state`` says whether the front of ``n + 1`` given values ends where the walk is.
    """
    of_value: dict[Hashable, int] = {}
    of_kind: dict[Hashable, int] = {}
    for place, (value, kind) in enumerate(zip(given, kinds, strict=True)):
        of_value[value] = of_value.get(value, 0) | 1 << place
        of_kind[kind] = of_kind.get(kind, 0) | 1 << place
    last = 1 << (len(given) - 1)
    state = 0
    for index, value in enumerate(stored):
        fitting = of_kind.get(gaps[index], 0) if index in gaps else of_value.get(value, 0)
        state = (state << 1 | 1) & fitting
        if state & last:
            yield index + 1 - len(given), len(given)
    for length in range(state.bit_length(), 0, -1):
        if state >> (length - 1) & 1:
            yield len(stored) - length, length
