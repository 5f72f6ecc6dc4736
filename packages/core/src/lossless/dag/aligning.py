"""Aligning: which messages of a given transcript are new to a thread, when nothing but their content tells. Pure.

What was given must be a part of what is stored, or run on from its end; the stored and the given part overlap in one piece. Where
several overlaps are possible, the longest is taken. Where none is, all is new: ambiguity ends in visible duplication, never in
loss.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

__all__ = ["count_known", "overlap"]


def count_known(stored: Sequence[Hashable], given: Sequence[Hashable]) -> int:
    """Count how many messages at the front of ``given`` are stored already; the rest is new.

    Linear in the length of both.
    """
    return overlap(stored, given) or _common_prefix(stored, given)


def overlap(stored: Sequence[Hashable], given: Sequence[Hashable]) -> int:
    """Give the length of the longest front of ``given`` that stands at the end of ``stored``; all of it, if it stands anywhere.

    Linear in the length of both.
    """
    if not given:
        return 0
    failure = _failure(given)
    matched = 0
    for value in stored:
        while matched and (matched == len(given) or given[matched] != value):
            matched = failure[matched - 1]
        if given[matched] == value:
            matched += 1
            if matched == len(given):
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
