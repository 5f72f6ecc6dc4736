"""Aligning a transcript with what is stored, by content alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossless.dag.aligning import count_known, filled

FEW = st.lists(st.sampled_from("ab"), max_size=12)  # two values only, so that sequences repeat themselves


def longest_overlap(stored: list[str], given_: list[str]) -> int:
    """Say it plainly, in quadratic time: all of it stands somewhere, or its longest front stands at the end, or at the start."""
    for start in range(len(stored) - len(given_) + 1):
        if given_ and stored[start : start + len(given_)] == given_:
            return len(given_)
    for length in range(min(len(stored), len(given_)), 0, -1):
        if stored[-length:] == given_[:length]:
            return length
    length = 0
    while length < min(len(stored), len(given_)) and stored[length] == given_[length]:
        length += 1
    return length


@given(FEW, FEW)
def test_the_count_is_the_longest_overlap(stored: list[str], given_: list[str]) -> None:
    assert count_known(stored, given_) == longest_overlap(stored, given_)


@given(FEW, st.data())
def test_any_part_of_what_is_stored_is_known(stored: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(stored)))
    stop = data.draw(st.integers(start, len(stored)))
    assert count_known(stored, stored[start:stop]) == stop - start


@given(FEW, st.lists(st.sampled_from("xyz"), max_size=4), st.data())
def test_what_follows_a_part_that_reaches_the_end_is_new(stored: list[str], new: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(stored)))
    part = stored[start:]
    assert count_known(stored, part + new) == len(part)


def test_repetitions_take_linear_time() -> None:
    started = time.process_time()
    assert count_known(["a"] * 200_000, ["a"] * 100_000 + ["b"]) == 100_000
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("stored", "gaps", "given", "found"),
    [
        ("ab_d", {2: "u"}, "abcd", "abcd"),
        ("ab_d", {2: "u"}, "abcde", "abcd"),
        ("ab_d", {2: "u"}, "cd", "abcd"),
        ("ab_d", {2: "x"}, "abcd", "ab_d"),  # another kind
        ("ab_", {2: "u"}, "c", "ab_"),  # a gap alone tells nothing
        ("ab__", {2: "u", 3: "u"}, "cd", "abcd"),
        ("_", {0: "u"}, "a", "a"),  # a thread of gaps alone
        ("_bc", {0: "u"}, "xy", "_bc"),
        ("ab_d", {2: "u"}, "", "ab_d"),
    ],
)
def test_gaps_are_told_by_what_stands_around_them(stored: str, gaps: dict[int, str], given: str, found: str) -> None:
    assert "".join(filled(list(stored), gaps, list(given), ["u"] * len(given))) == found
