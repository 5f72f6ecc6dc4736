"""The token bar is drawn to scale, and reads without colours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lossless.cli.bar import Mark, cells, draw_bar, share

MARKS = [Mark(name="target", tokens=5_400), Mark(name="soft", tokens=7_200), Mark(name="hard", tokens=11_880)]


def lines(*shares: tuple[str, int], width: int = 80, ascii_only: bool = False, full: int = 11_880) -> list[str]:
    drawn = draw_bar([share(*each) for each in shares], MARKS, full=full, width=width, ascii_only=ascii_only)
    return [line.plain for line in drawn]


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=8), st.integers(1, 200))
def test_cells_fill_the_width_exactly(tokens: list[int], width: int) -> None:
    found = cells(tokens, width)
    assert sum(found) == (width if sum(tokens) else 0)
    assert min(found) >= 0


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=8), st.integers(16, 200))
def test_what_has_tokens_is_seen(tokens: list[int], width: int) -> None:
    assert min(cells(tokens, width)) >= 1


@given(st.lists(st.integers(0, 10**7), min_size=5, max_size=5), st.integers(10, 120), st.booleans())
def test_no_line_is_wider_than_asked(tokens: list[int], width: int, ascii_only: bool) -> None:
    names = ("pinned", "summaries", "messages", "stubs", "omission")
    bar, marks, *legend = lines(
        *zip(names, tokens, strict=True), width=width, ascii_only=ascii_only, full=max(11_880, sum(tokens))
    )
    assert len(bar) == width
    assert len(marks) <= width
    assert all(len(line) <= max(width, 24) for line in legend)
    if ascii_only:
        assert "".join([bar, marks, *legend]).isascii()


def test_the_bar_is_to_scale_and_free_is_what_is_left() -> None:
    bar, marks, *legend = lines(("pinned", 1_188), ("messages", 4_752), width=100)
    assert [bar.count(char) for char in "█▒·"] == [10, 40, 50]
    assert marks.index("▲target") == 44
    assert marks.index("▲soft") == 60
    assert marks.endswith("hard▲")
    assert "pinned 1 188   ▒ messages 4 752   · free 5 940" in legend[0]


def test_marks_too_close_for_their_names_are_still_there() -> None:
    close = [Mark(name=name, tokens=tokens) for name, tokens in (("target", 100), ("soft", 101), ("hard", 102))]
    _, marks, *legend = (line.plain for line in draw_bar([], close, full=10_000, width=40))
    assert "▲" in marks or marks == ""
    assert "▲ target 100" in "   ".join(legend)
