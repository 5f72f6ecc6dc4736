"""The active context: the view rendered for one model call within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lossless.messages.profiles import Repair

__all__ = ["ActiveContext", "ContextItem", "ItemKind"]

ItemKind = Literal["message", "stub", "summary", "omission", "recall"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One item of the view as it was rendered.

    Attributes:
        kind: what it is.
        id: of the message or summary; ``omission`` for the omission line.
        tokens: what it costs.
        first_seq: the first message it stands for, ``last_seq`` the last.
        text: what a person would read of it.
        messages: how many messages of the view it stands for; 0 for a recall, whose messages are under a summary.
        ids: for an omission, the ids it names: first and last message, and the summaries that are not shown.
    """

    kind: ItemKind
    id: str
    tokens: int
    first_seq: int
    last_seq: int
    text: str
    ids: tuple[str, ...] = ()
    messages: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveContext:
    """A thread's view, rendered for one model call.

    Attributes:
        messages: dicts of the wanted format, with the provider's keys only; fresh, yours to change.
        items: what they were made from, in view order.
        tokens: of the messages, without overhead.
        status: ``ok``, or ``exhausted`` when the budget can't hold it whole or verbatim; ``reason`` says why.
        represented: how many messages are shown or under a summary that is shown; an omission line counts the others.
        total: how many messages the view represents.
        view: hash of segments and content: the same view gives the same bytes.
        system: the system prompt where the format keeps it apart, else None.
        repairs: what was done to make the messages valid for the provider.
        budget: the tokens that the messages may have at the most.
        overhead: the tokens that were counted for what is sent beside them.
    """

    messages: list[dict[str, Any]]
    items: tuple[ContextItem, ...]
    tokens: int
    status: Literal["ok", "exhausted"]
    reason: str
    represented: int
    total: int
    view: str
    system: Any
    repairs: tuple[Repair, ...]
    budget: int
    overhead: int = 0
