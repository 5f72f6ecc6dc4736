"""The public names as a user writes them. mypy checks this file in strict mode; nothing runs it.

``assert_type`` pins what a name gives. A line with ``type: ignore[code]`` is a mistake that must stay one: mypy reports the
comment as unused once the mistake is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, assert_type

import lossless_langchain
import lossless_langgraph
import lossless_llamaindex
from lossless.errors import LosslessError, MessageError, StoreBusyError
from lossless.messages.model import Message, MessageRef
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text, readable
from lossless.messages.payload import decode, encode
from lossless.policies.model import Note, Policy, Regime, SourceItem, Summarizer, SummarizeRequest, Witness
from lossless.tokens.counter import TokenCounter


def errors_carry_what_to_do(error: LosslessError) -> None:
    assert_type(error.code, str)
    assert_type(error.hint, str)
    assert_type(error.retryable, bool)
    if isinstance(error, MessageError):
        assert_type(error.index, int | None)
    try:
        raise StoreBusyError("busy", hint="try again")
    except LosslessError as caught:
        assert_type(caught.retryable, bool)


def messages_are_read(message: Message, ref: MessageRef) -> None:
    assert_type((ref.id, ref.seq), tuple[str, int])
    assert_type((message.id, message.seq, message.role), tuple[str, int, str])
    assert_type(message.text, str)
    assert_type(message.payload, Any)
    assert_type(message.created_at, datetime)
    assert_type(message.revises, int | None)
    message.role = "user"  # type: ignore[misc]
    ref.seq = 2  # type: ignore[misc]


def parts_are_told_apart(part: Part) -> str:
    match part:
        case Text(text=text) | Reasoning(text=text):
            return text
        case Call():
            return part.arguments
        case Result():
            return readable(part.parts)
        case Media():
            return part.mime or part.kind
        case Opaque():
            return part.text


def payloads_come_back(payload: dict[str, object]) -> None:
    assert_type(encode(payload), bytes)
    decode("text")  # type: ignore[arg-type]


class Verbatim:
    """A policy of a user's own: no base class, only the protocol."""

    name = "verbatim"

    def write(self, messages: Sequence[Message], budget_tokens: int, goal: str | None = None) -> Note:
        """Join the texts."""
        return Note(text="\n".join(message.text for message in messages)[: budget_tokens * 4], kept=0, total=0)

    def condense(self, notes: Sequence[Note], budget_tokens: int, goal: str | None = None) -> Note:
        """Join the notes."""
        return Note(text="\n".join(note.text for note in notes)[: budget_tokens * 4], kept=0, total=0)


class Letters:
    """A token counter of a user's own."""

    name = "letters"
    exact = False

    def count(self, text: str) -> int:
        """Count letters."""
        return len(text)


async def summarize_later(request: SummarizeRequest) -> str:
    """Summarize with an asynchronous client."""
    return request.text[: request.target_tokens]


def no_text(request: SummarizeRequest) -> int:
    """Give something that is no summary."""
    return request.level


policy: Policy = Verbatim()
counter: TokenCounter = Letters()
at_once: Summarizer = lambda request: request.text  # noqa: E731
later: Summarizer = summarize_later
broken: Summarizer = no_text  # type: ignore[assignment]
unknown: Regime = "fine"  # type: ignore[assignment]


def notes_are_judged(note: Note, verdict: Witness) -> None:
    assert_type((note.kept, note.total), tuple[int, int])
    assert_type(verdict.regime, Regime)
    assert_type(verdict.missing, tuple[SourceItem, ...])
    assert_type(verdict.invented, tuple[str, ...])
    Note("text", 1, 2)  # type: ignore[call-arg]


assert_type(lossless_langchain.__version__, str)
assert_type(lossless_langgraph.__version__, str)
assert_type(lossless_llamaindex.__version__, str)
