"""Corrections: telling that a person corrects something, and finding what is meant.

A wrong detection costs tokens, never a fact: what is shown again are the sources of a summary. Found is what shares the values or
the words of the correction; of equals, what was said first, by a person or a tool.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlalchemy import Connection

from lossless.messages.model import Message
from lossless.policies.atoms import find_atoms
from lossless.policies.corrections import correction_in
from lossless.policies.prose import facts
from lossless.policies.words import content_words
from lossless.store.keys import Reach, ThreadKey
from lossless.store.read import MessageReader
from lossless.store.search import search

__all__ = ["Corrected", "detect_correction", "find_meant", "may_correct", "spoken_of"]

_LONGEST = 4_000
"""Characters of a message that are looked at."""
_CANDIDATES = 50
_KEPT = 3
_VALUE, _WORD = 4, 1
"""What a shared value and a shared word weigh."""

_CUES = re.compile(
    r"""\b(?:correction|corrected|erratum|i\ meant|i\ misspoke|my\ mistake|scratch\ that|oops|typo
    | i\ (?:said|told\ you|asked\ for|wrote|never\ said|never\ asked|did(?:n['’]t|\ not)\ (?:say|ask|mean))
    | (?:that|this|it|which|what)(?:['’]s|\ is|\ was)?\ (?:not\ (?:right|correct|true|what)|n['’]t\ (?:right|correct)|wrong)
    | (?:is|was|were|are)(?:n['’]t|\ not)\ (?:right|correct|what)
    | (?:is|was|were|are)\ (?:wrong|incorrect|mistaken|a\ mistake)
    | should\ (?:have\ been|read) | should\ be\ \W?\d\S* | you(?:['’]re|\ are)\ wrong | you\ (?:got|have)\ .{1,40}\ wrong
    | (?:check|look|count|add\ it\ up)\ again | re-?check
    | stimmt\ nicht | nicht\ richtig | ist\ falsch | sondern | korrektur | ich\ meinte | ich\ sagte | ich\ habe\ gesagt
    | c['’]est\ faux | ce\ n['’]est\ pas | j['’]ai\ dit | je\ voulais\ dire
    | es\ incorrecto | est[aá]\ mal | no\ es\ correcto | quise\ decir | dije
    )\b
    | ^\W*(?:no|nope|nein|non|wrong|incorrect|falsch|actually|wait|sorry)\b\s*[,.!—–:-]
    | 不对 | 错了 | 不是.{1,20}而是 | 更正 | 違います | 間違 | 아니""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_HINTS = re.compile(
    r"\b(?:correct\w*|erratum|meant|misspoke|mistake\w*|scratch|oops|typo|said|told|asked|wrote|never|right|true|wrong|should|again"
    r"|re-?check|instead|rather|not|no|nope|actually|wait|sorry|incorrect|nein|non|falsch|stimmt|richtig|sondern|korrektur|meinte"
    r"|sagte|gesagt|faux|dit|dire|incorrecto|mal|correcto|decir|dije|t)\b|[不错更違間아]"
)
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


def may_correct(terms: str) -> bool:
    """Tell from a message's search terms whether it is worth a closer look; costs microseconds."""
    return _HINTS.search(terms, 0, _LONGEST) is not None


def detect_correction(text: str) -> Corrected | None:
    """Tell whether a person corrects something in a text, and what it speaks of; None if not. Pure."""
    said = text[:_LONGEST]
    if _CUES.search(said) is not None:
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


def _weight(message: Message, corrected: Corrected) -> int:
    text = message.text.casefold()
    values = sum(value.casefold() in text for value in corrected.values)
    found = set(content_words(text[:_LONGEST]))
    return _VALUE * values + _WORD * sum(word in found for word in corrected.words)
