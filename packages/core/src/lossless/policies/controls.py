"""Controls: simple policies to compare with. They are real memories that people run, and what is wrong with them is recorded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lossless.messages.model import Message
from lossless.policies.atoms import find_atoms
from lossless.policies.extract import gather
from lossless.policies.model import Note, Regime, SourceItem
from lossless.policies.prose import sentences
from lossless.policies.rendering import expandable, tags
from lossless.policies.sources import Source, as_sources
from lossless.policies.witness import witness

if TYPE_CHECKING:
    from lossless.tokens.counter import TokenCounter

__all__ = ["Blank", "Lossy", "Pointer"]


class _Control(ABC):
    """What the controls share: they write a text that does not depend on the items, and the witness judges it."""

    name = ""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    def write(self, messages: Sequence[Message | Mapping[str, Any]], budget_tokens: int, goal: str | None = None) -> Note:
        """Write a note of at most ``budget_tokens`` tokens."""
        del goal
        sources = as_sources(messages)
        items, left_out = gather(sources)
        ids = [item.message_id for item in items]
        return self._note(self._forms(sources, len(items) + left_out, ids), items, left_out, budget_tokens)

    def condense(self, notes: Sequence[Note], budget_tokens: int, goal: str | None = None) -> Note:
        """Write one note of at most ``budget_tokens`` tokens from older ones, oldest first."""
        del goal
        items = [item for note in notes for item in note.items]
        total = sum(note.total for note in notes)
        ids = [name for note in notes for name in expandable(note.text)] + [item.message_id for item in items]
        return self._note(self._condensed(notes, total, ids), items, max(0, total - len(items)), budget_tokens)

    @abstractmethod
    def _forms(self, sources: Sequence[Source], total: int, ids: Sequence[str]) -> list[str]:
        """Give the texts it may write, the best first; the first that fits is written."""

    @abstractmethod
    def _condensed(self, notes: Sequence[Note], total: int, ids: Sequence[str]) -> list[str]:
        """Give the texts it may write from older notes, in the same way."""

    def _note(self, forms: Sequence[str], items: Sequence[SourceItem], left_out: int, budget: int) -> Note:
        text = next((form for form in forms if self._counter.count(form) <= budget), "") if budget > 0 else ""
        verdict = witness(text, items, left_out=left_out)
        missing = {id(item) for item in verdict.missing}
        return Note(
            text=text,
            kept=verdict.kept,
            total=verdict.total,
            items=tuple(item for item in items if id(item) not in missing),
            regime=self._judged(verdict.regime, text),
            tokens=self._counter.count(text),
            invented=verdict.invented,
        )

    def _judged(self, regime: Regime, text: str) -> Regime:
        del text
        return regime


class Blank(_Control):
    """Keeps nothing, and says so."""

    name = "blank"

    def _forms(self, sources: Sequence[Source], total: int, ids: Sequence[str]) -> list[str]:
        del sources, ids
        return _nothing(total)

    def _condensed(self, notes: Sequence[Note], total: int, ids: Sequence[str]) -> list[str]:
        del notes, ids
        return _nothing(total)


class Pointer(_Control):
    """Keeps nothing but where everything is: the tag and the pointer."""

    name = "pointer"

    def _forms(self, sources: Sequence[Source], total: int, ids: Sequence[str]) -> list[str]:
        ends = (ids[0], ids[-1]) if ids else ()
        everything = [source.id for source in sources]
        return tags(0, total, ends) if total else [f"[expand {name}]" for name in everything[:1]]

    def _condensed(self, notes: Sequence[Note], total: int, ids: Sequence[str]) -> list[str]:
        ends = (ids[0], ids[-1]) if ids else ()
        return tags(0, total, ends) if total else [note.text for note in notes[:1]]


class Lossy(_Control):
    """Keeps the latest conclusion and drops its sources: what a running summary does when it is short."""

    name = "lossy"

    def _forms(self, sources: Sequence[Source], total: int, ids: Sequence[str]) -> list[str]:
        del total, ids
        said = [passage.text for source in sources for passage in source.passages if passage.role == "assistant"]
        return _conclusions(said)

    def _condensed(self, notes: Sequence[Note], total: int, ids: Sequence[str]) -> list[str]:
        del total, ids
        return [note.text for note in reversed(notes) if note.text]

    def _judged(self, regime: Regime, text: str) -> Regime:
        """A conclusion that stands beside all its sources is a stale one in waiting."""
        return "contaminated" if regime == "correctable" and find_atoms(text) else regime


def _nothing(total: int) -> list[str]:
    if not total:
        return ["Nothing of the earlier conversation is kept."]
    return [f"[0 of {total} source items kept] Nothing of the earlier conversation is kept.", f"[0 of {total}]"]


def _conclusions(said: Sequence[str]) -> list[str]:
    """Give what an assistant said last, sentence by sentence, the latest first, those with a value before those without."""
    found: list[str] = []
    for text in reversed(said[-20:]):
        for line in reversed(text[-4000:].split("\n")):
            found += [line[begin:end].strip() for begin, end in reversed(list(sentences(line)))]
    listed = [sentence for sentence in found if sentence]
    return [sentence for sentence in listed if find_atoms(sentence)] + listed
