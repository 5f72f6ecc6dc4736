"""Ranking: which source items matter most when not all of them fit, and which sentences are the most central."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lossless.policies.model import Decision, SourceItem
from lossless.policies.prose import sentences
from lossless.policies.sources import Source
from lossless.policies.words import NEGATION, content_words

__all__ = ["Sentence", "central_sentences", "mentions", "ranked"]


class Sentence(NamedTuple):
    """A sentence of a note's prose part: who said it, where in the order, and how central it is."""

    role: str
    text: str
    place: int
    weight: float


_WORTH = {
    "constraint": 9.0,
    "money": 8.0,
    "id": 8.0,
    "hash": 8.0,
    "path": 8.0,
    "date": 7.0,
    "url": 7.0,
    "command": 7.0,
    "time": 6.0,
    "error": 6.0,
    "quantity": 6.0,
    "version": 5.0,
    "kv": 4.0,
    "number": 3.0,
}
_HEDGED = -1000.0


def ranked(items: Sequence[SourceItem], goal: str | None, mentioned: frozenset[str]) -> list[int]:
    """Give the places of the items, the most valuable first.

    Constraints, ids, amounts, paths and dates come first, a person's before a tool's; words of the goal and values that somebody
    took up again raise an item; of many alike (a search result of fifty rows) each counts little; hedged items come last.
    """
    wanted = frozenset(content_words(goal)) if goal else frozenset()
    named = mentions([goal]) if goal else frozenset()
    shapes = [_shape(item) for item in items]
    like = Counter(shapes)
    taken_up = Counter(atom for item in items for atom in item.atoms if atom in mentioned)
    worth = [
        _worth(item) + 4 / like[shape] ** 0.5 + _taken_up(item, taken_up) + _fits(item, wanted, named)
        for item, shape in zip(items, shapes, strict=True)
    ]
    return sorted(range(len(items)), key=lambda at: (-worth[at], at))


def mentions(texts: Iterable[str]) -> frozenset[str]:
    """Give the values that texts name: words with a digit in them."""
    return frozenset(word for text in texts for word in _NAMED.findall(text))


def central_sentences(sources: Sequence[Source], items: Sequence[SourceItem], decisions: Sequence[Decision]) -> list[Sentence]:
    """Give the sentences that users and assistants wrote, the most central first, without those that items or decisions say.

    Central is what is made of the words that are frequent in the whole. An assistant's sentence with a value is left out: it
    repeats a source, or concludes from one what can be concluded again.
    """
    told: dict[str, list[tuple[int, int]]] = {}
    for item in items:
        if item.role == "user":
            told.setdefault(item.message_id, []).append(item.span)
    known = {decision.text.casefold() for decision in decisions}
    found: dict[str, tuple[str, str, tuple[str, ...]]] = {}
    for source in sources:
        spans = told.get(source.id, ())
        for passage in source.passages:
            if passage.role not in ("user", "assistant"):
                continue
            for start, text in _of_prose(passage.text):
                key = text.casefold()
                if key in known or key in found or (passage.role == "assistant" and _DIGIT.search(text)):
                    continue
                start += passage.start
                if any(start < end and begin < start + len(text) for begin, end in spans):
                    continue
                words = content_words(text)
                if len(words) >= 3:
                    found[key] = (passage.role, text, words)
    frequent = Counter(word for _, _, words in found.values() for word in set(words))
    listed = [
        Sentence(
            role, text, place, sum(frequent[word] for word in set(words)) / (len(words) + 4) * (1.5 if role == "user" else 1)
        )
        for place, (role, text, words) in enumerate(found.values())
    ]
    return sorted(listed, key=lambda sentence: (-sentence.weight, sentence.place))


# --- worth ----------------------------------------------------------------------------------------------------------------

_NAMED = re.compile(r"(?<![\w.-])(?=[\w-]{0,60}\d)[\w-]{3,64}(?:\.\w{1,64}){0,4}")
_DIGIT = re.compile(r"\d")
_KEY = re.compile(r"([A-Za-z_][\w.]*): ")
_AMOUNT = re.compile(r"(?i:price|amount|total|cost|balance|fee|paid|due|refund|budget)\w*: [^\s,]*\d|[$€£]\s?\d")
_IDENTITY = re.compile(r"(?<![\w-])(?=[A-Za-z_-]{0,60}\d)(?=[\d_-]{0,60}[A-Za-z])[\w-]{4,}|(?:^|[_ ])id: ")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def _worth(item: SourceItem) -> float:
    worth = _WORTH.get(item.kind, 3.0) - len(item.text) / 60
    if item.kind == "kv":
        worth += 4 * (_AMOUNT.search(item.text) is not None)
        worth += 2 * (_IDENTITY.search(item.text) is not None)
        worth += _DAY.search(item.text) is not None
    if item.role == "user":
        worth += 5
    return worth + _HEDGED if item.hedged else worth


def _taken_up(item: SourceItem, taken_up: Mapping[str, int]) -> float:
    """Raise an item by its rarest value that was taken up again; one that half of the items share says little."""
    rarest = min((taken_up[atom] for atom in item.atoms if atom in taken_up), default=0)
    return 5 / rarest**0.5 if rarest else 0.0


def _fits(item: SourceItem, wanted: frozenset[str], named: frozenset[str]) -> float:
    if not wanted and not named:
        return 0.0
    denies = NEGATION.search(item.text) is not None  # what was not bought is not what is asked for
    words = 0 if denies else len(wanted.intersection(content_words(item.text)))
    return 4.0 * min(3, words) + (8.0 if any(atom in named for atom in item.atoms) else 0.0)


def _shape(item: SourceItem) -> str:
    """Give what alike items have in common: of records the tool and the keys; a clause is like no other."""
    if item.role == "tool" and item.kind in ("kv", "error"):
        return f"{item.origin.partition('(')[0]} {' '.join(_KEY.findall(item.text))}"
    return item.text if item.role == "user" else f"{item.origin} {item.kind}"


def _of_prose(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        if 20 <= len(line) <= 20_000:
            for begin, end in sentences(line):
                sentence = line[begin:end].strip(" \t*-#>")
                if 20 <= len(sentence) <= 300:
                    yield start + begin, sentence
        start += len(line) + 1
