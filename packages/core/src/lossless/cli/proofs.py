"""Proofs: what a session that was played must have left behind, checked against what was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lossless.cli.output import number

if TYPE_CHECKING:
    from lossless import Engine
    from lossless.cli.asking import Answer
    from lossless.cli.playing import Moment

__all__ = ["Proof", "prove"]

_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A statement, whether it holds, and by what."""

    name: str
    ok: bool
    detail: str


def prove(
    engine: Engine, thread_id: str, messages: Sequence[Mapping[str, Any]], last: Moment, answer: Answer | None
) -> list[Proof]:
    """Check a session that was played.

    Args:
        engine: holds it.
        thread_id: its thread.
        messages: what was given.
        last: where it stood when all was played.
        answer: what came of a question about an early detail, if one was asked.
    """
    report = engine.verify(thread_id)
    equal = _equal(engine, thread_id, messages)
    context = last.context
    left_out = any(item.kind == "omission" for item in context.items)
    covered = f"{number(context.represented)} of {number(len(messages))}, verbatim or under a summary"
    found = (
        [Proof(name="an early detail is found again, word for word", ok=answer.found, detail=_place(answer))] if answer else []
    )
    return [
        Proof(
            name="every message is stored byte for byte as it was given",
            ok=equal == len(messages),
            detail=f"{number(equal)} of {number(len(messages))}",
        ),
        Proof(
            name="every message is represented in the context",
            ok=context.total == len(messages) and (context.represented == context.total) is not left_out,
            detail=f"{covered}; a line names the others" if left_out else covered,
        ),
        Proof(
            name="digests, hash chain and coverage hold",
            ok=report.ok,
            detail="derived again from the stored bytes" if report.ok else report.problems[0],
        ),
        Proof(
            name="the budget was never exceeded",
            ok=last.over == 0,
            detail=f"highest {number(last.highest)} of {number(context.budget)} tokens, counted independently",
        ),
        Proof(
            name="every context was valid for the provider",
            ok=last.invalid == 0,
            detail=f"{number(last.contexts - last.invalid)} of {number(last.contexts)}",
        ),
        *found,
    ]


def _place(answer: Answer) -> str:
    return f"in message {answer.hit.message_id}" if answer.hit is not None else "nowhere"


def _equal(engine: Engine, thread_id: str, messages: Sequence[Mapping[str, Any]]) -> int:
    """Count the messages whose stored bytes, and what they decode to, are what was given."""
    from lossless.messages import canonical_equal, encode

    thread = engine.thread(thread_id)
    count = 0
    for start in range(1, len(messages) + 1, _PAGE):
        stored = thread.messages(start, start + _PAGE, deleted=True)
        for message in stored:
            given = dict(messages[message.seq - 1])
            count += message.data == encode(given) and canonical_equal(message.payload, given)
    return count
