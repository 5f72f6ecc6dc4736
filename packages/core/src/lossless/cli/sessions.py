"""Sessions for the demo: the one that is shipped, or one from a file of the user's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lossless.cli.asking import Question
from lossless.cli.output import counted, number
from lossless.errors import LosslessError, NotFoundError

__all__ = ["Session", "load_session"]

WINDOW = 16_000
SMALLEST_WINDOW = 4_000
"""Tokens; for what comes beside the pinned messages."""
MOST_MESSAGES = 4_000
"""Of a file of the user's, so that the demo stays one."""
ENOUGH_TOKENS = 60_000
"""How many tokens of short conversations are played one after the other."""
_CHARACTERS_A_TOKEN = 4  # about; good enough to choose by


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session to be played.

    Attributes:
        messages: oldest first.
        window: tokens of the window that it is played into.
        format: in which format contexts are asked for.
        about: what it is, in words.
        notes: what a person should know about how it was made from a file.
        question: about an early detail; None: to be made up.
    """

    messages: Sequence[Mapping[str, Any]]
    window: int
    format: str
    about: str
    notes: tuple[str, ...] = ()
    question: Question | None = None


def load_session(path: Path | None, window: int | None) -> Session:
    """Load the session of a file, or the one that is shipped.

    Raises:
        NotFoundError: there is no such file, or no message in it.
    """
    return _shipped(window or WINDOW) if path is None else _from_file(path, window)


def _shipped(window: int) -> Session:
    from lossless.cli.demo_session import DEMO_QUESTION, demo_session

    messages = demo_session()
    return Session(
        messages=messages,
        window=window,
        format="openai",
        about=f"an agent's session of {number(len(messages))} messages in a window of {number(window)} tokens",
        question=Question(
            text=DEMO_QUESTION.text,
            pattern=DEMO_QUESTION.pattern,
            sentence=DEMO_QUESTION.answer,
            facts=DEMO_QUESTION.facts,
        ),
    )


def _from_file(path: Path, window: int | None) -> Session:
    from lossless.messages import looks_anthropic
    from lossless.messages.payload import json_text

    conversations, notes = _conversations(path)
    if not conversations:
        raise NotFoundError(f"there is no message in {path}", hint="give a transcript that `lossless import` reads")
    sizes = [sum(len(json_text(message)) for message in conversation) for conversation in conversations]
    chosen = [sizes.index(max(sizes))]
    if len(conversations) > 1 and max(sizes) < _CHARACTERS_A_TOKEN * 3 * SMALLEST_WINDOW:
        chosen = _enough(sizes)
        notes.append(
            f"its conversations are short: {number(len(chosen))} of {number(len(conversations))} are played as one session"
        )
    elif len(conversations) > 1:
        notes.append(f"the longest of {number(len(conversations))} conversations")
    messages = [message for place in chosen for message in conversations[place]]
    kept, dropped = _storable(messages[:MOST_MESSAGES])
    if dropped:
        notes.append(f"left out, as their ids can't be used or come twice: {counted(dropped, 'message')}")
    if len(messages) > MOST_MESSAGES:
        notes.append(f"the first {number(MOST_MESSAGES)} of {number(len(messages))} messages")
    size = window or _fitting_window(kept)
    if window is None:
        notes.append(f"a window of {number(size)} tokens is assumed, so that it has to be compacted; --window sets another")
    return Session(
        messages=kept,
        window=size,
        format="anthropic" if any(looks_anthropic(message) for message in kept) else "openai",
        about=f"{number(len(kept))} messages of {path.name} in a window of {number(size)} tokens",
        notes=tuple(notes),
    )


def _conversations(path: Path) -> tuple[list[list[dict[str, Any]]], list[str]]:
    """Read the conversations of a file, and say what could not be read."""
    from lossless.transcripts.model import BadLine
    from lossless.transcripts.reader import read_transcript

    found: dict[int | None, list[dict[str, Any]]] = {}
    bad = 0
    for piece in read_transcript(path):
        if isinstance(piece, BadLine):
            bad += 1
        else:
            found.setdefault(piece.entry, []).extend(piece.messages)
    notes = [f"left out, as they can't be read: {counted(bad, 'line')}; `lossless import` names them"] if bad else []
    return list(found.values()), notes


def _enough(sizes: Sequence[int]) -> list[int]:
    """Choose conversations, whose sizes are in characters, from the first on until they have enough tokens."""
    chosen, spent = [], 0
    for place, size in enumerate(sizes):
        chosen.append(place)
        spent += size
        if spent >= _CHARACTERS_A_TOKEN * ENOUGH_TOKENS:
            break
    return chosen


def _storable(messages: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Leave out what an append would refuse or recognise as stored; give the rest, and how many were left out."""
    from lossless.messages import encode
    from lossless.store.keys import checked_name

    kept, ids = [], set()
    for message in messages:
        try:
            encode(message)
            id = message.get("id")
            if id is not None:
                if checked_name(id, "a message id") in ids:
                    continue
                ids.add(id)
        except LosslessError:
            continue
        kept.append(message)
    return kept, len(messages) - len(kept)


def _fitting_window(messages: Sequence[Mapping[str, Any]]) -> int:
    """Give a window that is small enough for a session to be compacted, and large enough for its pinned messages."""
    tokens = [_tokens(message) for message in messages]
    lead = next((place for place, message in enumerate(messages) if message.get("role") not in ("system", "developer")), 0)
    window = 2 * sum(tokens[:lead]) + max(SMALLEST_WINDOW, min(WINDOW, sum(tokens) // 3))
    return math.ceil(window / 100) * 100


def _tokens(message: Mapping[str, Any]) -> int:
    from lossless.messages import AnthropicFormat, OpenAIFormat, looks_anthropic
    from lossless.tokens import count_parts, counter_for

    reader = AnthropicFormat() if looks_anthropic(message) else OpenAIFormat()
    return count_parts(reader.read(message), counter_for())
