"""The values of the policies room: source items, notes, and the request a summarizer is given."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from lossless.messages.model import Message

__all__ = [
    "Answer",
    "Decision",
    "Note",
    "Policy",
    "Regime",
    "SourceItem",
    "SummarizeRequest",
    "Summarizer",
    "Usage",
    "Witness",
]

Regime = Literal[
    "correctable",
    "contaminated",
    "recoverable",
    "partial_loud",
    "partial_silent",
    "uncorrectable_loud",
    "uncorrectable_silent",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceItem:
    """One recomputable fact inside a source: a number with its label, an id, a path, a date, a constraint.

    Attributes:
        text: the fact in the words of its source, short enough to stand in a list, whole.
        kind: ``money``, ``quantity``, ``time``, ``date``, ``hash``, ``id``, ``kv``, ``path``, ``url``, ``version``, ``command``,
            ``error``, ``constraint`` or ``number``.
        message_id: the message it stands in.
        span: start and end of it in that message's text.
        role: ``user`` or ``tool``.
        hedged: whether its source says that it is not sure.
        atoms: the exact strings (numbers, ids, paths) that must be readable for the item to count as kept.
        origin: of a tool's answer, the tool and the arguments that the answer does not repeat, such as ``search(2024-05-20)``.
    """

    text: str
    kind: str
    message_id: str
    span: tuple[int, int]
    role: str
    hedged: bool = False
    atoms: tuple[str, ...] = ()
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision, commitment, plan, open task or side-effecting call, with the role that made it. Never evidence for a value."""

    text: str
    kind: str
    message_id: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a policy wrote.

    Attributes:
        text: the note, with the tag ``k of N`` in front only when ``kept < total``.
        kept: how many source items can be read from the note.
        total: how many source items its sources hold.
        items: the source items that were kept.
        decisions: the decisions that were kept; they don't count in k of N.
        regime: the verdict of the witness.
        tokens: tokens of ``text``.
        invented: numbers and ids in a model's text that none of its sources hold.
    """

    text: str
    kept: int
    total: int
    items: tuple[SourceItem, ...] = ()
    decisions: tuple[Decision, ...] = ()
    regime: Regime = "correctable"
    tokens: int = 0
    invented: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """The static, model-free check of a note against its sources.

    Attributes:
        regime: the verdict.
        kept: how many items can be read from the note, each with its label or meaning.
        total: how many there are.
        missing: the items that can't be read from it.
        invented: numbers and ids in the note that none of its sources hold.
    """

    regime: Regime
    kept: int
    total: int
    missing: tuple[SourceItem, ...]
    invented: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizeRequest:
    """What a summarizer is given.

    Attributes:
        messages: the originals, for a leaf; empty for a condensed pass.
        text: always the complete input: with roles, without reasoning; for a condensed pass the child summaries. It is data,
            between two lines that carry ``mark``.
        target_tokens: how long the answer should be at the most, in tokens.
        level: 1 normal, 2 aggressive (half the target, as bullets).
        depth: 0 for a leaf, 1 and more for a condensed pass.
        instructions: what to write, ready to stand before ``text`` in a prompt.
        previous: the end of the summary before this one, for continuity only; may be empty.
        seconds: how long the answer is waited for; one that comes later is dropped.
        thread_id: the thread that is compacted; may be empty.
        mark: what the lines around ``text`` carry; it stands nowhere inside, and nobody who writes messages can know it.
    """

    messages: Sequence[Message]
    text: str
    target_tokens: int
    level: Literal[1, 2]
    depth: int
    instructions: str
    previous: str = ""
    seconds: float = 60.0
    thread_id: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What calls to models took.

    Attributes:
        calls: how many there were.
        input_tokens: tokens that were read; ``cached_tokens`` of them from the provider's cache.
        output_tokens: tokens that were written, reasoning included.
        cost: US dollars, or None where a price is not known.
        estimated: whether tokens were counted here because a model did not report them.
    """

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """Give the sum; its cost is known only if both are."""
        if not self.calls or not other.calls:
            return other if not self.calls else self
        unknown = self.cost is None or other.cost is None
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=None if unknown else (self.cost or 0.0) + (other.cost or 0.0),
            estimated=self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a summarizer wrote, with what it took; a summarizer that knows neither usage nor model returns the bare text.

    Attributes:
        text: the summary.
        model: name of the model that wrote it, for its price; may be empty.
        usage: as the provider reported it, of every call that was made for this answer; None where it did not.
    """

    text: str
    model: str = ""
    usage: Usage | None = None


class Summarizer(Protocol):
    """Writes summaries: a function or an object that is called with a request, sync or async.

    One that has the attribute ``route`` (text) is known by it to the circuit breaker; its ``models`` (names) tell which models it
    may call, so that their prices can be looked up.
    """

    def __call__(self, request: SummarizeRequest, /) -> str | Answer | Awaitable[str | Answer]:
        """Write a summary. An exception, no text or a blank one counts as failed."""
        ...


class Policy(Protocol):
    """How a note is written from sources within a budget."""

    name: str

    def write(self, messages: Sequence[Message], budget_tokens: int, goal: str | None = None) -> Note:
        """Write a note of at most ``budget_tokens`` tokens, the completeness tag included."""
        ...

    def condense(self, notes: Sequence[Note], budget_tokens: int, goal: str | None = None) -> Note:
        """Write one note from several older ones, oldest first; ``total`` is the sum of theirs."""
        ...
