"""Calls to a summarizer: guarded, counted and paid for. The thin shell around ``guard``; what is decided is decided there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from lossless.compaction.guard import Guard
from lossless.policies.model import Answer, Summarizer, SummarizeRequest, Usage
from lossless.summarizers.calling import SummarizerCaller, SummarizerError, models_of, route_of
from lossless.summarizers.pricing import planned_cost, priced
from lossless.tokens.counter import TokenCounter
from lossless.tokens.models import ModelInfo

__all__ = ["Calls", "ModelCalls"]

CALL_SECONDS = 60.0
"""How long one call to a summarizer may take."""
_MOST_FAILURES = 3
"""Failures in a row after which an operation leaves the model alone, even one by hand."""
_SHORT = 200_000
"""Characters; the tokens of a longer answer are guessed, since counting them costs more than it tells."""


@dataclass(slots=True)
class Calls:
    """What an operation may still spend: model calls, and time on the monotonic clock.

    ``thread_id`` is whose operation it is, ``by_hand`` whether a person asked for it, ``failures`` how many there were in a row,
    ``answered`` how many calls gave an answer, ``usage`` what all of them took.
    """

    left: int
    deadline: float
    made: int = 0
    thread_id: str = ""
    by_hand: bool = False
    failures: int = 0
    answered: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def over(self) -> bool:
        """Whether nothing more may be spent."""
        return self.left <= 0 or time.monotonic() >= self.deadline


class ModelCalls:
    """Calls summarizers under a guard. One for each engine.

    Args:
        guard: says whether a call may be made.
        caller: makes it.
        counter: counts what a provider did not report.
        known: gives the models whose prices are known.
    """

    def __init__(
        self, guard: Guard, caller: SummarizerCaller, counter: TokenCounter, known: Callable[[], Sequence[ModelInfo]]
    ) -> None:
        self.guard = guard
        self._caller = caller
        self._counter = counter
        self._known = known

    def ask(self, summarizer: Summarizer, request: SummarizeRequest, calls: Calls) -> Answer:
        """Call a summarizer; the answer carries its usage, with the cost where the price is known.

        Raises:
            SummarizerError: it failed, or the guard or the operation's own limits didn't let it be called.
        """
        route, planned = route_of(summarizer), self._planned(summarizer, request)
        self._begin(route, planned, calls)
        calls.left -= 1
        calls.made += 1
        seconds = max(0.1, min(CALL_SECONDS, calls.deadline - time.monotonic()))
        try:
            answer = self._caller.call(summarizer, replace(request, seconds=seconds), seconds)
        except SummarizerError as error:
            self._failed(summarizer, planned, error, calls)
            raise
        usage = self._paid(summarizer, answer.usage or self._counted(answer, planned), answer.model)
        self.guard.settle(calls.thread_id, planned, usage)
        calls.usage += usage
        calls.answered += 1
        return replace(answer, usage=usage)

    def accepted(self, summarizer: Summarizer, calls: Calls) -> None:
        """Note that an answer of a summarizer became a summary."""
        calls.failures = 0
        self.guard.succeeded(route_of(summarizer))

    def rejected(self, summarizer: Summarizer, calls: Calls) -> None:
        """Note that a summarizer answered at every level it was asked at, and nothing could be used."""
        calls.failures += 1
        self.guard.failed(route_of(summarizer))

    def _begin(self, route: str, planned: Usage, calls: Calls) -> None:
        if calls.over:
            raise SummarizerError("the operation's time or calls are used up")
        if calls.failures >= _MOST_FAILURES:
            raise SummarizerError(f"{route} failed {calls.failures} times in this operation")
        if not calls.by_hand and not self.guard.permits(route):
            raise SummarizerError(f"{route} failed before; it is tried again in {self.guard.seconds_until(route):.0f} s")
        refusal = self.guard.reserve(calls.thread_id, planned)
        if refusal is not None:
            raise SummarizerError(refusal)
        if not self.guard.admit(route, by_hand=calls.by_hand):
            self.guard.settle(calls.thread_id, planned, Usage(cost=0.0))
            raise SummarizerError(f"{route} is being tried by somebody else")

    def _failed(self, summarizer: Summarizer, planned: Usage, error: SummarizerError, calls: Calls) -> None:
        calls.failures += 1
        self.guard.failed(route_of(summarizer))
        told = None if error.usage is None else self._paid(summarizer, error.usage, "")
        taken = told or (None if error.late else Usage(calls=1, cost=0.0))
        self.guard.settle(calls.thread_id, planned, taken)
        if taken is not None:
            calls.usage += taken

    def _planned(self, summarizer: Summarizer, request: SummarizeRequest) -> Usage:
        """Give what a call may take at the most, if its answer is as long as may be used."""
        read = sum(self._counter.count(text) for text in (request.instructions, request.previous, request.text))
        written = 2 * request.target_tokens
        cost = planned_cost(models_of(summarizer), read, written, self._known())
        return Usage(calls=1, input_tokens=read, output_tokens=written, cost=cost, estimated=True)

    def _counted(self, answer: Answer, planned: Usage) -> Usage:
        text = answer.text
        written = self._counter.count(text) if len(text) <= _SHORT else len(text) // 4
        return Usage(calls=1, input_tokens=planned.input_tokens, output_tokens=written, estimated=True)

    def _paid(self, summarizer: Summarizer, usage: Usage, model: str) -> Usage:
        """Give a usage with its cost; where nobody says which model it was, that of the dearest one it may have been."""
        found = priced(usage, model, self._known())
        if found.cost is not None:
            return found
        return replace(found, cost=planned_cost(models_of(summarizer), found.input_tokens, found.output_tokens, self._known()))
