"""The token bar: what a context is made of, drawn to scale, with marks for the thresholds.

Parts differ by character as well as by colour, so that the bar reads without colours, too, and where only ASCII can be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lossless.cli.output import number

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Mark", "Share", "cells", "draw_bar", "filled_lines", "share"]

# Kind of share: character, character where only ASCII is known, style.
_LOOKS = {
    "pinned": ("█", "@", "magenta"),
    "summaries": ("▓", "#", "cyan"),
    "messages": ("▒", "=", "green"),
    "stubs": ("▞", "~", "yellow"),
    "omission": ("▏", "!", "red"),
    "free": ("·", ".", "bright_black"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A part of the bar, in tokens."""

    name: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A threshold, in tokens."""

    name: str
    tokens: int


def share(name: str, tokens: int) -> Share:
    """Make a part of the bar."""
    return Share(name=name, tokens=tokens)


def draw_bar(shares: Sequence[Share], marks: Sequence[Mark], *, full: int, width: int, ascii_only: bool = False) -> list[Text]:
    """Draw the bar, a line with marks, and a legend.

    Args:
        shares: from left to right; what is left of ``full`` is free.
        marks: the thresholds, by rising tokens.
        full: the tokens at the right end of the bar.
        width: characters of the bar; the legend takes no more either.
        ascii_only: whether nothing but ASCII can be shown.
    """
    from rich.text import Text

    free = max(0, full - sum(each.tokens for each in shares))
    drawn = [*shares, Share(name="free", tokens=free)]
    bar = Text()
    for each, count in zip(drawn, cells([each.tokens for each in drawn], width), strict=True):
        glyph, plain, style = _LOOKS[each.name]
        bar.append((plain if ascii_only else glyph) * count, style)
    return [bar, _mark_line(marks, full, width, ascii_only), *_legend(drawn, marks, width, ascii_only)]


def cells(tokens: Sequence[int], width: int) -> list[int]:
    """Share out ``width`` cells by tokens; what has tokens gets a cell at least, as long as there are enough."""
    whole = sum(tokens)
    if whole <= 0:
        return [0] * len(tokens)
    found, passed, before = [], 0, 0
    for each in tokens:
        passed += each
        until = round(passed * width / whole)
        found.append(until - before)
        before = until
    for place, each in enumerate(tokens):
        if each > 0 and found[place] == 0:
            largest = max(range(len(found)), key=lambda other: found[other])
            if found[largest] > 1:
                found[largest] -= 1
                found[place] = 1
    return found


def _mark_line(marks: Sequence[Mark], full: int, width: int, ascii_only: bool) -> Text:
    from rich.text import Text

    pointer = "^" if ascii_only else "▲"
    words = _placed([(_column(mark, full, width), f"{pointer}{mark.name}", f"{mark.name}{pointer}") for mark in marks], width)
    if words is None:
        words = _placed([(_column(mark, full, width), pointer, pointer) for mark in marks], width) or ""
    return Text(words, "bold")


def _column(mark: Mark, full: int, width: int) -> int:
    return min(width - 1, max(0, round(mark.tokens * width / max(1, full)) - 1))


def _placed(labels: Sequence[tuple[int, str, str]], width: int) -> str | None:
    """Write each label at its column, to the right of it or else to the left; None if they don't fit side by side."""
    line = ""
    for column, right, left in labels:
        if column + len(right) <= width and column >= len(line):
            line = f"{line:<{column}}{right} "
        elif column - len(left) + 1 >= len(line):
            line = f"{line:<{column - len(left) + 1}}{left} "
        else:
            return None
    return line.rstrip()


def _legend(shares: Sequence[Share], marks: Sequence[Mark], width: int, ascii_only: bool) -> list[Text]:
    from rich.text import Text

    pointer = "^" if ascii_only else "▲"
    spent = []
    for each in shares:
        if each.tokens > 0:
            glyph, plain, style = _LOOKS[each.name]
            spent.append(Text.assemble((plain if ascii_only else glyph, style), f" {each.name} {number(each.tokens)}"))
    named = [Text.assemble((pointer, "bold"), f" {mark.name} {number(mark.tokens)}") for mark in marks]
    return filled_lines(spent, width) + filled_lines(named, width)


def filled_lines(entries: Sequence[Text], width: int) -> list[Text]:
    """Put as many entries into each line as fit."""
    lines: list[Text] = []
    for entry in entries:
        if lines and lines[-1].cell_len + 3 + entry.cell_len <= width:
            lines[-1].append("   ").append_text(entry)
        else:
            lines.append(entry)
    return lines
