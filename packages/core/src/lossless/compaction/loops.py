"""Loops: what a thread is in the middle of, and whether its view may be swung now.

A model that reasons binds its reasoning to everything before it. So nothing before an open tool loop that carries reasoning is
newly edited, and while such a model may be answering the view stays as it was sent. The view of any other thread may be swung
whenever no call waits for its result. Above hard all of it gives way: the context drops the reasoning together.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from lossless.context.entries import newest_messages
from lossless.dag.heads import Head
from lossless.dag.view import View
from lossless.messages.parts import Reasoning
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader

__all__ = ["Loop", "current_loop", "hold_reason"]

_LONGEST = 256
_FEW = 16
"""Messages in which a model that reasons is looked for outside of a loop."""
_ALL = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Where a thread is in its turn.

    Attributes:
        unanswered: the newest unit has calls without a result.
        open: the newest message is a call or a result: the assistant goes on.
        asked: the newest message is a person's: the assistant may be answering.
        reasons: reasoning is in the loop, or in the newest messages where there is none.
    """

    unanswered: bool = False
    open: bool = False
    asked: bool = False
    reasons: bool = False


def current_loop(connection: Connection, key: ThreadKey, reader: MessageReader, view: View, head: Head) -> Loop:
    """Read where a thread is in its turn."""
    facts = [fact for _place, fact in newest_messages(connection, key, view, head.next_seq, tokens=_ALL, count=_FEW)]
    if not facts:
        return Loop()
    last = facts[-1]
    unanswered = any(unit == last.unit for _call, unit in head.open_calls)
    is_open = unanswered or last.role == "tool" or (last.role == "user" and not last.request and last.unit != last.seq)
    if is_open and not any(fact.request for fact in facts):
        facts = [fact for _place, fact in newest_messages(connection, key, view, head.next_seq, tokens=_ALL, count=_LONGEST)]
    if is_open:
        begun = next((n for n in range(len(facts) - 1, -1, -1) if facts[n].request), 0)
        facts = facts[begun:]
    said = reader.by_seq(connection, key, [fact.seq for fact in facts if fact.role == "assistant"], keep=False)
    reasons = any(isinstance(part, Reasoning) for message in said for part in message.parts)
    return Loop(unanswered=unanswered, open=is_open, asked=last.request == 1, reasons=reasons)


def hold_reason(loop: Loop, *, over_hard: bool, by_hand: bool) -> str:
    """Say why a view may not be swung now; empty if it may. Pure.

    Args:
        loop: where the thread is in its turn.
        over_hard: whether the view is above hard.
        by_hand: whether a person asks for it, who knows whether a model is answering.
    """
    if over_hard:
        return ""
    if loop.open and loop.reasons:
        return "an open tool loop carries reasoning, and nothing before it is edited until it closes"
    if by_hand:
        return ""
    if loop.unanswered:
        return "a call waits for its result"
    if loop.asked and loop.reasons:
        return "a model that reasons may be answering"
    return ""
