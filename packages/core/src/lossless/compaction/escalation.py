"""Escalation: from a block to an accepted note in at most three levels. A sans-IO generator, driven by ``compaction.writing``.

Level 1 asks for a normal note, level 2 for half of it as bullets, level 3 writes one without a model that is always shorter than
what it replaces. A level is accepted only if its note is not blank, keeps or names what it must (its witness is not silent), and
is strictly smaller than the block with everything that rendering adds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Literal

from lossless.policies.model import Note

__all__ = ["Ask", "Outcome", "Targets", "escalate", "targets"]

LEAF_TARGET = 2_400
CONDENSED_TARGET = 2_000
TARGET_SHARE = 0.35
"""Of the input; the LCM reference implementations use the same numbers."""
LAST_TARGET = 512
"""Tokens of a level 3 note, its frame and marker included (LCM paper)."""

SILENT = ("partial_silent", "uncorrectable_silent")


@dataclass(frozen=True, slots=True)
class Targets:
    """How long a note may be, in tokens: at levels 1 and 2 as asked for, and at level 3 at the most."""

    normal: int
    aggressive: int
    last: int


@dataclass(frozen=True, slots=True)
class Ask:
    """What the generator wants next: a note of a level, of about ``target`` tokens."""

    level: Literal[1, 2, 3]
    target: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an escalation.

    Attributes:
        note: the accepted note, or None when the block can't be made shorter.
        level: the level that wrote it.
        rejected: why each earlier level was not accepted.
    """

    note: Note | None
    level: int
    rejected: tuple[str, ...]


def targets(tokens: int, depth: int, frame: int, soft: int) -> Targets:
    """Size the notes for a block.

    Args:
        tokens: what the block costs as it stands.
        depth: of the summary to be made.
        frame: what rendering adds to a note.
        soft: the soft threshold; a condensed summary takes an eighth of it at the most, or depth would add up.
    """
    ceiling = LEAF_TARGET if depth == 0 else min(CONDENSED_TARGET, max(LAST_TARGET // 2, soft // 8))
    room = max(1, tokens - frame - 1)
    normal = max(1, min(ceiling, int(TARGET_SHARE * tokens), room))
    # The last one, too, must save something to speak of: where a model failed, it is not condensed until it is made again.
    return Targets(normal, max(1, normal // 2), max(1, min(LAST_TARGET - frame, normal)))


def escalate(
    sizes: Targets, size: int, rendered: Callable[[Note], int], *, may_be_silent: bool = False
) -> Generator[Ask, Note | Exception, Outcome]:
    """Ask for notes level by level until one is accepted.

    Args:
        sizes: how long the notes may be.
        size: tokens of the block.
        rendered: counts a note as it would be rendered.
        may_be_silent: whether the policy is exempt from the witness, as the controls are.

    Yields:
        What is wanted; send the note, or the exception that came instead.
    """
    rejected: list[str] = []
    for level, target in _steps(sizes):
        answer = yield Ask(level, target)
        problem = _problem(answer, size, rendered, may_be_silent or level == 3)
        if problem is None:
            assert isinstance(answer, Note)
            return Outcome(answer, level, tuple(rejected))
        rejected.append(f"level {level}: {problem}")
    return Outcome(None, 3, tuple(rejected))


def _steps(sizes: Targets) -> Iterator[tuple[Literal[1, 2, 3], int]]:
    yield 1, sizes.normal
    yield 2, sizes.aggressive
    last = sizes.last
    while last > 0:
        # Escaping can make a note longer when it is rendered, so the last level tries again with less.
        yield 3, last
        last //= 2


def _problem(answer: Note | Exception, size: int, rendered: Callable[[Note], int], may_be_silent: bool) -> str | None:
    if isinstance(answer, Exception):
        return f"{type(answer).__name__}: {answer}"
    if not answer.text.strip():
        return "the note is blank"
    if not may_be_silent and answer.regime in SILENT:
        return f"the note is {answer.regime}: {answer.kept} of {answer.total} source items, and it does not say so"
    tokens = rendered(answer)
    if tokens >= size:
        return f"the note has {tokens} tokens, what it replaces {size}"
    return None
