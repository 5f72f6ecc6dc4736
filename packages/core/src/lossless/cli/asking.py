"""Asking: a question about an early detail of a session, answered from the store when the context no longer holds it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lossless.cli.playing import context_texts

if TYPE_CHECKING:
    from lossless import ActiveContext, Engine, Hit, Message

__all__ = ["Answer", "Question", "answer", "question_about"]

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_SHORTEST, _LONGEST = 24, 160
_LOOKED_AT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, the pattern to search for, the sentence that answers it, and the facts in that sentence."""

    text: str
    pattern: str
    sentence: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the store says to a question.

    Attributes:
        hit: what the search for the pattern found, or None.
        expanded: how many messages ``expand`` gave for the covering summary, or for the message itself.
        found: whether the sentence stands in them, word for word.
        in_context: whether it stands in the current context, too.
        facts_in_context: how many of its facts stand there, in a summary, say.
    """

    question: Question
    hit: Hit | None
    expanded: int
    found: bool
    in_context: bool
    facts_in_context: int


def answer(engine: Engine, thread_id: str, question: Question, context: ActiveContext) -> Answer:
    """Search for the pattern, and expand what covers the oldest hit that holds the sentence."""
    thread = engine.thread(thread_id)
    hits = list(thread.grep(question.pattern, limit=_LOOKED_AT))
    held = [hit for hit in hits if question.sentence in thread.expand(hit.message_id)[0].text]
    oldest = (held or hits)[-1:]
    hit = oldest[0] if oldest else None
    under = thread.expand(hit.summary_id or hit.message_id) if hit is not None else []
    return Answer(
        question=question,
        hit=hit,
        expanded=len(under),
        found=any(question.sentence in message.text for message in under),
        in_context=_is_shown(question.sentence, context),
        facts_in_context=sum(_is_shown(fact, context) for fact in question.facts),
    )


def question_about(engine: Engine, thread_id: str, context: ActiveContext) -> Question | None:
    """Make a question about the earliest sentence of a person, or of a tool, that the context no longer shows."""
    shown = {item.id for item in context.items if item.kind == "message"}
    early = engine.thread(thread_id).messages(1, _LOOKED_AT)
    fallback: Question | None = None
    for role in ("user", "tool"):
        for message in (message for message in early if message.role == role):
            for sentence in _sentences(message):
                question = Question(
                    text=f"What did the {role} say in message {message.seq}?", pattern=sentence, sentence=sentence
                )
                fallback = fallback or question
                if message.id not in shown and not _is_shown(sentence, context):
                    return question
    return fallback


def _sentences(message: Message) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(message.text[:4_000]):
        if _SHORTEST <= len(sentence.strip()) <= _LONGEST:
            yield sentence.strip()


def _is_shown(sentence: str, context: ActiveContext) -> bool:
    """Tell whether a sentence stands in the context, as it is or escaped in a summary's frame."""
    return any(sentence in text or sentence in html.unescape(text) for text in context_texts(context))
