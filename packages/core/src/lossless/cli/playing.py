"""Playing a session: message by message into a thread, asking for the context before each of the agent's turns and checking it.

The checks share no code with what they check: tokens are counted over the rendered text by the tokenizer alone, and validity is
judged by the provider's rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lossless.cli.opening import thread_info

if TYPE_CHECKING:
    from lossless import ActiveContext, CompactionResult, Engine
    from lossless.tokens import TokenCounter

__all__ = ["Moment", "Player", "TokenChecker", "context_texts"]

_A_MESSAGE = 3  # delimiters and role, as OpenAI's cookbook counts them
_AN_IMAGE = 1_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where a session stands.

    Attributes:
        played: messages appended so far, ``total`` of all.
        stored_tokens: tokens of all of them.
        context: the active context now.
        counted: its tokens by an independent count, ``highest`` the most of all contexts so far.
        contexts: how many contexts were asked for.
        wrong: what was wrong with contexts so far, in words.
        over: how many contexts exceeded the budget; ``invalid``: how many were not valid.
        compactions: how often the view was compacted, with ``model_calls`` calls of a model.
        newest: the message appended last.
    """

    played: int
    total: int
    stored_tokens: int
    context: ActiveContext
    counted: int
    highest: int
    contexts: int
    wrong: tuple[str, ...]
    over: int
    invalid: int
    compactions: int
    model_calls: int
    newest: Mapping[str, Any]


class TokenChecker:
    """Counts the tokens of rendered messages; equal texts are counted once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._known: dict[str, int] = {}

    def count(self, messages: Sequence[Mapping[str, Any]], system: Any = None) -> int:
        """Count the tokens that a model would read, without those of a request's frame."""
        spent = sum(_A_MESSAGE + self._value(message) for message in messages)
        return spent + (self._value(system) if system is not None else 0)

    def _value(self, value: Any) -> int:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            if "input" in value:
                return self._value({key: each for key, each in value.items() if key != "input"}) + self._text(
                    json.dumps(value["input"], ensure_ascii=False)
                )
            return sum(self._field(key, each) for key, each in value.items())
        if isinstance(value, (list, tuple)):
            return sum(self._value(each) for each in value)
        return 0

    def _field(self, key: str, value: Any) -> int:
        if key in ("source", "image_url", "input_audio", "file"):
            return _AN_IMAGE
        return 0 if key in ("type", "signature") else self._value(value)

    def _text(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._counter.count(text)
        return self._known[text]


@dataclass(slots=True)
class _Compactions:
    """A plugin that counts compactions."""

    changed: int = 0
    model_calls: int = 0

    def after(self, result: CompactionResult) -> None:
        self.changed += result.changed
        self.model_calls += result.model_calls


@dataclass(slots=True)
class Player:
    """Plays a session into a thread.

    Args:
        engine: with a window and background compaction.
        thread_id: a thread that is not there yet.
        messages: what was said, oldest first.
        format: in which format contexts are asked for: ``openai`` or ``anthropic``.
    """

    engine: Engine
    thread_id: str
    messages: Sequence[Mapping[str, Any]]
    format: str
    _highest: int = 0
    _contexts: int = 0
    _over: int = 0
    _invalid: int = 0
    _wrong: list[str] = field(default_factory=list)

    def play(self) -> Iterator[Moment]:
        """Append message by message; give a moment before each of the agent's turns and at the end.

        Compaction runs in the background while a moment is looked at, and is waited for then: a model's answer takes longer.
        """
        from lossless.tokens import counter_for

        checker = TokenChecker(counter_for())
        compactions = _Compactions()
        unplug = self.engine.plugins.register(_plugin(compactions))
        thread = self.engine.thread(self.thread_id)
        try:
            for place, message in enumerate(self.messages, start=1):
                thread.append(message)
                last = place == len(self.messages)
                if last:
                    thread.wait()
                if last or (_is_agent(self.messages[place]) and not _is_agent(message)):
                    context = thread.context(format=self.format)
                    counted = checker.count(context.messages, context.system)
                    self._check(context, counted, place)
                    info = thread_info(self.engine, self.thread_id)
                    yield Moment(
                        played=place,
                        total=len(self.messages),
                        stored_tokens=info.tokens if info is not None else 0,
                        context=context,
                        counted=counted,
                        highest=self._highest,
                        contexts=self._contexts,
                        wrong=tuple(self._wrong),
                        over=self._over,
                        invalid=self._invalid,
                        compactions=compactions.changed,
                        model_calls=compactions.model_calls,
                        newest=message,
                    )
                    thread.wait()
        finally:
            unplug()

    def _check(self, context: ActiveContext, counted: int, place: int) -> None:
        from lossless.messages import find_profile, problems

        self._contexts += 1
        self._highest = max(self._highest, counted)
        if counted > context.budget:
            self._over += 1
            self._wrong.append(f"after message {place} the context has {counted} tokens, {context.budget} are allowed")
        found = problems(context.messages, find_profile(self.format), context.system)
        if found:
            self._invalid += 1
            self._wrong.append(f"after message {place} the context is not valid: {found[0]}")


def context_texts(context: ActiveContext) -> list[str]:
    """Give every text that a model would read in a context."""
    return list(_texts([context.system, context.messages]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


def _is_agent(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "assistant"


def _plugin(compactions: _Compactions) -> object:
    from lossless import hookimpl

    class Counting:
        @hookimpl
        def lossless_after_compaction(self, result: CompactionResult) -> None:
            compactions.after(result)

    return Counting()
