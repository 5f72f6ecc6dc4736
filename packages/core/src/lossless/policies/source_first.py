"""``source_first``: the default policy. It keeps what can be recomputed from, and drops what was concluded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lossless.messages.model import Message
from lossless.policies.decisions import decided
from lossless.policies.extract import gather
from lossless.policies.fitting import Draft, fit
from lossless.policies.model import Decision, Note, SourceItem
from lossless.policies.ranking import Sentence, central_sentences, mentions, ranked
from lossless.policies.rendering import DECISIONS, PROSE, expandable, without_tag
from lossless.policies.sources import Source, as_sources

if TYPE_CHECKING:
    from lossless.tokens.counter import TokenCounter

__all__ = ["SourceFirst"]


class SourceFirst:
    """Writes notes by extraction, without a model: source items first, then decisions and actions, then central sentences.

    An assistant's conclusions are left out: they can be drawn again from the sources, and a stale one beside its source still
    attracts a reader. When not all items fit, the most valuable stay, hedged ones go first, and the tag stands in front.

    Args:
        counter: what the budgets are counted with.
    """

    name = "source_first"

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    def write(self, messages: Sequence[Message | Mapping[str, Any]], budget_tokens: int, goal: str | None = None) -> Note:
        """Write a note of at most ``budget_tokens`` tokens, the completeness tag included.

        Args:
            messages: Message objects, or OpenAI-style or Anthropic-style dicts.
            budget_tokens: the most that ``Note.tokens`` may be; a note without text where not even the tag fits.
            goal: what the note is for; its words raise the items that share them.

        Raises:
            MessageError: a dict is no message of a known format.
        """
        sources = as_sources(messages)
        items, left_out = gather(sources)
        settled = _beside(decided(sources), items)
        draft = Draft(
            items=items,
            decisions=settled,
            order=lambda: ranked(items, goal, _taken_up(sources)),
            prose=lambda: central_sentences(sources, items, settled),
            left_out=left_out,
            ids=_ends([item.message_id for item in items] or [source.id for source in sources]),
        )
        return fit(draft, budget_tokens, self._counter)

    def condense(self, notes: Sequence[Note], budget_tokens: int, goal: str | None = None) -> Note:
        """Write one note of at most ``budget_tokens`` tokens from older ones, oldest first.

        ``total`` is the sum of theirs; ``kept`` counts the items of theirs that can be read from the new text. Older prose goes
        before newer prose, all prose before any decision, and decisions before items.
        """
        items = [item for note in notes for item in note.items]
        settled: dict[tuple[str, str], Decision] = {}
        for note in notes:
            for decision in note.decisions:
                settled.setdefault((decision.role, decision.text), decision)
        draft = Draft(
            items=items,
            decisions=list(settled.values()),
            order=lambda: ranked(items, goal, _told_again(items, settled.values())),
            prose=lambda: _older_prose(notes),
            left_out=max(0, sum(note.total for note in notes) - len(items)),
            ids=_ends([name for note in notes for name in _ids_of(note)]),
        )
        return fit(draft, budget_tokens, self._counter)


def _taken_up(sources: Sequence[Source]) -> frozenset[str]:
    """Give the values that users named and that calls were made with: they matter more than what was only listed."""
    said = (passage.text for source in sources for passage in source.passages if passage.role == "user")
    done = (call.arguments for source in sources for call in source.calls)
    return mentions(said) | mentions(done)


def _told_again(items: Iterable[SourceItem], decisions: Iterable[Decision]) -> frozenset[str]:
    """Give what ``_taken_up`` gives, as far as older notes still tell it."""
    return mentions(item.text for item in items if item.role == "user") | mentions(decision.text for decision in decisions)


def _beside(found: Sequence[Decision], items: Sequence[SourceItem]) -> list[Decision]:
    """Leave out decisions that say the same as an item does."""
    said = {item.text.casefold().strip(" .!") for item in items if item.role == "user"}
    return [decision for decision in found if decision.text.casefold().strip(" .!") not in said]


def _ends(ids: Sequence[str]) -> Sequence[str]:
    return (ids[0], ids[-1]) if ids else ()


def _ids_of(note: Note) -> list[str]:
    return [*expandable(note.text), *(item.message_id for item in note.items)]


def _older_prose(notes: Sequence[Note]) -> list[Sentence]:
    """Give the lines of older notes that are neither items nor decisions, the newest note's first."""
    found: list[Sentence] = []
    seen: set[str] = set()
    for age, note in enumerate(notes):
        told = [item.text for item in note.items] + [decision.text for decision in note.decisions]
        for line in without_tag(note.text).split("\n"):
            text = line.strip()
            if not text or text in (DECISIONS, PROSE) or text in seen or any(part in text for part in told):
                continue
            seen.add(text)
            role, colon, said = text.removeprefix("- ").partition(": ")
            known = colon and role in ("user", "assistant")
            found.append(Sentence(role if known else "", said if known else text, len(found), float(age)))
    return sorted(found, key=lambda sentence: (-sentence.weight, sentence.place))
