"""Coverage: what summaries stand for, in any shape that a thread's summaries may have."""

from __future__ import annotations

from typing import Any

import pytest

from lossless.dag import coverage
from lossless.dag.coverage import Extents
from lossless.errors import CorruptError

Sources = dict[str, tuple[int | str, ...]]


def extents(monkeypatch: pytest.MonkeyPatch, sources: Sources) -> Extents:
    """Give extents of summaries of which only the sources are known."""
    monkeypatch.setattr(coverage, "sources_of", lambda _connection, _key, id: sources[id])
    unused: Any = None
    return Extents(unused, unused)


def test_a_summary_may_stand_over_thousands_of_others_one_over_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    chain: Sources = {"sum_1": (1, 2), **{f"sum_{n}": (f"sum_{n - 1}", n + 1) for n in range(2, 5_001)}}
    assert extents(monkeypatch, chain).of_summary("sum_5000") == ((1, 5_001),)


def test_ranges_are_given_in_the_order_of_the_sources_and_a_summary_may_stand_under_two(monkeypatch: pytest.MonkeyPatch) -> None:
    known: Sources = {"a": (1, 2), "b": (4,), "c": ("b", "a"), "d": ("a", 3, "b"), "e": ("c", "d")}
    found = extents(monkeypatch, known)
    assert found.of_summary("e") == ((4, 4), (1, 2), (1, 4))
    assert (found.of_summary("c"), found.of_summary("d")) == (((4, 4), (1, 2)), ((1, 4),))


@pytest.mark.parametrize("known", [{"a": ("a",)}, {"a": ("b",), "b": ("c", 1), "c": (2, "a")}, {"a": (1, "b"), "b": ("b",)}])
def test_a_summary_under_itself_is_refused(monkeypatch: pytest.MonkeyPatch, known: Sources) -> None:
    with pytest.raises(CorruptError, match="under itself"):
        extents(monkeypatch, known).of_summary("a")
