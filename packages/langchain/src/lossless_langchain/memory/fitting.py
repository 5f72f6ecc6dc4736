"""What a memory gives, within its limit, as messages or as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    get_buffer_string,
)

from lossless import ActiveContext
from lossless.messages import LangChainFormat
from lossless.tokens import TokenCounter, count_parts
from lossless_langchain.codec import encode_message

__all__ = ["Fitting", "Missing", "as_text", "in_class", "is_summary", "missing_of"]

Missing = Callable[[int], int]

_READER = LangChainFormat()
_WRITABLE = (HumanMessage, AIMessage, SystemMessage, ToolMessage, FunctionMessage, ChatMessage)
"""What LangChain writes as text."""


class Fitting:
    """Leaves out the oldest messages where a context can't be made small enough: a limit is a limit.

    Args:
        counter: counts tokens.
        human: what the user's messages begin with in text.
        ai: what the answers begin with.
    """

    def __init__(self, counter: TokenCounter, human: str, ai: str) -> None:
        self._counter = counter
        self._human = human
        self._ai = ai

    def messages(self, shown: list[BaseMessage], limit: int | None, missing: Missing) -> list[BaseMessage]:
        """Give the newest messages that cost no more than the limit, in tokens, and how many more there are if that fits.

        Args:
            shown: the messages of a context.
            limit: the most tokens; None: there is no limit.
            missing: tells how many messages of the session are not shown where so many of these are left out.
        """
        return self._newest(shown, limit, missing, self._cost)

    def text(self, shown: list[BaseMessage], limit: int | None, missing: Missing) -> str:
        """Give the same as text."""
        written = [in_class(message, SystemMessage) if is_summary(message) else message for message in shown]
        return self._written(self._newest(written, limit, missing, lambda messages: self._counter.count(self._written(messages))))

    def _newest(
        self, shown: list[BaseMessage], limit: int | None, missing: Missing, cost: Callable[[list[BaseMessage]], int]
    ) -> list[BaseMessage]:
        if limit is None or not shown or cost(shown) <= limit:
            return shown
        low, high = 1, len(shown)  # how many are left out: the fewest that suffice
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if cost(shown[middle:]) <= limit else (middle + 1, high)
        places = [place for place in range(low, len(shown)) if not _is_result(shown[place])]
        for place in places:  # that something is left out is said, as long as any message fits beside it
            noted = [*_note(missing(place)), *shown[place:]]
            if cost(noted) <= limit:
                return noted
        if places:
            return shown[places[0] :]
        alone = _note(missing(len(shown)))
        return alone if cost(alone) <= limit else []

    def _cost(self, messages: Sequence[BaseMessage]) -> int:
        return sum(count_parts(_READER.read(encode_message(message)), self._counter) for message in messages)

    def _written(self, messages: Sequence[BaseMessage]) -> str:
        return as_text(messages, self._human, self._ai)


def missing_of(context: ActiveContext) -> Missing:
    """Give what tells how many messages a context doesn't show where so many of its own are left out from the front."""
    counts = {item.id: item.messages for item in context.items if item.kind in ("summary", "stub", "message")}
    # What has no origin is a message as it was stored; of what an item is written as, the last counts.
    stands: list[int] = []
    for payload in reversed(context.messages):
        stands.append(counts.pop(payload["origin"], 0) if "origin" in payload else 1)
    return lambda left_out: max(0, context.total - sum(stands[: len(stands) - left_out]))


def as_text(messages: Sequence[BaseMessage], human: str, ai: str) -> str:
    """Write messages as text, a line for each, as LangChain does; those of classes that it does not know by their type."""
    known = [
        message if isinstance(message, _WRITABLE) else ChatMessage(content=message.content, role=message.type)
        for message in messages
    ]
    return get_buffer_string(known, human_prefix=human, ai_prefix=ai)


def is_summary(message: BaseMessage) -> bool:
    """Tell whether a message of a context is a summary."""
    return message.additional_kwargs.get("lc_source") == "summarization"


def in_class(message: BaseMessage, cls: type[Any]) -> BaseMessage:
    """Give a message of another class that says the same."""
    made: BaseMessage = cls(content=message.content, additional_kwargs=message.additional_kwargs)
    return made


def _is_result(message: BaseMessage) -> bool:
    """Tell whether a message is nothing without the call before it."""
    return isinstance(message, (ToolMessage, FunctionMessage))


def _note(left_out: int) -> list[BaseMessage]:
    if not left_out:
        return []
    what = "1 earlier message is" if left_out == 1 else f"{left_out} earlier messages are"
    return [SystemMessage(f"[{what} not shown]")]
