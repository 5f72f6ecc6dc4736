"""Echoes: figures that a user only repeats after an assistant are cut out of what the user says for the first time."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from lossless.policies.atoms import Atom, normalise
from lossless.policies.prose import Fact, placed
from lossless.policies.words import content_words, is_small

__all__ = ["without_echo"]


def without_echo(fact: Fact, echoed: AbstractSet[str]) -> Fact:
    """Give a fact without the values in ``echoed``: cut before or after them where its own values stand on one side.

    Where they stand on both sides, or nothing of meaning would be left, the words stay whole and only the atoms are left out.
    """
    atoms = placed(fact)
    own = tuple(atom for atom in atoms if normalise(atom.kind, atom.text).core not in echoed)
    whole = fact._replace(atoms=own)
    others = [atom for atom in atoms if atom not in own]
    if fact.hedged or not own or not others:
        return whole
    if own[-1].end <= others[0].start:
        begin, end = 0, others[0].start
    elif others[-1].end <= own[0].start:
        begin, end = others[-1].end, len(fact.text)
    else:
        return whole
    begin, end = _without_small_words(fact.text, begin, end, own)
    text = fact.text[begin:end]
    if not set(content_words(text)) - {word for atom in own for word in content_words(atom.text)}:
        return whole
    is_quote = len(fact.text) == fact.end - fact.start
    start, stop = (fact.start + begin, fact.start + end) if is_quote else (fact.start, fact.end)
    shifted = tuple(Atom(atom.kind, atom.start - begin, atom.end - begin, atom.text) for atom in own)
    return fact._replace(text=text, start=start, end=stop, atoms=shifted)


def _without_small_words(text: str, begin: int, end: int, own: tuple[Atom, ...]) -> tuple[int, int]:
    """Leave out the small words at the cut (``off the``), up to the first of the values that stay."""
    if begin:
        while begin < own[0].start:
            word, _, rest = text[begin:end].lstrip(_EDGES).partition(" ")
            if word and not is_small(word):
                break
            begin = end - len(rest) if rest else own[0].start
        begin += len(text[begin:end]) - len(text[begin:end].lstrip(_EDGES))
        return min(begin, own[0].start), end
    while end > own[-1].end:
        rest, _, word = text[begin:end].rstrip(_EDGES).rpartition(" ")
        if word and not is_small(word):
            break
        end = max(begin + len(rest), own[-1].end)
    return begin, max(begin + len(text[begin:end].rstrip(_EDGES)), own[-1].end)


_EDGES = " \t,;:.!?-–—()"
