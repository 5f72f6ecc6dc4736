"""Completion: a note that a model wrote is made honest, or is told to be beyond help.

What the rules are, in order:

1. **Inventions go first.** A sentence with a number or id that stands nowhere in the sources is taken out, when the
   full text of the sources is given. Without that text nothing is taken out, since a number that is no source item
   may well stand in a source.
2. **Missing items are appended** verbatim, under ``Sources:``, in the order of the sources. While they all fit, there
   is no tag.
3. **When they don't fit**, the model's text yields: up to half of the room belongs to the most valuable missing
   items. The text is shortened by whole sentences, from its end, those that carry no source item first; its opening,
   which says what it is about, goes last.
4. **The tag** with ``k of N`` and the pointer stands in front whenever an item is still missing. A budget too small
   for the shortest tag gives a note without text, never a silent one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from lossless.policies.atoms import find_atoms, normalise
from lossless.policies.fitting import Costs, by_weight, choose, finished, readable, tag_form
from lossless.policies.model import Decision, Note, SourceItem
from lossless.policies.prose import sentences
from lossless.policies.ranking import mentions, ranked
from lossless.policies.readings import Reading
from lossless.policies.rendering import render, tags, without_tag
from lossless.policies.witness import Known, values_of
from lossless.policies.words import content_words

if TYPE_CHECKING:
    from lossless.tokens.counter import TokenCounter

__all__ = ["SOURCES", "complete"]

SOURCES = "Sources:"


def complete(
    text: str,
    items: Sequence[SourceItem],
    decisions: Sequence[Decision],
    budget_tokens: int,
    counter: TokenCounter,
    pointer: str,
    *,
    sources: str | None = None,
    left_out: int = 0,
) -> Note:
    """Complete a note that a model wrote, within ``budget_tokens`` tokens, by the rules above.

    Args:
        text: what the model wrote.
        items: what its sources hold.
        decisions: what its sources settled; added after the items while there is room, and never at their cost.
        budget_tokens: the most that ``Note.tokens`` may be.
        counter: what the budget is counted with.
        pointer: id to expand for what is missing: a summary, message or file; empty for none.
        sources: the full text of the sources, where it is at hand.
        left_out: values of the sources that were counted without being read.

    Returns:
        The note; ``invented`` are the numbers and ids left in it that no source item holds (none when ``sources`` was given).
    """
    known = Known(items, "\n".join([*(decision.text for decision in decisions), sources or ""]))
    parts = _parts(without_tag(text.strip()))
    if sources is not None:
        parts = [part for part in parts if not known.inventions(Reading(part))]
    written = "".join(parts).strip()
    missing = _missing(written, items)
    body = _listed(written, missing)
    if not left_out and counter.count(body) <= budget_tokens:
        body, told = _with_decisions(body, decisions, budget_tokens, counter)
        note = finished(body, items, told, 0, counter)
    else:
        note = _partial(parts, items, decisions, budget_tokens, counter, pointer, left_out)
    return replace(note, invented=known.inventions(Reading(note.text)))


# --- all items fit --------------------------------------------------------------------------------------------------------


def _missing(text: str, items: Sequence[SourceItem]) -> list[SourceItem]:
    kept = {id(item) for item in readable(text, items)}
    return [item for item in items if id(item) not in kept]


def _listed(text: str, items: Sequence[SourceItem]) -> str:
    """Write items under a text."""
    if not items:
        return text
    listed = f"{SOURCES}\n{render(items, (), ())}"
    return f"{text}\n{listed}" if text else listed


def _with_decisions(
    body: str, decisions: Sequence[Decision], budget: int, counter: TokenCounter
) -> tuple[str, Sequence[Decision]]:
    """Add the decisions that the text does not tell yet, while they fit; give those that it tells then."""
    told = _told(body, decisions)
    added: list[Decision] = []
    best = body
    for decision in by_weight([decision for decision in decisions if decision not in told]):
        trial = [other for other in decisions if other is decision or other in added]
        longer = f"{body}\n{render((), trial, ())}" if body else render((), trial, ())
        if counter.count(longer) > budget:
            break
        best, added = longer, trial
    return best, [decision for decision in decisions if decision in told or decision in added]


def _told(text: str, decisions: Sequence[Decision]) -> list[Decision]:
    """Give the decisions that a text tells: verbatim, or by most of their words in one sentence."""
    sentences_words = [frozenset(content_words(part)) for part in _parts(text)]
    told: list[Decision] = []
    for decision in decisions:
        words = frozenset(content_words(decision.text))
        if decision.text in text or (words and any(len(words & said) >= 0.7 * len(words) for said in sentences_words)):
            told.append(decision)
    return told


# --- some don't -----------------------------------------------------------------------------------------------------------


def _partial(
    parts: Sequence[str],
    items: Sequence[SourceItem],
    decisions: Sequence[Decision],
    budget: int,
    counter: TokenCounter,
    pointer: str,
    left_out: int,
) -> Note:
    total = len(items) + left_out
    ids = (pointer,) if pointer else ()
    forms = tags(total, total, ids)
    form = tag_form(forms, budget, counter)
    room = budget - counter.count(forms[form]) - 1
    parts = _shortened(parts, items, room, counter)
    text = "".join(parts).strip()
    missing = _missing(text, items)
    costs = Costs(missing, counter)
    left = room - counter.count(f"{text}\n{SOURCES}\n")
    chosen = choose(missing, ranked(missing, None, mentions([text])), left, costs, [])
    while True:
        body = _listed(text, [missing[at] for at in sorted(chosen)])
        kept = len(readable(body, items))
        tag = tags(kept, total, ids)[form]
        note = (f"{tag}\n{body}" if body else tag) if kept < total else body
        if counter.count(note) <= budget:
            told = _told(body, decisions)
            return finished(note, items, told, left_out, counter)
        if chosen:
            chosen = chosen[:-1]
        elif parts:
            parts = parts[:-1]
            text = "".join(parts).strip()
        elif form < len(forms) - 1:
            form += 1
        else:
            return finished("", items, (), left_out, counter)


def _shortened(parts: Sequence[str], items: Sequence[SourceItem], room: int, counter: TokenCounter) -> list[str]:
    """Take sentences away until the missing items have their room, or the text has half of it."""
    left = list(parts)
    text = "".join(left).strip()
    size = counter.count(text)
    wanted = counter.count(_listed("", _missing(text, items)))
    if size + wanted <= room:
        return left
    most = max(room - wanted, room // 2)
    cores = {value.core for item in items for atom in item.atoms for value, _ in values_of(atom)}
    telling = [any(normalise(atom.kind, atom.text).core in cores for atom in find_atoms(part)) for part in left]
    later = range(len(left) - 1, 0, -1)
    order = [*(at for at in later if not telling[at]), *(at for at in later if telling[at]), *range(min(1, len(left)))]
    gone: set[int] = set()
    for at in order:
        if size <= most:
            break
        gone.add(at)
        size -= counter.count(left[at])
    return [part for at, part in enumerate(left) if at not in gone]


def _parts(text: str) -> list[str]:
    """Divide a text into sentences, each with the white space after it; together they are the text."""
    cuts: list[int] = []
    start = 0
    for line in text.split("\n"):
        cuts += [start + begin for begin, _ in sentences(line) if start + begin]
        start += len(line) + 1
    bounds = [0, *dict.fromkeys(cuts), len(text)]
    return [text[begin:end] for begin, end in pairwise(bounds) if begin < end]
