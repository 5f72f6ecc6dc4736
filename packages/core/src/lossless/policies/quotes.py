"""What the engine itself once rendered and somebody quoted: summaries, stubs, tags, omission lines. It is nobody's own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

__all__ = ["engine_quotes", "replace_quotes"]

_LINES = re.compile(
    r"\[(?:trimmed|shortened) [^\]\n]{1,2000}\]"
    r"|\[\d{1,9} of \d{1,9} source items kept[^\]\n]{0,2000}\]"
    r"|\[\d{1,9} \w{1,20} not shown, [^\]\n]{0,2000}\]"
)
_SUMMARY = '<summary id="sum_'
_SUMMARY_END = "</summary>"


def engine_quotes(text: str) -> list[tuple[int, int]]:
    """Find what the engine rendered inside a text: begin and end of each, in order; an unclosed summary is ordinary text."""
    found: list[tuple[int, int]] = []
    reached = 0
    for begin, end in _summaries(text):
        found += [*_lines(text, reached, begin), (begin, end)]
        reached = end
    return [*found, *_lines(text, reached, len(text))]


def replace_quotes(text: str, by: Callable[[str], str]) -> str:
    """Put something else in the place of each quote."""
    quotes = engine_quotes(text)
    if not quotes:
        return text
    written: list[str] = []
    reached = 0
    for begin, end in quotes:
        written += [text[reached:begin], by(text[begin:end])]
        reached = end
    return "".join([*written, text[reached:]])


def _summaries(text: str) -> Iterator[tuple[int, int]]:
    begin = text.find(_SUMMARY)
    while begin >= 0:
        end = text.find(_SUMMARY_END, begin)
        if end < 0:
            return
        yield begin, end + len(_SUMMARY_END)
        begin = text.find(_SUMMARY, end)


def _lines(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    if text.find("[", begin, end) >= 0:
        for match in _LINES.finditer(text, begin, end):
            yield match.span()
