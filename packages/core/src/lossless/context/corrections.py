"""Corrections: telling that a person corrects something, and finding what is meant.

A wrong detection costs tokens, never a fact: what is shown again are the sources of a summary. Found is what shares the values or
the words of the correction; of equals, what was said first, by a person or a tool.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from lossless.context.cues import has_cue, may_have_cue
from lossless.context.restating import labelled, restated, worth_comparing
from lossless.messages.model import Message
from lossless.policies.atoms import find_atoms
from lossless.policies.corrections import correction_in
from lossless.policies.prose import facts
from lossless.policies.words import content_words
from lossless.store.keys import Reach, ThreadKey
from lossless.store.read import MessageReader
from lossless.store.search import search

__all__ = ["Corrected", "detect_correction", "find_meant", "find_restated", "may_correct", "spoken_of"]

_LONGEST = 4_000
"""Characters of a message that are looked at."""
_CANDIDATES = 50
_KEPT = 3
_VALUE, _WORD = 4, 1
"""What a shared value and a shared word weigh."""

_OF_CORRECTING = frozenset(
    content_words(
        "correction corrected meant mean misspoke mistake scratch oops typo wrong incorrect right correct true again check"
    )
) | frozenset(content_words("said told asked wrote never instead wait fact sorry actually please recheck"))


@dataclass(frozen=True, slots=True)
class Corrected:
    """What a correction speaks of: values as they are written, and the words beside them."""

    values: tuple[str, ...]
    words: tuple[str, ...]


def may_correct(text: str) -> bool:
    """Tell whether a text is worth a closer look; costs microseconds. Pure."""
    said = text[:_LONGEST]
    return may_have_cue(said) or bool(worth_comparing(said))


def detect_correction(text: str) -> Corrected | None:
    """Tell whether a person corrects something in a text, and what it speaks of; None if not. Pure."""
    said = text[:_LONGEST]
    if has_cue(said):
        return spoken_of(said)
    named = any(found is not None and found.old for fact in facts(said, "user") for found in [correction_in(fact)])
    return spoken_of(said) if named else None


def spoken_of(text: str) -> Corrected:
    """Give the values and words of a text. Pure."""
    values = dict.fromkeys(atom.text for atom in find_atoms(text) if len(atom.text) > 1)
    words = dict.fromkeys(word for word in content_words(text) if word not in _OF_CORRECTING and len(word) > 2)
    return Corrected(tuple(values)[:8], tuple(words)[:16])


def find_meant(connection: Connection, reader: MessageReader, key: ThreadKey, corrected: Corrected, before: int) -> list[int]:
    """Find the messages before a seq that a correction is about, the likeliest first."""
    terms = [*corrected.values, *corrected.words]
    if not terms:
        return []
    query = " OR ".join('"' + term.replace('"', " ") + '"' for term in terms)
    hits = search(connection, reader, Reach.of(key), query, mode="words", limit=_CANDIDATES).items
    seqs = sorted({hit.seq for hit in hits if hit.seq < before})
    least = min(_VALUE, max(2, (len(corrected.words) + 1) // 2))
    scored = [
        (-weight, message.role == "assistant", message.seq)
        for message in reader.by_seq(connection, key, seqs)
        if not message.injected and (weight := _weight(message, corrected)) >= least
    ]
    return [seq for _weight, _assistant, seq in sorted(scored)[:_KEPT]]


def find_restated(connection: Connection, reader: MessageReader, key: ThreadKey, text: str, before: int) -> list[int]:
    """Find the messages before a seq that gave the labels of a text other values; empty where they had several, or the same."""
    now = worth_comparing(text)
    if not now:
        return []
    query = " OR ".join('"' + label.replace('"', " ") + '"' for label in now)
    hits = search(connection, reader, Reach.of(key), query, mode="words", limit=_CANDIDATES).items
    seqs = sorted({hit.seq for hit in hits if hit.seq < before})
    told = [message for message in reader.by_seq(connection, key, seqs) if message.role != "assistant" and not message.injected]
    return restated(now, [(message.seq, labelled(message.text[:_LONGEST])) for message in told])[:_KEPT]


def _weight(message: Message, corrected: Corrected) -> int:
    text = message.text.casefold()
    values = sum(value.casefold() in text for value in corrected.values)
    found = set(content_words(text[:_LONGEST]))
    return _VALUE * values + _WORD * sum(word in found for word in corrected.words)
