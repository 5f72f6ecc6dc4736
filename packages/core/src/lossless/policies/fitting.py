"""Fitting: the best note that a budget holds, its tag inside, its completeness counted on the finished text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lossless.policies.model import Decision, Note, SourceItem
from lossless.policies.ranking import Sentence
from lossless.policies.rendering import DECISIONS, PROSE, heading, render, tags
from lossless.policies.witness import Checker, regime_of

if TYPE_CHECKING:
    from lossless.tokens.counter import TokenCounter

__all__ = ["Costs", "Draft", "by_weight", "choose", "finished", "fit", "readable", "tag_form"]

_MOST_CHARACTERS = 40
"""Characters a token may stand for before counting a long text is not worth its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a note could say.

    Attributes:
        items: in the order of their sources.
        decisions: in order.
        order: gives the places of the items, the most valuable first; asked only when not all of them fit.
        prose: gives sentences, the most central first; asked only when all items fit.
        left_out: source items that exist and are not at hand.
        ids: messages to expand for them, first to last.
    """

    items: Sequence[SourceItem]
    decisions: Sequence[Decision]
    order: Callable[[], Sequence[int]]
    prose: Callable[[], Sequence[Sentence]]
    left_out: int = 0
    ids: Sequence[str] = field(default=())


def fit(draft: Draft, budget_tokens: int, counter: TokenCounter) -> Note:
    """Write the best note of at most ``budget_tokens`` tokens; whole items only, and the tag in front when some are missing."""
    whole = render(draft.items, (), ())
    if not draft.left_out and len(whole) <= budget_tokens * _MOST_CHARACTERS and counter.count(whole) <= budget_tokens:
        text, decisions = _with_all_items(draft, budget_tokens, counter)
        return finished(text, draft.items, decisions, 0, counter)
    return _with_some_items(draft, budget_tokens, counter)


def finished(text: str, items: Sequence[SourceItem], decisions: Sequence[Decision], left_out: int, counter: TokenCounter) -> Note:
    """Give the note of a finished text, with the items that can be read from it."""
    return _note(text, readable(text, items), items, decisions, left_out, counter)


def readable(text: str, items: Sequence[SourceItem]) -> tuple[SourceItem, ...]:
    """Give the items that can be read from a text."""
    checker = Checker(text, items)
    return tuple(item for item in items if checker.holds(item))


def _note(
    text: str,
    kept: tuple[SourceItem, ...],
    items: Sequence[SourceItem],
    decisions: Sequence[Decision],
    left_out: int,
    counter: TokenCounter,
) -> Note:
    total = len(items) + left_out
    return Note(
        text=text,
        kept=len(kept),
        total=total,
        items=kept,
        decisions=tuple(decisions),
        regime=regime_of(text, len(kept), total, items),
        tokens=counter.count(text),
    )


# --- everything fits ------------------------------------------------------------------------------------------------------


def _with_all_items(draft: Draft, budget: int, counter: TokenCounter) -> tuple[str, Sequence[Decision]]:
    """Add decisions and then sentences to the items while they fit."""
    decisions: list[Decision] = []
    prose: list[Sentence] = []
    room = budget - counter.count(render(draft.items, (), ()))
    for decision in by_weight(draft.decisions):
        cost = counter.count(f"\n- {decision.role}: {decision.text}") + (0 if decisions else counter.count(f"\n{DECISIONS}"))
        if cost <= room:
            decisions.append(decision)
            room -= cost
    central = draft.prose() if room >= _LEAST_PROSE or not draft.items else ()
    for sentence in central:
        if room < _LEAST_PROSE:
            break
        cost = counter.count(f"\n- {sentence.role}: {sentence.text}") + (0 if prose else counter.count(f"\n{PROSE}"))
        if cost <= room:
            prose.append(sentence)
            room -= cost
    while True:
        told = set(decisions)
        shown = [decision for decision in draft.decisions if decision in told]
        text = render(draft.items, shown, prose)
        if counter.count(text) <= budget or not (prose or decisions):
            break
        (prose or decisions).pop()
    if not text and central:
        return _beginning(central[0].text, budget, counter), ()
    return text, shown


def by_weight(decisions: Sequence[Decision]) -> list[Decision]:
    """Put what was done before what was said, and the newest first."""
    newest = list(reversed(decisions))
    return [decision for decision in newest if decision.kind == "action"] + [
        decision for decision in newest if decision.kind != "action"
    ]


def _beginning(text: str, budget: int, counter: TokenCounter) -> str:
    """Give the first words of a sentence, as many as fit."""
    words = text.split(" ")
    least, most = 0, len(words)
    while least < most:
        middle = (least + most + 1) // 2
        if counter.count(" ".join(words[:middle]) + " …") <= budget:
            least = middle
        else:
            most = middle - 1
    return " ".join(words[:least]) + " …" if least else ""


# --- some must go ---------------------------------------------------------------------------------------------------------

_LEAST_PROSE = 8
"""Tokens below which no sentence is looked for."""

_SPARE = 6
"""Tokens left over that are worth a second look for another item."""

_MISSES = 64
"""Items that don't fit, one after the other, before the search for smaller ones ends."""


def _with_some_items(draft: Draft, budget: int, counter: TokenCounter) -> Note:
    """Choose the most valuable items and a few decisions beside the tag; the tag alone, or nothing, where no more fits."""
    total = len(draft.items) + draft.left_out
    forms = tags(total, total, draft.ids)
    form = tag_form(forms, budget, counter)
    room = budget - counter.count(forms[form]) - 1
    decisions = _some_decisions(draft.decisions, room // 8, counter)
    chosen = _filled(draft, room, decisions, counter)
    while True:
        body = render(_at(draft, chosen), decisions, ())
        kept = readable(body, draft.items)
        text = _tagged(body, len(kept), draft, chosen, form)
        over = counter.count(text) - budget
        if over <= 0:
            return _note(text, kept, draft.items, decisions, draft.left_out, counter)
        if chosen:
            for _ in range(1 + over // 40):
                chosen = chosen[:-1]
        elif decisions:
            decisions = decisions[:-1]
        elif form < len(forms) - 1:
            form += 1
        else:
            return finished("", draft.items, (), draft.left_out, counter)


def tag_form(forms: Sequence[str], budget: int, counter: TokenCounter) -> int:
    """Choose which form of the tag to write: the most telling one that leaves half of the budget, else the shortest."""
    return next((at for at, tag in enumerate(forms) if counter.count(tag) <= budget // 2), len(forms) - 1)


def _filled(draft: Draft, room: int, decisions: Sequence[Decision], counter: TokenCounter) -> list[int]:
    """Choose items until the room is used, with a second look at what the separators did not need."""
    costs = Costs(draft.items, counter)
    order = draft.order()
    used = counter.count(render((), decisions, ())) + 1 if decisions else 0
    chosen = choose(draft.items, order, room - used, costs, [])
    spare = room - counter.count(render(_at(draft, chosen), decisions, ()))
    if spare >= _SPARE and (more := choose(draft.items, order, spare - 2, costs, chosen)):
        fuller = chosen + more
        if counter.count(render(_at(draft, fuller), decisions, ())) <= room:
            return fuller
    while spare < 0 and chosen:
        while spare < 0 and chosen:
            spare += costs.of(chosen.pop())
        spare = room - counter.count(render(_at(draft, chosen), decisions, ()))
    return chosen


def _at(draft: Draft, chosen: Sequence[int]) -> list[SourceItem]:
    return [draft.items[at] for at in sorted(chosen)]


def _tagged(body: str, kept: int, draft: Draft, chosen: Sequence[int], form: int) -> str:
    total = len(draft.items) + draft.left_out
    if kept == total:
        return body
    ids = draft.ids
    if ids and not draft.left_out:
        places = frozenset(chosen)
        missing = [item.message_id for at, item in enumerate(draft.items) if at not in places]
        ids = (missing[0], missing[-1]) if missing else ids
    tag = tags(kept, total, ids)[form]
    return f"{tag}\n{body}" if body else tag


def _some_decisions(decisions: Sequence[Decision], room: int, counter: TokenCounter) -> tuple[Decision, ...]:
    chosen: list[Decision] = []
    room -= counter.count(f"{DECISIONS}\n")
    for decision in by_weight(decisions)[:_MISSES]:
        cost = counter.count(f"- {decision.role}: {decision.text}\n")
        if cost <= room:
            chosen.append(decision)
            room -= cost
    return tuple(decision for decision in decisions if decision in chosen)


class Costs:
    """Tokens of each item and of each heading, counted when first asked for."""

    def __init__(self, items: Sequence[SourceItem], counter: TokenCounter) -> None:
        self._items = items
        self._counter = counter
        self._known: dict[str, int] = {}

    def of(self, at: int) -> int:
        """Give the tokens of an item with its separator."""
        return self._count(self._items[at].text) + 1

    def of_heading(self, at: int) -> int:
        """Give the tokens of the heading that an item's message needs."""
        return self._count(f"\n{heading(self._items[at])}: ")

    def _count(self, text: str) -> int:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._counter.count(text)
        return known


def choose(items: Sequence[SourceItem], order: Sequence[int], room: int, costs: Costs, taken: Sequence[int]) -> list[int]:
    """Choose further items in the order of their worth while they fit in ``room`` tokens."""
    known = set(taken)
    texts = {items[at].text for at in taken}
    headed = {(items[at].message_id, heading(items[at])) for at in taken}
    chosen: list[int] = []
    misses = 0
    for at in order:
        item = items[at]
        if at in known or item.text in texts:
            continue
        head = (item.message_id, heading(item))
        cost = costs.of(at) + (0 if head in headed else costs.of_heading(at))
        if cost <= room:
            chosen.append(at)
            texts.add(item.text)
            headed.add(head)
            room -= cost
            misses = 0
        else:
            misses += 1
        if room < 3 or misses >= _MISSES:
            break
    return chosen
