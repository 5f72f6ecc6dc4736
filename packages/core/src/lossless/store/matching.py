"""Matching: whether and where one message has what a search looks for."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Protocol

import regex

from lossless.errors import QueryError
from lossless.messages.model import Message
from lossless.messages.parts import searchable

__all__ = [
    "MOST_PATTERN",
    "REGEX_SECONDS",
    "Matcher",
    "OutOfTimeError",
    "RegexMatcher",
    "prefilter",
    "snippet",
    "substring_matcher",
]

REGEX_SECONDS = 1.0
"""How long a regular expression may search for one page."""
MOST_PATTERN = 2_000
"""Characters of a regular expression: the library looks at the clock too seldom in longer ones."""
_MOST_REPEATED = 20_000
_TAG = b'"$lossless"'
_SNIPPET = 200
_COUNT = re.compile(r"\{(\d{1,9})(?:,\d*)?\}")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


class Matcher(Protocol):
    """Gives the place of a match in a message's searchable text, or None."""

    def __call__(self, message: Message) -> int | None:
        """Look at one message."""


def substring_matcher(pattern: str) -> Matcher:
    """Give what finds a substring in any case."""
    folded = pattern.casefold()

    def matches(message: Message) -> int | None:
        place = searchable(message.parts).casefold().find(folded)
        return place if place >= 0 else None

    return matches


class OutOfTimeError(Exception):
    """The time of a page is used up, most of it by other messages than the one that was to be looked at."""


class RegexMatcher:
    """Finds a regular expression, within ``REGEX_SECONDS`` for all messages together.

    Raises:
        QueryError: it can't be read, is too long, or would be too large.
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > MOST_PATTERN:
            raise QueryError(
                f"a regular expression may have {MOST_PATTERN:,} characters, this one has {len(pattern):,}",
                hint="look for a part of it",
            )
        if _expanded(pattern) > _MOST_REPEATED:
            raise QueryError("the regular expression repeats too much", hint="use + or *, or smaller counts")
        try:
            self._compiled = regex.compile(pattern)
        except (regex.error, RecursionError, OverflowError, ValueError, MemoryError) as error:
            raise QueryError(f"the regular expression can't be read: {error}", hint="check brackets and escapes") from None
        self._deadline: float | None = None

    def __call__(self, message: Message) -> int | None:
        """Look at one message.

        Raises:
            QueryError: it alone takes longer than most of the time.
            OutOfTimeError: there was not enough time left for it.
        """
        now = time.monotonic()
        self._deadline = self._deadline or now + REGEX_SECONDS  # reading the first message does not count, so each page gets on
        left = self._deadline - now
        if left <= 0:
            raise OutOfTimeError
        try:
            found = self._compiled.search(searchable(message.parts), timeout=left)
        except (TimeoutError, MemoryError):
            if left < REGEX_SECONDS / 2:
                raise OutOfTimeError from None
            raise QueryError(
                f"the regular expression took longer than {REGEX_SECONDS:g} s, at message {message.id}",
                hint="make it simpler, or search for words first",
            ) from None
        return found.start() if found is not None else None


def _expanded(pattern: str) -> int:
    """Estimate how many steps a pattern has when its counts are written out, as the library does when it reads it."""
    plain = _CLASS.sub("a", re.sub(r"\\.", "a", pattern, flags=re.DOTALL))
    groups, total, last, place = [], 0, 0, 0
    while place < len(plain):
        sign = plain[place]
        count = _COUNT.match(plain, place)
        if count is not None:
            total += last * (max(1, int(count[1])) - 1)
            last *= max(1, int(count[1]))
            place = count.end()
            continue
        if sign == "(":
            groups.append(total)
            total = last = 0
        elif sign == ")" and groups:
            last, total = total, total + groups.pop()
        else:
            total, last = total + 1, 1
        place += 1
    return total + sum(groups)


def prefilter(pattern: str) -> Callable[[bytes], bool] | None:
    """Give a cheap test that no message with the pattern fails: its longest run of letters and digits stands in the payload."""
    runs = regex.findall(r"[\p{L}\p{N}_]+", pattern)
    if not runs:
        return None
    folded = max(runs, key=len).casefold()
    lowered = folded.encode("utf-8", "surrogatepass")

    def may_match(data: bytes) -> bool:
        if _TAG in data:
            return True  # what JSON can't say is stored in other words than it is read in
        if data.isascii():
            return lowered in data.lower()
        # Some signs fold to several letters, ASCII ones among them.
        return folded in data.decode("utf-8", "surrogatepass").casefold()

    return may_match


def snippet(message: Message, place: int) -> str:
    """Give what stands around a place of a message's searchable text, on one line."""
    whole = searchable(message.parts)
    start = max(0, min(place, len(whole)) - _SNIPPET // 4)
    shown = " ".join(whole[start : start + _SNIPPET].split())
    return ("… " if start else "") + shown + (" …" if start + _SNIPPET < len(whole) else "")
