"""Importing: which thread a conversation of a file belongs to, and which of its messages are new to it.

A conversation is compared with a stored thread by the digests of its messages, so that its size does not matter: of a file
that is one conversation, no more than 1 000 messages are in memory at once. Where a thread holds another conversation, it is
left alone and the next name is tried, so that repeating an import finds what it stored the first time. From the comparison to
the last message, other imports into the thread wait: of two that bring the same at once, the second finds it stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossless.cli.matching import Given, Match, digest_of, match
from lossless.cli.opening import thread_info
from lossless.cli.output import visible
from lossless.cli.progress import Progress, progress_on
from lossless.compaction.turns import Turn, Turns
from lossless.errors import LosslessError, MessageError, StoreBusyError

if TYPE_CHECKING:
    from lossless import Engine
    from lossless.transcripts.model import Conversation

__all__ = ["Imported", "Importer", "Problem", "readable_files"]

_SUFFIXES = (".gz", ".json", ".jsonl", ".ndjson")
_LONGEST_NAME = 480  # a thread's id has 512 characters at the most, and a number may follow
_LEASE_SECONDS = 300.0  # longer than comparing a conversation with a thread, or storing a part of it, takes
_PATIENCE = 900.0  # seconds; an import that goes on for longer than that is one to be waited for by a person


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A file, line or message that was skipped. ``line``: from 1, or None if it concerns the file."""

    path: Path
    line: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}" if self.line is not None else f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What came of a conversation: its thread, and how many messages and tokens were added to it."""

    thread_id: str
    path: Path
    added: int
    tokens: int


def readable_files(files: Sequence[Path], problems: list[Problem]) -> list[Path]:
    """Give the files that can be read, each once; the others are reported and become problems."""
    from lossless.cli.output import complain
    from lossless.transcripts.source import check_file

    found: dict[Path, Path] = {}
    for path in files:
        try:
            check_file(path)
            found.setdefault(path.resolve(), path)
        except LosslessError as error:
            problems.append(Problem(path=path, line=None, reason=error.message))
            complain(str(error))
    return list(found.values())


class Importer:
    """One run of an import.

    Args:
        engine: where the threads are.
        format: whose messages they are, or ``auto``.
        base: the thread that was asked for, or None.
        problems: takes what was skipped.
    """

    def __init__(self, engine: Engine, *, format: str, base: str | None, problems: list[Problem]) -> None:
        self._engine = engine
        self._format = format
        self._base = base
        self._problems = problems
        self._names = _Names(base)
        self._turns = Turns(engine.database, _LEASE_SECONDS, "import")
        self._done: list[_Target] = []
        self._progress = Progress(None)

    def run(self, paths: Sequence[Path]) -> list[Imported]:
        """Import files, one after the other; give what came of each conversation, in order."""
        with progress_on(paths) as self._progress, closing(self._turns):
            for path in paths:
                with ExitStack() as held:
                    self._file(path, held)
        return [
            Imported(
                thread_id=one.thread_id, path=one.path, added=one.after[0] - one.before[0], tokens=one.after[1] - one.before[1]
            )
            for one in self._done
        ]

    def _file(self, path: Path, held: ExitStack) -> None:
        from lossless.transcripts.model import BadLine
        from lossless.transcripts.reader import read_transcript

        whole: _Target | None = None  # the conversation that the file as a whole is
        parts: list[Conversation] = []
        for piece in read_transcript(path, format=self._format, progress=self._progress.of(path)):
            if isinstance(piece, BadLine):
                self._report(path, piece.number, piece.reason)
                continue
            if parts and (piece.entry != parts[0].entry):
                self._entry(path, parts)
                parts = []
            if piece.entry is not None:
                parts.append(piece)
                continue
            if whole is None:
                whole = held.enter_context(self._target(path, piece.name, lambda: self._messages_of(path)))
            self._store(whole, piece.messages)
        if parts:
            self._entry(path, parts)
        if whole is not None:
            self._finish(whole)
        self._progress.finished(path)

    def _entry(self, path: Path, parts: list[Conversation]) -> None:
        with self._target(path, parts[0].name, lambda: (message for part in parts for message in part.messages)) as target:
            target.line = parts[0].first_line
            for part in parts:
                self._store(target, part.messages)
            self._finish(target)

    def _messages_of(self, path: Path) -> Iterable[Any]:
        """Read the file again, for the messages of the conversation that it as a whole is."""
        from lossless.transcripts.model import BadLine
        from lossless.transcripts.reader import read_transcript

        for piece in read_transcript(path, format=self._format):
            if not isinstance(piece, BadLine) and piece.entry is None:
                yield from piece.messages

    @contextmanager
    def _target(self, path: Path, name: str | None, messages: Callable[[], Iterable[Any]]) -> Iterator[_Target]:
        """Find the thread of a conversation, and what of it is stored there; meanwhile no other import adds to that thread."""
        given: dict[str, list[Given]] = {}
        for candidate in self._names.of(name or _stem(path)):
            with self._turns.taken(self._engine.key_of(candidate), _PATIENCE) as turn:
                if turn is None:
                    raise StoreBusyError(
                        f"another import goes on in the thread {candidate!r}",
                        hint="import again when it is done: what it has stored is not stored twice",
                    )
                info = thread_info(self._engine, candidate)
                if info is not None and info.format not in given:
                    given[info.format] = [digest_of(self._engine, each, self._format, info.format) for each in messages()]
                compared = given[info.format] if info is not None else []
                found = match(self._engine, candidate, compared) if info is not None else Match(skip=0, fits=True)
                if not found.fits and candidate != self._base:
                    continue
                self._names.take(candidate)
                refused = {place: one.refused for place, one in enumerate(compared[: found.skip], 1) if one.refused}
                before = (info.messages, info.tokens) if info is not None else (0, 0)
                yield _Target(
                    thread_id=candidate, path=path, turn=turn, skip=found.skip, refused=refused, before=before, after=before
                )
                return
        raise AssertionError("names don't end")

    def _store(self, target: _Target, messages: Sequence[Any]) -> None:
        """Store the next messages of a conversation, but for those that are stored and those that can't be."""
        target.turn.renew()
        known = min(target.skip - target.seen, len(messages)) if target.skip > target.seen else 0
        for place in range(target.seen + 1, target.seen + known + 1):
            if place in target.refused:
                self._refuse(target, place, target.refused[place])
        rest = list(messages[known:])
        place = target.seen + known + 1
        while rest:
            try:
                self._append(target.thread_id, rest)
                break
            except MessageError as error:
                if error.index is None:
                    raise
                cause = error.__cause__
                reason = cause.message if isinstance(cause, MessageError) else error.message
                self._refuse(target, place + error.index, reason)
                if error.index:
                    self._append(target.thread_id, rest[: error.index])
                rest, place = rest[error.index + 1 :], place + error.index + 1
        target.seen += len(messages)

    def _append(self, thread_id: str, messages: Sequence[Any]) -> None:
        format = None if self._format == "auto" else self._format
        self._engine.thread(thread_id).append(messages, format=format)

    def _finish(self, target: _Target) -> None:
        info = thread_info(self._engine, target.thread_id)
        if info is None:
            return  # nothing of it could be stored
        if self._engine.budget is not None:
            thread = self._engine.thread(target.thread_id)
            while (result := thread.compact()).changed and result.status == "partial":
                pass
        target.after = (info.messages, info.tokens)
        self._done.append(target)

    def _refuse(self, target: _Target, place: int, reason: str) -> None:
        self._report(target.path, target.line, f"message {place}: {reason}")

    def _report(self, path: Path, line: int | None, reason: str) -> None:
        problem = Problem(path=path, line=line, reason=reason)
        self._problems.append(problem)
        self._progress.say(visible(f"lossless: {problem}"))


@dataclass(slots=True, kw_only=True)
class _Target:
    """A conversation on its way into a thread.

    ``turn``: keeps other imports out of the thread; ``skip``: how many of its messages, from the start, are stored or refused,
    and ``refused`` why, by place; ``seen``: how many went by; ``before`` and ``after``: messages and tokens of the thread.
    """

    thread_id: str
    path: Path
    turn: Turn
    skip: int
    refused: Mapping[int, str]
    before: tuple[int, int]
    after: tuple[int, int]
    line: int | None = None
    seen: int = 0


class _Names:
    """The names that conversations may get: their own, else one with a number; none twice in a run."""

    def __init__(self, base: str | None) -> None:
        self._base = base
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def of(self, name: str) -> Iterator[str]:
        """Give names for a conversation until one is taken."""
        root = self._base if self._base is not None else _usable(name)
        count = self._next.get(root, 1)
        while _numbered(root, count) in self._taken:
            count += 1
        self._next[root] = count
        while True:
            candidate = _numbered(root, count)
            if candidate not in self._taken:
                yield candidate
            count += 1

    def take(self, name: str) -> None:
        """Give a name to a conversation."""
        self._taken.add(name)


def _numbered(root: str, count: int) -> str:
    return root if count == 1 else f"{root[:_LONGEST_NAME]}-{count}"


def _stem(path: Path) -> str:
    name = path.name
    while name.lower().endswith(_SUFFIXES) and len(Path(name).stem) < len(name):
        name = Path(name).stem
    return name


def _usable(name: str) -> str:
    return visible(name)[:_LONGEST_NAME] or "conversation"
