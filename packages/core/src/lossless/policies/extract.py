"""Source items: what user and tool turns say that can be recomputed, checked or quoted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from lossless.messages.model import Message
from lossless.policies.atoms import NUMERIC, Atom, find_atoms, normalise
from lossless.policies.corrections import Correction, correction_in, replaced, without_old
from lossless.policies.echoes import without_echo
from lossless.policies.model import SourceItem
from lossless.policies.prose import Fact, facts, masked
from lossless.policies.records import Leaf, Row, identity_of, read_records
from lossless.policies.sources import Passage, Source, as_sources
from lossless.policies.words import content_words

__all__ = ["Extraction", "extract", "gather"]

LONGEST_RECORD = 160
"""Characters of an item made of a record's leaves; a wider record becomes several, each with its identifying key."""


class Extraction(NamedTuple):
    """Source items, and how many more values there are that were counted but not read (of answers with very many leaves)."""

    items: list[SourceItem]
    left_out: int


def extract(messages: Iterable[Message | Mapping[str, Any]]) -> list[SourceItem]:
    """Find the source items of user and tool turns, in order.

    The first statement of a fact wins: restatements, a user's echo of a figure that an assistant brought up, and quoted recall
    output give no item. A named correction (``actually it's 42, not 40``) takes the place of the old fact.

    Raises:
        MessageError: a dict is no message of a known format.
    """
    return gather(as_sources(messages)).items


def gather(sources: Sequence[Source]) -> Extraction:
    """Do the same for messages that were read already, and tell what was counted without being read."""
    collector = _Collector()
    for source in sources:
        for passage in source.passages:
            if passage.role == "tool":
                collector.observe(source.id, passage)
            elif passage.role == "user":
                collector.hear(source.id, passage)
            elif passage.role == "assistant":
                collector.overhear(passage)
    return Extraction([item for item in collector.items if item is not None], collector.left_out)


class _Collector:
    """Gathers items turn by turn, and remembers who said what first."""

    def __init__(self) -> None:
        self.items: list[SourceItem | None] = []
        self.left_out = 0
        self._known: set[str] = set()  # values that user or tool turns stated
        self._said: dict[str, list[tuple[frozenset[str], int]]] = {}  # value -> words beside it and the item, in running text
        self._paths: dict[str, tuple[str, int]] = {}  # value -> path of the first leaf that has it, and the item
        self._leaves: set[tuple[str, str, str, str]] = set()
        self._unread: list[str] = []  # assistant turns, read only when a user's new value asks for it
        self._overheard: set[str] = set()
        self._question = ""

    # --- who speaks -------------------------------------------------------------------------------------------------------

    def overhear(self, passage: Passage) -> None:
        """Take note of what an assistant said: no source, but what a user merely repeats of it is none either."""
        self._unread.append(passage.text)
        self._question = _only_question(passage.text)

    def observe(self, message_id: str, passage: Passage) -> None:
        """Take the items of a tool's answer."""
        reading = read_records(passage.text, "" if ", " in passage.context else passage.context)
        if reading is None:
            self._print(message_id, passage, passage.text, passage.start)
            return
        self.left_out += reading.left_out
        for row in reading.rows:
            self._record(message_id, passage, row)
        for start, text in reading.texts:
            self._print(message_id, passage, text, passage.start + start)

    def hear(self, message_id: str, passage: Passage) -> None:
        """Take the items of what a user wrote."""
        for fact in facts(passage.text, "user"):
            cores = [normalise(atom.kind, atom.text).core for atom in fact.atoms]
            correction = correction_in(fact)
            if correction is not None and self._correct(message_id, passage, fact, correction):
                continue
            words = frozenset(content_words(fact.text)) - _words_of(fact.atoms)
            if not words and len(passage.text) <= 80:
                if self._question:
                    fact = fact._replace(text=f"{self._question} {fact.text}")
                    words = frozenset(content_words(self._question))
                elif fact.kind == "number":
                    continue  # a number that nobody gave a meaning
            new = {core for core in cores if core not in self._known}
            if cores and not new and self._is_restated(fact, cores, words):
                continue
            if new and not (fact.kind == "constraint" and not fact.question):  # a wish is the user's own, whoever named a figure
                echoed = self._from_assistant(new)
                if echoed == new:
                    continue
                if echoed:
                    fact = without_echo(fact, echoed)
                    cores = [normalise(atom.kind, atom.text).core for atom in fact.atoms]
            self._add(message_id, passage, fact, cores, words)

    # --- what is added ----------------------------------------------------------------------------------------------------

    def _print(self, message_id: str, passage: Passage, text: str, start: int) -> None:
        """Take the items of running text that a tool printed."""
        if passage.tool and len(text) <= 80 and (bare := _bare(text)) is not None:
            found: Iterable[Fact] = [bare._replace(text=f"{_origin(passage)}: {bare.text}")]
        else:
            found = facts(text, "tool")
        for fact in found:
            cores = [normalise(atom.kind, atom.text).core for atom in fact.atoms]
            words = frozenset(content_words(fact.text)) - _words_of(fact.atoms)
            if cores and all(any(words <= before for before, _ in self._said.get(core, ())) for core in cores):
                continue
            shifted = fact._replace(start=fact.start + start - passage.start, end=fact.end + start - passage.start)
            self._add(message_id, passage, shifted, cores, words)

    def _add(self, message_id: str, passage: Passage, fact: Fact, cores: Sequence[str], words: frozenset[str]) -> None:
        at = len(self.items)
        for core in cores:
            self._known.add(core)
            said = self._said.setdefault(core, [])
            if len(said) >= _MOST_WORDINGS:
                said.pop()
            said.append((words, at))
        self.items.append(
            SourceItem(
                text=fact.text,
                kind=fact.kind,
                message_id=message_id,
                span=(passage.start + fact.start, passage.start + fact.end),
                role=passage.role,
                hedged=fact.hedged,
                atoms=tuple(dict.fromkeys(atom.text for atom in fact.atoms)),
                origin=_origin(passage),
            )
        )

    def _record(self, message_id: str, passage: Passage, row: Row) -> None:
        """Take the leaves of a record that are new, as few items as are short enough, each with its identifying key."""
        own = identity_of(row)
        fresh: list[Leaf] = []
        for leaf in row.leaves:
            key = (passage.context, f"{row.subject}|{own}", leaf.path, leaf.value)
            if key not in self._leaves:
                self._leaves.add(key)
                fresh.append(leaf)
        if not fresh:
            return
        total = sum(len(leaf.path) + len(leaf.value) + 4 for leaf in fresh)
        even = total / -(-total // LONGEST_RECORD)
        chunk: list[Leaf] = []
        size = 0
        for leaf in fresh:
            chunk.append(leaf)
            size += len(leaf.path) + len(leaf.value) + 4
            if size >= even:
                self._add_record(message_id, passage, row, own, chunk)
                chunk, size = [], 0
        if chunk:
            self._add_record(message_id, passage, row, own, chunk)

    def _add_record(self, message_id: str, passage: Passage, row: Row, own: str, leaves: Sequence[Leaf]) -> None:
        at = len(self.items)
        listed = False
        error = False
        for leaf in leaves:
            value = leaf.value
            listed = listed or value == own
            error = error or leaf.path in _ERROR_KEYS
            self._known.add(value.casefold())
            if value[0].isdigit():
                self._known.add(normalise("number", value).core)
            self._paths.setdefault(value.casefold(), (leaf.path, at))
        name = row.subject if listed or not own or own in row.subject else f"{row.subject} {own}".strip()
        if not name and not leaves[0].path:
            name = _origin(passage)
        label = f"{name}: " if name else ""
        ids = [row.owner, "" if listed else own]
        atoms = dict.fromkeys([*(value for value in ids if value), *(leaf.value for leaf in leaves)])
        self.items.append(
            SourceItem(
                text=label + ", ".join([f"{leaf.path}: {leaf.value}" if leaf.path else leaf.value for leaf in leaves]),
                kind="error" if error else "kv",
                message_id=message_id,
                span=(passage.start + leaves[0].start, passage.start + max(leaves[-1].end, leaves[0].start)),
                role="tool",
                atoms=tuple(atoms),
                origin=_origin(passage),
            )
        )

    # --- what is not ------------------------------------------------------------------------------------------------------

    def _is_restated(self, fact: Fact, cores: Sequence[str], words: frozenset[str]) -> bool:
        """Say whether a user's clause repeats what earlier sources said of the same values."""
        confirmed: list[int] = []
        for core in cores:
            places = self._said.get(core, [])
            place = next((at for before, at in places if _covers(before, words)), None)
            if place is None and core in self._paths:
                path, at = self._paths[core]
                place = at if _covers(frozenset(content_words(path)), words) else None
            if place is None:
                return False
            confirmed.append(place)
        first = self.items[confirmed[0]] if confirmed else None
        if first is not None and first.hedged and not fact.hedged:
            self.items[confirmed[0]] = None  # what was a guess is now said for sure
            return False
        return True

    def _from_assistant(self, cores: AbstractSet[str]) -> frozenset[str]:
        """Give those of the values that an assistant said."""
        for text in self._unread:
            self._overheard.update(normalise(atom.kind, atom.text).core for atom in find_atoms(text))
        self._unread.clear()
        return frozenset(core for core in cores if core in self._overheard)

    def _correct(self, message_id: str, passage: Passage, fact: Fact, correction: Correction) -> bool:
        """Put a corrected fact in the place of the old one; False when nothing earlier is meant."""
        new = {normalise(atom.kind, atom.text).core for atom in correction.new}
        if not correction.named and new & self._known:
            return False  # "HAT136, not HAT139": a choice between known things
        target = self._meant_by(correction)
        if target is None:
            return False
        at, old = target
        before = self.items[at]
        if before is None:
            return False
        text: str | None = None
        if correction.words:
            text = without_old(fact.text, correction)
        elif before.role == "user" or len(before.atoms) == 1:
            text = replaced(before.text, old, correction)
        text = text or fact.text
        atoms = tuple(find_atoms(text))
        if before.role == "user" or len(before.atoms) == 1:
            self.items[at] = None
            for atom in before.atoms:
                for core in {normalise(found.kind, found.text).core for found in find_atoms(atom)}:
                    self._said[core] = [place for place in self._said.get(core, []) if place[1] != at]
        cores = [normalise(atom.kind, atom.text).core for atom in atoms]
        words = frozenset(content_words(text)) - _words_of(atoms)
        self._add(message_id, passage, fact._replace(text=text, atoms=atoms), cores, words)
        return True

    def _meant_by(self, correction: Correction) -> tuple[int, str] | None:
        """Find the item that a correction is about, newest first, and the wrong value as it is written there."""
        for atom in correction.old:
            core = normalise(atom.kind, atom.text).core
            for words, at in reversed(self._said.get(core, [])):
                item = self.items[at]
                fits = not correction.words or not words or bool(correction.words & words)
                if item is not None and fits and (item.role == "user" or correction.named):
                    return at, _written_in(item, core) or atom.text
            if correction.named and core in self._paths:
                return self._paths[core][1], atom.text
        if correction.old:
            return None
        kinds = {atom.kind for atom in correction.new}
        for at in range(len(self.items) - 1, max(-1, len(self.items) - 40), -1):
            item = self.items[at]
            if item is None or item.role != "user" or len(item.atoms) != 1 or len(correction.new) != 1:
                continue
            found = find_atoms(item.atoms[0])
            words = frozenset(content_words(item.text)) - _words_of(found)
            same = bool(correction.words) and bool(words) and (correction.words <= words or words <= correction.words)
            alike = bool(found) and (found[0].kind in kinds or {found[0].kind, *kinds} <= NUMERIC)
            if alike and (same or (not correction.words and correction.named)):
                return at, item.atoms[0]
        return None


_MOST_WORDINGS = 64
"""Wordings of one value that are remembered: the first ones, and the newest."""

_ERROR_KEYS = frozenset({"error", "errors", "exception", "traceback", "stderr", "error_message", "errorMessage"})


def _bare(text: str) -> Fact | None:
    """Read an answer that is nothing but a value: what it means is which tool answered it, and for what."""
    value = text.strip()
    atoms = tuple(find_atoms(value))
    if not atoms or "\n" in value or any(letter.isalpha() for letter in masked(value, atoms)):
        return None
    start = text.index(value)
    return Fact(atoms[0].kind, start, start + len(value), value, False, atoms, False)


def _origin(passage: Passage) -> str:
    return f"{passage.tool}({passage.context})" if passage.context else passage.tool


def _words_of(atoms: Sequence[Atom]) -> frozenset[str]:
    return frozenset(word for atom in atoms for word in content_words(atom.text))


def _covers(before: frozenset[str], words: frozenset[str]) -> bool:
    """Say whether earlier words beside a value already say what these do."""
    return words <= before or len(words & before) * 2 > len(words)


def _written_in(item: SourceItem, core: str) -> str | None:
    for atom in item.atoms:
        for found in find_atoms(atom):
            if normalise(found.kind, found.text).core == core:
                return atom
    return None


def _only_question(text: str) -> str:
    """Give the one short question of an assistant's turn, which gives a bare answer its meaning; nothing if there are several."""
    tail = text[-2000:]
    if tail.count("?") != 1:
        return ""
    end = tail.index("?") + 1
    begin = max(tail.rfind(mark, 0, end - 1) + len(mark) if mark in tail[: end - 1] else 0 for mark in ("\n", ". ", "! ", ": "))
    question = tail[begin:end].strip(" *-\t")
    return question if 0 < len(question) <= 120 and not find_atoms(question) else ""
