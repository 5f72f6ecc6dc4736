"""Named corrections: a person says that an earlier fact was wrong, and what is right (``actually it's 42, not 40``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lossless.policies.atoms import NUMERIC, Atom
from lossless.policies.prose import Fact, placed
from lossless.policies.words import CONDITION, NEGATION, content_words

__all__ = ["Correction", "correction_in", "replaced", "without_old"]


class Correction(NamedTuple):
    """What a clause corrects.

    Attributes:
        new: the atoms that are right.
        old: the atoms that it names as wrong; empty when it names none.
        named: whether it says so in words (``correction``, ``I meant``), not merely ``X, not Y``.
        words: the content words of the clause beside the atoms and the words of correcting.
    """

    new: tuple[Atom, ...]
    old: tuple[Atom, ...]
    named: bool
    words: frozenset[str]


_STRONG = re.compile(
    r"\b(?:correction|corrected|erratum|i meant|i mean|i misspoke|my mistake|my bad|scratch that|make that|oops|typo|mistyped"
    r"|mistaken|should (?:be|have been|read)|(?:is|was|were) (?:wrong|incorrect))\b",
    re.IGNORECASE,
)
_WEAK = re.compile(r"\b(?:actually|sorry|no,|wait|in fact|rather)(?!\w)", re.IGNORECASE)
_VERBS = "|".join(
    f"{verb}e?d?"
    for verb in (
        "chang",
        "updat",
        "rais",
        "lower",
        "increas",
        "decreas",
        "reduc",
        "mov",
        "switch",
        "bump",
        "adjust",
        "revis",
        "reschedul",
        "shift",
        "extend",
        "push",
    )
)
_CHANGE = re.compile(rf"\b(?:{_VERBS}|set|cut)\b", re.IGNORECASE)
_TO = re.compile(r"\bto\s+(?:the\s+|at\s+|about\s+)?$", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\s+(?:the\s+)?$", re.IGNORECASE)
_LITTLE = r"(?:the|a|at|on|by|in|for|to|from|with|it['’]?s|is|was)\s+"
_BEFORE_OLD = re.compile(rf"\b(?:not|instead of|rather than)\s+(?:{_LITTLE}){{0,2}}$", re.IGNORECASE)
_AFTER_OLD = re.compile(r"\s+(?:is|was|were)\s+(?:wrong|incorrect|mistaken|a (?:typo|mistake))\b", re.IGNORECASE)
_CUE_WORDS = frozenset(
    content_words(
        "correction corrected meant mean misspoke mistake bad scratch oops typo wrong incorrect instead wait fact sorry"
    )
)


def correction_in(fact: Fact) -> Correction | None:
    """Read the correction that a person's clause holds, or None."""
    if fact.question or fact.hedged or not fact.atoms:
        return None
    sentence = fact.text
    strong = _STRONG.search(sentence) is not None
    weak = strong or _WEAK.search(sentence) is not None
    atoms = placed(fact)
    old = tuple(atom for atom in atoms if _is_old(sentence, atom))
    new = tuple(atom for atom in atoms if atom not in old)
    changed = _changed(sentence, atoms)
    if changed is not None:
        (old, new), strong = changed, True
    if not new or not (weak or old or strong):
        return None
    words = frozenset(content_words(_beside(sentence, atoms))) - _CUE_WORDS
    if changed is not None:
        words -= frozenset(content_words(" ".join(_CHANGE.findall(sentence))))
    if not old and not strong and len(words) > 4:
        return None
    return Correction(new, old, strong or (weak and bool(old)), words)


def replaced(text: str, old: str, correction: Correction) -> str | None:
    """Give an old fact's text with the right value in the place of the wrong one, or None where that can't be done safely."""
    if text.count(old) != 1:
        return None
    kind = next((atom.kind for atom in correction.old if atom.text == old), None)
    fitting = [atom for atom in correction.new if kind is None or atom.kind == kind or {atom.kind, kind} <= NUMERIC]
    return text.replace(old, fitting[0].text) if len(fitting) == 1 else None


_TAIL = re.compile(r"[\s,;–—(-]*\b(?:and\s+)?(?:not|instead of|rather than)\s+(?:\w+['’]?\w*\s+){0,3}$", re.IGNORECASE)


def without_old(text: str, correction: Correction) -> str:
    """Leave a closing ``, not 40`` out of a correction that says the rest in its own words."""
    if len(correction.old) != 1:
        return text
    old = correction.old[0].text
    at = text.rfind(old)
    if at < 0 or text[at + len(old) :].strip(" .,;:!)") or correction.new[0].end > at:
        return text
    tail = _TAIL.search(text, max(0, at - 60), at)
    return text[: tail.start()] if tail else text


def _changed(sentence: str, atoms: Sequence[Atom]) -> tuple[tuple[Atom, ...], tuple[Atom, ...]] | None:
    """Read an order to change a value (``change the fee from 20 to 25``): the old values and the new one, or None."""
    verb = _CHANGE.search(sentence)
    if verb is None or NEGATION.search(sentence) or CONDITION.search(sentence):
        return None
    after = [atom for atom in atoms if atom.start > verb.end()]
    new = tuple(atom for atom in after if _TO.search(sentence, max(0, atom.start - 16), atom.start))
    old = tuple(atom for atom in after if _FROM.search(sentence, max(0, atom.start - 12), atom.start))
    return (old, new) if len(new) == 1 and len(old) <= 1 and len(atoms) == len(old) + 1 else None


def _is_old(sentence: str, atom: Atom) -> bool:
    before = _BEFORE_OLD.search(sentence, max(0, atom.start - 40), atom.start)
    return before is not None or _AFTER_OLD.match(sentence, atom.end) is not None


def _beside(sentence: str, atoms: Sequence[Atom]) -> str:
    written: list[str] = []
    reached = 0
    for atom in atoms:
        written.append(sentence[reached : atom.start])
        reached = atom.end
    return " ".join([*written, sentence[reached:]])
