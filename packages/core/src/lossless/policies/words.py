"""Words: what gives an atom its meaning, and the words that change the meaning of a clause.

English words only; what has no word here (other languages, identifiers, paths) works by shape.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from functools import lru_cache

__all__ = [
    "CONDITION",
    "CONSTRAINT",
    "ERROR",
    "HEDGE",
    "NEGATION",
    "STRONG_CONSTRAINT",
    "Cue",
    "content_words",
    "is_small",
    "plain_words",
    "stem",
]


class Cue:
    """A pattern, and the words of which every match holds one: most clauses hold none, and are spared the pattern.

    Args:
        pattern: what to look for.
        words: lower-case ASCII words, with spaces between.
        signs: characters that call for the pattern too.
    """

    __slots__ = ("_signs", "_words", "pattern")

    def __init__(self, pattern: re.Pattern[str], words: str, *, signs: str = "") -> None:
        self.pattern = pattern
        self._words = frozenset(words.split())
        self._signs = tuple(signs)

    def search(self, text: str, words: AbstractSet[str] | None = None) -> re.Match[str] | None:
        """Find the pattern in a clause whose words (of :func:`plain_words`) are given or found."""
        spared = self._words.isdisjoint(plain_words(text) if words is None else words)
        return None if spared and not any(sign in text for sign in self._signs) else self.pattern.search(text)


def plain_words(text: str) -> set[str]:
    """Give the ASCII words of a clause, in lower case."""
    return set(_PLAIN.findall(text.lower()))


_PLAIN = re.compile(r"[a-z]+")


def _words(*alternatives: str) -> str:
    return rf"\b(?:{'|'.join(alternatives)})(?!\w)"


_STRONG = (
    r"must(?:n['’]t)?",
    "never",
    "at (?:most|least|the (?:latest|earliest))",
    "no (?:more|less|fewer|later|earlier|longer|sooner) than",
    "not (?:allowed|permitted|exceed)",
    "forbidden|prohibited|mandatory|required",
)
_VERBS = (
    "add|book|break|call|change|charge|commit|contact|delete|ever|fly|forget|like|modify|push|remove|send|share|touch|use|want"
)
_LIMITS = (
    "only|unless|except|without|shall|always|make sure|ensure|avoid|prefer|instead of",
    r"should(?:n['’]t| not)",
    rf"do(?:n['’]t| not) (?:{_VERBS})",
    "can(?:not|['’]t| not) (?:exceed|be (?:more|later|earlier|changed|before|after))",
    "(?:max|min)(?:imum)?|limit(?:ed)? (?:to|of|is)|budget (?:of|is)",
    "first .{1,60} then",
)
_POINTS = r"noon|midnight|tomorrow|today|the (?:end|start|release|deadline)"
_THING = r"(?=[A-Z]|the |\S{0,4}\d)"
_ORDER = (
    rf"(?:before|after|until|by|since) (?=\S{{0,4}}\d|[A-Z]|{_POINTS})",
    r"up to (?=\S{0,4}\d)",
    rf"(?:\w{{2,12}}er|more|less) than {_THING}",
    rf"(?:(?:left|right|north|south|east|west|ahead|behind|front) of|(?:next|adjacent) to|opposite(?: to)?|directly \w{{4,6}}) "
    rf"{_THING}",
    r"(?!(?:This|That|It|There|What|Here) )[A-Z]\w{0,30} (?:is|are|was|were)(?:n['’]t| not) "
    r"(?:an?|the|in|on|at|first|last|next|[A-Z]\w{0,30})",
)

STRONG_CONSTRAINT = Cue(
    re.compile(_words(*_STRONG), re.IGNORECASE),
    "must mustn never most least latest earliest more less fewer later earlier longer sooner allowed permitted exceed forbidden "
    "prohibited mandatory required",
)
CONSTRAINT = Cue(
    re.compile(f"(?i:{_words(*_STRONG, *_LIMITS)})|\\b(?:{'|'.join(_ORDER)})"),
    "must mustn never most least latest earliest more less fewer later earlier longer sooner allowed permitted exceed forbidden "
    "prohibited mandatory required only unless except without shall always make ensure avoid prefer instead should shouldn do "
    "don can cannot max min maximum minimum limit limited budget first before after until by since up than left right north "
    "south east west ahead behind front next adjacent opposite directly is are was were isn aren wasn weren",
)

ERROR = re.compile(
    r"(?<![A-Za-z])(?:Traceback \(most recent call last\)|[A-Za-z_.]{0,60}(?:Error|Exception|Warning)\b(?=[:(\s]|$)"
    r"|FAIL(?:ED|URE)?\b|ERROR\b|FATAL\b|PANIC\b|E\d{3,5}\b(?=:)"
    r"|(?i:fatal|panic|segmentation fault|permission denied|no such file|not found|timed out|failed)\b"
    r"|(?i:exit (?:code|status) [1-9]))"
)

_GUESSES = (
    "i (?:think|believe|guess|suppose|assume|suspect)",
    "maybe|perhaps|probably|possibly|presumably|supposedly|allegedly|apparently|reportedly|likely|guessing|tentative(?:ly)?",
    r"not (?:\w{1,20} )?(?:sure|certain)|unsure|uncertain|unverified",
    "might|may be|could be|seems?|or so",
    "as far as i (?:know|remember|recall)|if i (?:remember|recall)",
    "roughly|approximately|approx|more or less",
    r"i['’]?ve heard|rumou?r(?:ed|s)?",
)
_ABOUT = r"(?:\b(?:about|around|circa|some) |(?<![\w/])~ ?)(?=[$€£¥]?\d)"
HEDGE = Cue(
    re.compile(f"{_words(*_GUESSES)}|{_ABOUT}", re.IGNORECASE),
    "think believe guess suppose assume suspect maybe perhaps probably possibly presumably supposedly allegedly apparently "
    "reportedly likely guessing tentative tentatively sure certain unsure uncertain unverified might may could seem seems or far "
    "if roughly approximately approx more heard rumor rumors rumored rumour rumours rumoured about around circa some",
    signs="~",
)

_NEGATED = "isn|aren|wasn|weren|don|doesn|didn|won|wouldn|can|couldn|shouldn|mustn|hasn|haven"
NEGATION = Cue(
    re.compile(
        rf"\b(?:not|never|no|none|neither|nor|cannot|without|(?:{_NEGATED})['’]t)\b"
        r"(?! later than| (?:\w{1,20} )?(?:sure|certain)\b)",
        re.IGNORECASE,
    ),
    "not never no none neither nor cannot without t",
)
CONDITION = Cue(
    re.compile(r"\b(?:if|unless|except|whether|either|instead|rather|respectively|between|otherwise|but)\b", re.IGNORECASE),
    "if unless except whether either instead rather respectively between otherwise but",
)

_STOP_WORDS = """
a about above after again all also am an and any are as at be because been before being below both but by can
could did do does doing done down during each either else for from further get gets give gives go goes going
got had has have having he her here hers him his how i if in into is it its itself just let like ll make makes
me more most my need needs no nor not now of off ok okay on once one only or other our ours out over own per
please put re same say said see set she should so some such take takes than thank thanks that the their theirs
them then there these they this those through to too under until up upon use used uses using very want wants
was we were what when where which while who whom why will with would yes you your yours ve don doesn didn isn
aren wasn weren won wouldn couldn shouldn must may might shall sure hi hello hey great actually really
currently already still well right correct yeah fine pay pays paid cost costs spend spends equals equal know
tell help able confirm looks called named dear however given
"""
_STOP = frozenset(_STOP_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_EAST_ASIAN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def content_words(text: str) -> tuple[str, ...]:
    """Give the stems of the words with a meaning of their own, in order; identifiers are split, East Asian runs become pairs."""
    found: list[str] = []
    for word in _WORD.findall(text):
        found += _remembered(word) if len(word) <= _LONGEST_REMEMBERED else _content_of(word)
    return tuple(found)


_LONGEST_REMEMBERED = 40


def _content_of(word: str) -> tuple[str, ...]:
    folded = word.casefold()
    if folded.isascii():
        parts = [part.casefold() for part in _HUMP.split(word)]
        return tuple(stem(part) for part in parts if len(part) > 1 and part not in _STOP)
    if _EAST_ASIAN.search(folded):
        return tuple(folded[at : at + 2] for at in range(max(1, len(folded) - 1)))
    return () if folded in _STOP else (folded,)


_remembered = lru_cache(maxsize=1 << 15)(_content_of)


def is_small(word: str) -> bool:
    """Say whether a word has no meaning of its own (``the``, ``of``, ``please``)."""
    return word.casefold() in _STOP


def stem(word: str) -> str:
    """Take common endings off an English word: *departs*, *departed* and *departure* agree; others pass unchanged."""
    if not word.isascii() or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("ing") and len(word) > 5:
        word = word[:-3]
    elif (word.endswith("ed") and len(word) > 4) or (word.endswith("es") and word[-3] in "sxzh"):
        word = word[:-2]
    elif word[-1] == "s" and word[-2] not in "su":
        word = word[:-1]
    for ending in ("ation", "ition", "ment", "ance", "ure", "al"):
        if word.endswith(ending) and len(word) >= len(ending) + 5:
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiou":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] == "e" else word
