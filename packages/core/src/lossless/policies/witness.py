"""The witness: the exact, model-free check of a note against the source items it should hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from lossless.policies.atoms import Atom, Value, alike, find_atoms, normalise
from lossless.policies.model import Regime, SourceItem, Witness
from lossless.policies.readings import Place, Reading, contains_whole, reading_of
from lossless.policies.units import UNITS
from lossless.policies.words import HEDGE, content_words, stem

__all__ = ["Checker", "Known", "find_tag", "regime_of", "values_of", "witness"]


def witness(
    note_text: str,
    items: Sequence[SourceItem],
    conclusion: str | None = None,
    *,
    left_out: int = 0,
    sources: str | None = None,
) -> Witness:
    """Check which source items can be read from a note, and say what may be concluded from it.

    An item counts as kept when it stands there verbatim, or when each of its atoms does with a word of its label: a bare number,
    a piece of a longer number and a number beside another label don't count; other wording, another spelling of a date, a time
    or an amount, and another order do.

    Args:
        note_text: the note, its tag included.
        items: what its sources hold.
        conclusion: a value or sentence derived from the sources that the note should not carry, such as an earlier total.
        left_out: values of the sources that were counted without being read; they count as missing.
        sources: the full text of the sources, where it is at hand: what stands in it is not invented.
    """
    checker = Checker(note_text, items)
    missing = tuple(item for item in items if not checker.holds(item))
    kept = len(items) - len(missing)
    total = len(items) + left_out
    carried = conclusion is not None and checker.carries(conclusion)
    return Witness(
        regime=regime_of(note_text, kept, total, items, carried=carried),
        kept=kept,
        total=total,
        missing=missing,
        invented=Known(items, sources).inventions(checker.reading),
    )


# --- the verdict ----------------------------------------------------------------------------------------------------------

_POINTER = re.compile(r"expand\b[^\n]{0,200}?\b(?:sum|m|file)_\w")
_K_OF_N = re.compile(r"(?<![\w.])(\d{1,9}) of (?:the |its )?(?:original )?(\d{1,9})(?![\w.]*\d)")
_OF_ITEMS = re.compile(r"[^\n.;]{0,60}?\b(?:items?|facts?|sources?|kept|preserved|retained|remain)\b", re.IGNORECASE)
_NOTHING = "nothing|none|no (?:details?|facts?|sources?|items?|values?|figures?)"
_KEPT = "kept|retained|preserved|stored|saved|remembered"
_ADMITS = re.compile(
    rf"\b(?:{_NOTHING})\b[^.\n]{{0,80}}\b(?:{_KEPT}|available|here)\b"
    rf"|\b(?:not|were|was|are|is) (?:{_KEPT}|lost|dropped|omitted|discarded)\b|\bunknown\b|\binsufficient\b",
    re.IGNORECASE,
)


def regime_of(text: str, kept: int, total: int, items: Sequence[SourceItem], *, carried: bool = False) -> Regime:
    """Give the verdict on a note of which ``kept`` items can be read; ``carried``: it states a stale conclusion."""
    if kept == total:
        return "contaminated" if carried else "correctable"
    if _points(text, items):
        return "recoverable"
    if find_tag(text, total) is not None:
        return "partial_loud" if kept else "uncorrectable_loud"
    if kept:
        return "partial_silent"
    return "uncorrectable_loud" if not text.strip() or _ADMITS.search(text) else "uncorrectable_silent"


def _points(text: str, items: Sequence[SourceItem]) -> bool:
    """Say whether a note tells what to expand: an id of ours, or of a message that holds an item."""
    if _POINTER.search(text):
        return True
    at = text.find("expand")
    if at < 0:
        return False
    ids = {item.message_id for item in items}
    rest = text[at : at + 2000]
    return any(name and contains_whole(rest, name) for name in ids)


def find_tag(text: str, total: int | None = None) -> tuple[int, int] | None:
    """Find where a note says ``k of N`` with k < N: in brackets, beside a word such as ``items``, or with the N asked for."""
    for match in _K_OF_N.finditer(text):
        kept, told = int(match.group(1)), int(match.group(2))
        if kept < told and (
            told == total or text[match.start() - 1 : match.start()] == "[" or _OF_ITEMS.match(text, match.end())
        ):
            return match.span()
    return None


# --- items ----------------------------------------------------------------------------------------------------------------


class _Facet(NamedTuple):
    """One thing that must be readable for an item to count: a value or a phrase, with the words that give it its meaning."""

    place: Place
    phrase: str
    names_itself: bool


_NAMES_ITSELF = frozenset({"id", "hash", "path", "url", "email", "kv"})


_LEADING_TAG = re.compile(r"\A(?:\[\d{1,9} of \d{1,9}[^\]\n]{0,2000}\]|\d{1,9} of \d{1,9}$)", re.MULTILINE)
"""The note's own tag: what it counts is no evidence for an item."""


class Checker:
    """Checks items against one note."""

    def __init__(self, text: str, items: Sequence[SourceItem]) -> None:
        self.reading = Reading(_LEADING_TAG.sub(lambda tag: " " * len(tag.group()), text, count=1))
        self._items = items
        self._labels: frozenset[str] | None = None
        self._subjects: list[tuple[int, str]] | None = None

    def holds(self, item: SourceItem) -> bool:
        """Say whether an item can be read from the note."""
        text = self.reading.text
        if contains_whole(text, item.text):
            return True
        if not all(self._occurs(atom) for atom in item.atoms):
            return False
        facets = _facets(item)
        if not facets:
            return self._says(item)
        words = frozenset(content_words(item.text))
        cores = frozenset(facet.place.value.core for facet in facets)
        negative = item.kind == "constraint" or reading_of(item.text).negates(0)
        for facet in facets:
            if not any(self._states(item, facet, place, words, cores, negative) for place in self._occurrences(facet)):
                return False
        return True

    def carries(self, conclusion: str) -> bool:
        """Say whether the note states a conclusion: its sentence, or a value of it that no source item holds."""
        folded = conclusion.strip().casefold()
        if folded and contains_whole(self.reading.folded, folded) and not _is_source(folded, self._items):
            return True
        known = _cores(self._items)
        for atom in find_atoms(conclusion):
            value = normalise(atom.kind, atom.text)
            if value.core not in known and any(
                alike(value, place.value) or not value.unit for place in self.reading.places(value.core)
            ):
                return True
        return False

    # --- one facet --------------------------------------------------------------------------------------------------------

    def _occurs(self, atom: str) -> bool:
        """Say whether an item's atom occurs at all: the cheap test that most items of a short note fail."""
        values = values_of(atom)
        if not values:
            return atom.casefold() in self.reading.folded
        return all(self.reading.states(value.core) for value, _ in values)

    def _occurrences(self, facet: _Facet) -> Iterable[Place]:
        if facet.phrase:
            return self.reading.phrases(facet.phrase)
        return self.reading.places(facet.place.value.core)

    def _states(
        self, item: SourceItem, facet: _Facet, place: Place, words: frozenset[str], cores: frozenset[str], negative: bool
    ) -> bool:
        """Say whether one place of the note states one facet of an item."""
        wanted = facet.place.value
        if (
            not facet.phrase
            and not alike(wanted, place.value)
            and not self._unit_in_words(wanted, place, self.reading.words(place.sentence))
        ):
            return False
        if not self._named(facet, place, words) or not self._of_subject(place, cores):
            return False
        begin, end = self.reading.spans[place.sentence]
        if item.hedged and not HEDGE.pattern.search(self.reading.text, begin, end):
            return False
        if negative:
            return self.reading.negates(place.sentence) == reading_of(item.text).negates(0)
        return not self.reading.denies(place)

    @staticmethod
    def _unit_in_words(wanted: Value, place: Place, words: frozenset[str]) -> bool:
        """Let ``timeout_seconds: 30`` state 30 s."""
        if wanted.core != place.value.core or place.value.unit or wanted.unit not in _SPELLED:
            return False
        return bool(_SPELLED[wanted.unit] & words)

    def _named(self, facet: _Facet, place: Place, words: frozenset[str]) -> bool:
        """Say whether a value stands beside its own label, and not beside another one."""
        own = facet.place.cell or facet.place.near or words
        if not own:
            return True
        if place.before and place.before not in words and place.before in self._all_labels():
            return False
        around = place.cell or place.near
        if own & around:
            if not place.head or place.head in words:
                return True
            return facet.place.head in around and place.head not in self._all_labels()
        if not facet.names_itself:
            return False
        return not place.head or place.head in words or place.head not in self._all_labels()

    def _of_subject(self, place: Place, cores: frozenset[str]) -> bool:
        """Say whether the record that the note speaks of at a place is the item's own, where other items have other records."""
        subjects = self._all_subjects()
        begin, end = self.reading.spans[place.sentence]
        before = [core for at, core in subjects if at <= place.start and at >= begin]
        if before:
            return before[-1] in cores
        after = [core for at, core in subjects if place.start < at < end]
        if after:
            return after[0] in cores
        earlier = [core for at, core in subjects if at < begin]
        return not earlier or earlier[-1] in cores or not cores & frozenset(core for _, core in subjects)

    def _says(self, item: SourceItem) -> bool:
        """Say whether a sentence of the note has the words of an item that holds no value (a constraint, a command, an error)."""
        words = frozenset(content_words(item.text))
        if not words:
            return False
        needed = 0.6 if item.kind == "constraint" else 0.8
        negative = reading_of(item.text).negates(0)
        return any(
            len(words & self.reading.words(at)) >= needed * len(words) and self.reading.negates(at) == negative
            for at in range(len(self.reading.spans))
        )

    # --- the other items --------------------------------------------------------------------------------------------------

    def _all_labels(self) -> frozenset[str]:
        """Give the words by which items name their values."""
        if self._labels is None:
            found: set[str] = set()
            for item in self._items:
                named = _KEY.findall(item.text) if item.kind == "kv" else (item.text,)
                found.update(word for name in named for word in content_words(name))
            self._labels = frozenset(found)
        return self._labels

    def _all_subjects(self) -> list[tuple[int, str]]:
        """Give where in the note the records of items are named, in order."""
        if self._subjects is None:
            names = {subject for item in self._items if (subject := _subject(item))}
            places = ((place.start, core) for core in names for place in self.reading.places(core))
            self._subjects = sorted(places)
        return self._subjects


_SPELLED = {unit: frozenset(stem(word) for word, meant in UNITS.items() if meant == unit) for unit in UNITS.values()}


_KEY = re.compile(r"([A-Za-z_][\w.]*): ")


def _facets(item: SourceItem) -> list[_Facet]:
    reading = reading_of(item.text)
    found: list[_Facet] = []
    for text in item.atoms or tuple(atom.text for atom in reading.atoms):
        values = values_of(text)
        if not values:
            place = next(iter(reading.phrases(text)), None)
            if place is not None and place.cell | place.near:
                found.append(_Facet(place, text, text.isupper() and len(text) > 3))
        for value, kind in values:
            places = reading.places(value.core)
            if places:
                found.append(_Facet(places[0], "", kind in _NAMES_ITSELF and not value.core.isdigit()))
    return found


@lru_cache(maxsize=1 << 14)
def values_of(text: str) -> tuple[tuple[Value, str], ...]:
    """Give the values in an item's atom, with their kinds: one as a rule; of ``k=v`` its right side, which may be set apart."""
    atoms = find_atoms(text)
    if len(atoms) == 1 and atoms[0].kind == "kv":
        atoms = find_atoms(text.partition("=")[2]) or atoms
    return tuple((normalise(atom.kind, atom.text), atom.kind) for atom in atoms)


def _subject(item: SourceItem) -> str:
    """Give the id of the record that an item of several values is about."""
    if len(item.atoms) < 2:
        return ""
    atom = next((atom for atom in reading_of(item.text).atoms if atom.kind in _NAMES_ITSELF and atom.kind != "kv"), None)
    return normalise(atom.kind, atom.text).core if atom is not None else ""


def _cores(items: Iterable[SourceItem]) -> set[str]:
    return {
        normalise(atom.kind, atom.text).core for item in items for text in (item.text, *item.atoms) for atom in find_atoms(text)
    }


def _is_source(folded: str, items: Iterable[SourceItem]) -> bool:
    return any(contains_whole(item.text.casefold(), folded) for item in items)


# --- inventions -----------------------------------------------------------------------------------------------------------

_MARKER = re.compile(r"^\s*(?:[-*•]\s*)?\d{1,3}[.)]\s", re.MULTILINE)
_SHORT_TAG = re.compile(r"\A\[?\d{1,9} of \d{1,9}\b")
_OUR_ID = re.compile(r"(?:sum|m|file)_\w+$")
_RUN = re.compile(r"\d+")


class Known:
    """The numbers and ids that sources hold: of their items, and of their full text where that is at hand."""

    def __init__(self, items: Sequence[SourceItem], sources: str | None = None) -> None:
        self._ids = {item.message_id for item in items}
        parts = [item.text for item in items] + [atom for item in items for atom in item.atoms]
        self._told = "\n".join([*parts, sources or ""])
        self._cores: set[str] | None = None
        self._runs: set[str] = set()

    def inventions(self, reading: Reading) -> tuple[str, ...]:
        """Give the numbers and ids of a note that no source holds; its tag, pointers and list markers are its own."""
        own = [match.span() for match in (*_MARKER.finditer(reading.text), *_SHORT_TAG.finditer(reading.text))]
        tag = find_tag(reading.text)
        if tag is not None:
            in_brackets = reading.text[tag[0] - 1 : tag[0]] == "["
            own.append((tag[0], reading.text.find("]", tag[1]) if in_brackets else tag[1]))
        found = [
            atom.text
            for atom in reading.atoms
            if atom.kind != "ordinal"
            and any(map(str.isdigit, atom.text))
            and not any(begin <= atom.start < end for begin, end in own)
            and not self._holds(atom)
        ]
        return tuple(dict.fromkeys(found))

    def _holds(self, atom: Atom) -> bool:
        if atom.text in self._ids or _OUR_ID.match(atom.text) or contains_whole(self._told, atom.text):
            return True
        if self._cores is None:
            self._cores = {normalise(inner.kind, inner.text).core for inner in find_atoms(self._told)}
            self._runs = set(_RUN.findall(self._told))
        inside = (find_atoms(atom.text.partition("=")[2]) if atom.kind == "kv" else []) or [atom]
        cores = [normalise(inner.kind, inner.text).core for inner in inside]
        return all(core in self._cores or core in self._runs for core in cores)
