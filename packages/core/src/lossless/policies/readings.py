"""Readings: a text seen as values with the words beside them, so that two wordings of one fact can be compared."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from lossless.policies.atoms import Value, find_atoms, normalise
from lossless.policies.prose import sentences
from lossless.policies.units import NUMBER_WORDS, UNITS
from lossless.policies.words import NEGATION, content_words, stem

__all__ = ["Place", "Reading", "contains_whole", "reading_of"]


class Place(NamedTuple):
    """One occurrence of a value in a text.

    Attributes:
        value: what stands there, in its normal form.
        start: where.
        cell: the nearest words, up to the next value on either side, within the segment (between commas or ``and``).
        near: the words of the segment; of the segments before it where it has none.
        head: the word that names it: what is counted (``3 chairs``), else the word before (``price 45``); empty if none is near.
        before: the nearest word before it in its cell, or empty.
        sentence: which sentence of the text it is in.
    """

    value: Value
    start: int
    cell: frozenset[str]
    near: frozenset[str]
    head: str
    before: str
    sentence: int


class _Found(NamedTuple):
    value: Value
    start: int
    end: int
    key: str


class Reading:
    """A text with its values found by what they are, each with the words around it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = text.casefold()
        self.spans = tuple(_sentences(text))
        self._ends = [end for _, end in self.spans]
        self.atoms = find_atoms(text)
        self._starts = [atom.start for atom in self.atoms]
        self._found: Mapping[str, Sequence[_Found]] | None = None
        self._places: dict[str, tuple[Place, ...]] = {}
        self._words: dict[int, frozenset[str]] = {}

    def states(self, core: str) -> bool:
        """Say whether a value occurs at all."""
        return core in self._index()

    def places(self, core: str) -> Sequence[Place]:
        """Give the occurrences of a value, in order."""
        known = self._places.get(core)
        if known is None:
            known = self._places[core] = tuple(self._placed(found) for found in self._index().get(core, ()))
        return known

    def phrases(self, phrase: str) -> Iterator[Place]:
        """Give the occurrences of a word or phrase that holds no value, whole words only, in any letter case."""
        folded = phrase.casefold()
        if len(folded) != len(phrase) or len(self.folded) != len(self.text):
            return
        at = self.folded.find(folded)
        while at >= 0:
            end = at + len(folded)
            if _is_whole(self.folded, at, end):
                yield self._place(Value(folded, ""), at, end)
            at = self.folded.find(folded, end)

    def sentence_at(self, position: int) -> int:
        """Give the index of the sentence that holds a position."""
        return min(bisect_right(self._ends, position), len(self.spans) - 1)

    def words(self, sentence: int) -> frozenset[str]:
        """Give the content words of a sentence."""
        known = self._words.get(sentence)
        if known is None:
            begin, end = self.spans[sentence]
            known = self._words[sentence] = frozenset(content_words(self.text[begin:end]))
        return known

    def negates(self, sentence: int) -> bool:
        """Say whether a sentence holds a negation."""
        begin, end = self.spans[sentence]
        return NEGATION.pattern.search(self.text, begin, end) is not None

    def denies(self, place: Place) -> bool:
        """Say whether the clause that a value stands in denies it (``does not cost 340``, ``340 was wrong``).

        A bound (``not more than 340``) and a negation in another clause of the sentence deny nothing.
        """
        first, last = self.spans[place.sentence]
        begin, _ = self._segment(max(first, place.start - 120), place.start, place.start, place.start)
        if _DENIAL.search(self.text, begin, place.start) is not None:
            return True
        after = self.text[place.start : min(last, place.start + 80)]
        return _DENIED.match(after) is not None

    def _index(self) -> Mapping[str, Sequence[_Found]]:
        if self._found is None:
            found: dict[str, list[_Found]] = {}
            for one in self._values():
                found.setdefault(one.value.core, []).append(one)
            self._found = found  # set when it is whole: readings are shared between threads
        return self._found

    def _values(self) -> Iterator[_Found]:
        for atom in self.atoms:
            yield _Found(normalise(atom.kind, atom.text), atom.start, atom.end, "")
            if atom.kind == "kv":  # timeout=30 also states 30, named by its key
                key, _, right = atom.text.partition("=")
                for inner in find_atoms(right):
                    yield _Found(normalise(inner.kind, inner.text), atom.start, atom.end, key)
        for match in _COUNTED.finditer(self.text):
            yield _Found(Value(NUMBER_WORDS[match.group().casefold()], ""), match.start(), match.end(), "")

    def _placed(self, found: _Found) -> Place:
        place = self._place(found.value, found.start, found.end)
        if not found.key:
            return place
        names = content_words(found.key)
        return place._replace(cell=frozenset(names), near=frozenset(names), head=names[-1] if names else "", before="")

    def _place(self, value: Value, start: int, end: int) -> Place:
        sentence = self.sentence_at(start)
        first, last = self.spans[sentence]
        first, last = max(first, start - 300), min(last, end + 300)
        begin, stop = self._segment(first, last, start, end)
        left = max((atom.end for atom in self.atoms[: bisect_left(self._starts, start)][-1:] if atom.end > begin), default=begin)
        after = bisect_left(self._starts, end)
        right = self._starts[after] if after < len(self._starts) and self._starts[after] < stop else stop
        before_words = self._content(left, start) or self._content(begin, start)
        after_words = self._content(end, right)
        near = frozenset(self._content(begin, start)) | frozenset(self._content(end, stop))
        if not near:
            near = frozenset(self._content(first, start)[-6:])
        counts = not value.unit and after_words and self.text[end : end + 1] == " " and self.text[end + 1 : end + 2].isalpha()
        head = (after_words[:1] if counts else before_words[-1:]) or after_words[:1] or ("",)
        cell = frozenset(before_words) | frozenset(after_words)
        return Place(value, start, cell, near, head[0], (before_words or ("",))[-1], sentence)

    def _segment(self, first: int, last: int, start: int, end: int) -> tuple[int, int]:
        begin = first
        for match in _SEPARATOR.finditer(self.text, first, start):
            begin = match.end()
        following = _SEPARATOR.search(self.text, end, last)
        return begin, following.start() if following else last

    def _content(self, begin: int, end: int) -> tuple[str, ...]:
        """Give the words between two places that are no part of a value and no unit."""
        if end <= begin:
            return ()
        written: list[str] = []
        reached = begin
        for atom in self.atoms[max(0, bisect_left(self._starts, begin) - 1) : bisect_left(self._starts, end)]:
            written.append(self.text[reached : max(reached, atom.start)])
            reached = max(reached, atom.end)
        written.append(self.text[reached:end] if reached < end else "")
        return tuple(word for word in content_words(" ".join(written)) if word not in _UNIT_STEMS)


def reading_of(text: str) -> Reading:
    """Give the reading of a text; of a short one, remembered."""
    return _remembered(text) if len(text) <= _SHORT else Reading(text)


_SHORT = 600


@lru_cache(maxsize=1 << 11)
def _remembered(text: str) -> Reading:
    return Reading(text)


def contains_whole(text: str, part: str) -> bool:
    """Say whether a text holds another verbatim, and not as a piece of a longer word or number."""
    at = text.find(part) if part else -1
    while at >= 0:
        if _is_whole(text, at, at + len(part)):
            return True
        at = text.find(part, at + 1)
    return False


def _is_whole(text: str, begin: int, end: int) -> bool:
    """Say whether a part of a text is bounded on both sides by something that can't belong to its first or last word."""
    if begin and text[begin].isalnum() and _continues(text[begin - 1], text[begin - 2 : begin - 1]):
        return False
    if end == len(text) or not text[end - 1].isalnum():
        return True
    return not _continues(text[end], text[end + 1 : end + 2]) and not (text[end] == "%" and text[end - 1].isdigit())


def _continues(neighbour: str, beyond: str) -> bool:
    """Say whether a word goes on at a neighbouring character: a letter, a digit, or a sign with one behind it (``30.5``)."""
    if neighbour.isalnum() or neighbour == "_":
        return not _is_east_asian(neighbour)
    return neighbour in ".,-/:@\\" and beyond.isalnum()


def _is_east_asian(character: str) -> bool:
    return character >= "\u2e80"


_COUNTED = re.compile(rf"\b(?:{'|'.join(word for word in NUMBER_WORDS if word != 'one')})\b", re.IGNORECASE)
_SEPARATOR = re.compile(r",(?=\s)|、|\s(?:and|or|but|while|plus|vs\.?|&)(?=\s)|[|()]|\s[–—]\s|\s-\s")
_BOUND = r"more|less|fewer|later|earlier|longer|above|over|below|under|before|after|beyond|exceed|only|just|merely|sure|certain"
_DENIAL = re.compile(
    rf"\b(?:(?:not|never|neither|nor|cannot|instead of|rather than|\w{{2,8}}n['’]t)\b(?! (?:\w{{1,12}} )?(?:{_BOUND})\b)"
    rf"|no\b(?!\.|longer than| (?:{_BOUND})\b))",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\S{1,40}(?: \S{1,12})? (?:is|was|are|were)(?: now)? (?:wrong|incorrect|mistaken|a (?:typo|mistake)|no longer"
    r"|not (?:the|correct|right|true|valid))\b",
    re.IGNORECASE,
)
_UNIT_STEMS = frozenset(stem(unit) for unit in UNITS)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.split("\n"):
        found = False
        for begin, end in sentences(line):
            found = True
            yield start + begin, start + end
        if not found:
            yield start, start + len(line)
        start += len(line) + 1
