"""Writing a summary: from a block's sources, through policy and summarizer, to a node of the DAG."""

from __future__ import annotations

import time
from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection

from lossless.compaction.acceptance import cleaned, objection
from lossless.compaction.calls import Calls, ModelCalls
from lossless.compaction.escalation import Ask, Outcome, escalate, targets
from lossless.compaction.piecewise import ask_piecewise
from lossless.compaction.plan import Block
from lossless.compaction.prompts import framed, instructions, mark_of, previous_end, transcript
from lossless.context.rendering import own_words, render_summary
from lossless.dag.summaries import Summary, is_damaged, span_key, summary_id
from lossless.messages.model import Message
from lossless.messages.parts import Text
from lossless.policies import as_sources, complete, decisions, extract, witness
from lossless.policies.extract import gather
from lossless.policies.model import Decision, Note, Policy, SourceItem, Summarizer, SummarizeRequest, Usage
from lossless.store.keys import ThreadKey
from lossless.store.times import to_stored
from lossless.summarizers.calling import SummarizerError, route_of
from lossless.tokens.counter import TokenCounter
from lossless.tokens.parts import count_parts

__all__ = ["Calls", "Sources", "SummaryWriter"]

_CONTROLS = frozenset({"blank", "lossy", "lossy_padded", "pointer", "source_plus_conclusion"})
"""Policies that exist to be compared with; their verdict is recorded, not enforced."""
_WINDOW = 32_000
"""Tokens that a summarizer is taken to read at once where neither it nor the engine says more."""
_LONGEST = 60
"""Characters a token of a summarizer's answer may have on average before the answer is not even counted."""


@dataclass(frozen=True, slots=True)
class Sources:
    """A block's sources, loaded: each a message or a summary, in view order."""

    entries: tuple[Message | Summary, ...]

    @property
    def messages(self) -> list[Message]:
        """The messages among them that a person or a model wrote."""
        return [own_words(entry) for entry in self.entries if isinstance(entry, Message) and not entry.injected]

    @property
    def summaries(self) -> list[Summary]:
        """The summaries among them."""
        return [entry for entry in self.entries if isinstance(entry, Summary)]


class SummaryWriter:
    """Writes summaries by one policy, with or without a summarizer."""

    def __init__(
        self,
        policy: Policy,
        plain: Policy,
        summarizer: Callable[[], Summarizer | None],
        counter: TokenCounter,
        models: ModelCalls,
        secret: Callable[[], bytes | None] = lambda: None,
        *,
        in_place_of_a_model: bool = False,
    ) -> None:
        self._secret = secret
        self._degraded = in_place_of_a_model
        self.window = _WINDOW
        self.policy = policy
        self._plain = plain
        self._summarizer = summarizer
        self._counter = counter
        self._models = models

    @property
    def calls_models(self) -> bool:
        """Whether writing a summary costs a call to a summarizer: it helps the default policy; others write by themselves."""
        return self.policy is self._plain and self._summarizer() is not None

    @property
    def route(self) -> str:
        """The model route that summaries are written by, as the guard knows it; empty where no model is called."""
        summarizer = self._summarizer() if self.calls_models else None
        return "" if summarizer is None else route_of(summarizer)

    @property
    def made_by(self) -> tuple[str, str]:
        """Name what writes: the policy, and the model's route."""
        return self.policy.name, self.route

    @property
    def may_call_models(self) -> bool:
        """Whether a model would write the next summary: there is one, and its breaker lets a call, or a probe, through."""
        return self.calls_models and self._models.guard.permits(self.route)

    def span_key(self, block: Block) -> bytes:
        """Name a block and how it is summarised."""
        return span_key(self.policy.name, block.names)

    def write(
        self, block: Block, sources: Sources, *, soft: int, calls: Calls, previous: str = ""
    ) -> tuple[Summary | None, Outcome]:
        """Summarise a block; the summary is None when nothing shorter than the block came out."""
        depth = block.depth
        frame = self._frame(block, sources)
        sizes = targets(block.tokens, depth, frame, soft)

        drafts: list[Summary] = []
        before, answered = calls.usage, calls.answered
        calls.usage = Usage()

        def rendered(note: Note) -> int:
            degraded = self._degraded or (ask.level == 3 and self.calls_models)
            drafts.append(self._summary(block, sources, note, degraded=degraded))
            return drafts[-1].tokens

        steps = escalate(
            sizes,
            block.tokens,
            rendered,
            may_be_silent=self.policy.name in _CONTROLS,
        )
        try:
            ask = next(steps)
            while True:
                answer = self._answer(ask, sources, depth, block.tokens - frame - 1, calls, previous)
                ask = steps.send(answer)
        except StopIteration as stop:
            outcome: Outcome = stop.value
        usage, calls.usage = calls.usage, before + calls.usage
        if calls.answered > answered:
            self._report(outcome, calls)
        if outcome.note is None:
            return None, outcome
        taken = asdict(usage) if usage.calls else {}
        return replace(drafts[-1], level=outcome.level, usage=taken), outcome

    def write_plain(self, block: Block, sources: Sources, *, soft: int) -> Summary | None:
        """Summarise a block without a model, in haste; the summary is marked degraded where a model would have written it."""
        hasty = SummaryWriter(
            self._plain,
            self._plain,
            lambda: None,
            self._counter,
            self._models,
            self._secret,
            in_place_of_a_model=self.calls_models,
        )
        calls = Calls(left=0, deadline=time.monotonic() + 60)
        return hasty.write(block, sources, soft=soft, calls=calls)[0]

    def beside_damage(self, connection: Connection, key: ThreadKey, summary: Summary) -> Summary:
        """Give a new summary another id if one that was damaged has taken its own, since what is stored is not edited."""
        while is_damaged(connection, key, summary.id):
            text = summary.text + "\n"
            id = summary_id(summary.span_key, text, self._secret(), degraded=summary.degraded)
            summary = self._sized(replace(summary, id=id, text=text))
        return summary

    def _answer(self, ask: Ask, sources: Sources, depth: int, room: int, calls: Calls, previous: str) -> Note | Exception:
        if ask.level == 3:
            return self._plain_note(sources, ask.target)
        if not self.calls_models:
            return self._policy_note(self.policy, sources, ask.target, room)
        return self._model_note(ask, sources, depth, min(room, 2 * ask.target), calls, previous)

    def _model_note(self, ask: Ask, sources: Sources, depth: int, room: int, calls: Calls, previous: str) -> Note | Exception:
        summarizer = self._summarizer()
        if summarizer is None:
            return SummarizerError("the plugin that summarised is gone")
        written = transcript(sources.entries)
        told = instructions(ask.level, depth, ask.target)
        mark = mark_of(told, previous, written)
        request = SummarizeRequest(
            messages=tuple(sources.messages) if depth == 0 else (),
            text=framed(written, mark),
            target_tokens=ask.target,
            level=1 if ask.level == 1 else 2,
            depth=depth,
            instructions=told,
            previous=previous_end(previous, self._counter),
            mark=mark,
            thread_id=calls.thread_id,
        )
        try:
            answer = ask_piecewise(self._models, summarizer, request, written, calls, self._counter, self.window).text
        except SummarizerError as error:
            return error
        if (too_long := _too_long(answer, room)) is not None:
            return too_long
        text = cleaned(answer, mark)
        problem = objection(text, written, told)
        if problem is not None:
            return SummarizerError(problem)
        tokens = self._counter.count(text)
        if tokens > room:
            return SummarizerError(f"the answer has more than {room} tokens")
        items, gathered, left_out = _facts_of(sources)
        # What is added must not make every summary twice as long: each token of it is read again whenever it is condensed.
        full = max(1, min(room, max(ask.target, tokens + ask.target // 4)))
        return complete(text, items, gathered, full, self._counter, _pointer(sources), sources=written, left_out=left_out)

    def _report(self, outcome: Outcome, calls: Calls) -> None:
        """Tell the guard what became of the answers; calls that failed it knows already."""
        summarizer = self._summarizer()
        if summarizer is not None:
            (self._models.accepted if outcome.level < 3 else self._models.rejected)(summarizer, calls)

    def _plain_note(self, sources: Sources, target: int) -> Note | Exception:
        note = self._policy_note(self._plain, sources, target, target)
        if isinstance(note, Note) and not note.text.strip():
            count = len(sources.entries)
            text = f"{count} messages without text that could be summarised." if sources.messages else f"{count} copies."
            return replace(note, text=text, tokens=self._counter.count(text))
        return note

    def _policy_note(self, policy: Policy, sources: Sources, target: int, room: int) -> Note | Exception:
        try:
            if not sources.summaries:
                note = policy.write(sources.messages, target)
            else:
                note = policy.condense([_as_note(entry) for entry in sources.entries], target)
        except (Exception, SystemExit, CancelledError) as error:  # a policy may be a stranger's code
            return error if isinstance(error, Exception) else RuntimeError(f"the policy raised {type(error).__name__}")
        return note if policy is self._plain else self._counted(note, sources, room)

    def _counted(self, note: object, sources: Sources, room: int) -> Note | Exception:
        """Count what a stranger's policy kept; a policy may also return bare text."""
        text = note.text if isinstance(note, Note) else note
        if not isinstance(text, str):
            return TypeError(f"the policy returned {type(note).__name__}, neither a Note nor text")
        text = str.__str__(text)  # a subclass may answer anything when it is asked for its length
        if (problem := _too_long(text, room)) is not None:
            return problem
        items, _decisions, _left_out = _facts_of(sources)
        found = witness(text, items)
        kept = tuple(item for item in items if item not in found.missing)
        carried = note.decisions if isinstance(note, Note) else ()
        return Note(
            text=text,
            kept=found.kept,
            total=found.total,
            items=kept,
            decisions=tuple(each for each in carried if _is_sound(each)) if isinstance(carried, (tuple, list)) else (),
            regime=found.regime,
            tokens=self._counter.count(text),
        )

    def _summary(self, block: Block, sources: Sources, note: Note, *, degraded: bool = False) -> Summary:
        span = self.span_key(block)
        text = note.text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
        summary = Summary(
            id=summary_id(span, text, self._secret(), degraded=degraded),
            depth=block.depth,
            text=text,
            items=tuple([_plain(item) for item in note.items]),
            decisions=tuple([_plain(decision) for decision in note.decisions]),
            kept=note.kept,
            total=note.total,
            regime=note.regime,
            tokens=0,
            **_extent(sources),
            policy=self.policy.name,
            level=1,
            degraded=degraded,
            span_key=span,
            sources=block.names,
        )
        return self._sized(summary)

    def _sized(self, summary: Summary) -> Summary:
        return replace(summary, tokens=count_parts((Text(render_summary(summary)),), self._counter))

    def _frame(self, block: Block, sources: Sources) -> int:
        """Count what rendering adds to a note."""
        empty = Note(text="", kept=0, total=999, regime="partial_loud")
        return self._summary(block, sources, empty).tokens


def _extent(sources: Sources) -> dict[str, Any]:
    """Give what a summary stands for: how many messages and tokens, from where to where, from when to when."""
    first: list[tuple[int, int]] = []
    last: list[tuple[int, int]] = []
    for entry in sources.entries:
        if isinstance(entry, Summary):
            first.append((entry.first_seq, entry.earliest_at))
            last.append((entry.last_seq, entry.latest_at))
        else:
            at = to_stored(entry.created_at)
            first.append((entry.seq, at))
            last.append((entry.seq, at))
    return {
        "source_tokens": sum(entry.source_tokens if isinstance(entry, Summary) else entry.tokens for entry in sources.entries),
        "messages": sum(entry.messages if isinstance(entry, Summary) else 1 for entry in sources.entries),
        "first_seq": first[0][0],
        "last_seq": last[-1][0],
        "newest_seq": max(entry.newest_seq if isinstance(entry, Summary) else entry.seq for entry in sources.entries),
        "earliest_at": min(at for _seq, at in first),
        "latest_at": max(at for _seq, at in last),
    }


def _as_note(entry: Message | Summary) -> Note:
    """Read a child as a note: a summary as it was written, a message between summaries as what can be extracted from it."""
    if isinstance(entry, Summary):
        return Note(
            text=entry.text,
            kept=entry.kept,
            total=entry.total,
            items=tuple(_item(item) for item in entry.items),
            decisions=tuple(Decision(**decision) for decision in entry.decisions),
            regime="correctable" if entry.kept == entry.total else "partial_loud",
        )
    if entry.injected:
        return Note(text="", kept=0, total=0)
    items = tuple(extract([entry]))
    return Note(text="", kept=len(items), total=len(items), items=items, decisions=tuple(decisions([entry])))


def _facts_of(sources: Sources) -> tuple[list[SourceItem], list[Decision], int]:
    """Gather what a note is checked against: source items, decisions, and how many items more the sources are known to hold."""
    if not sources.summaries:
        gathered = gather(as_sources(sources.messages))
        return gathered.items, decisions(sources.messages), gathered.left_out
    notes = [_as_note(entry) for entry in sources.entries]
    items = [item for note in notes for item in note.items]
    return items, [decision for note in notes for decision in note.decisions], sum(note.total for note in notes) - len(items)


def _too_long(text: str, room: int) -> SummarizerError | None:
    """Say that a text can't fit, without counting its tokens."""
    if len(text) <= _LONGEST * max(room, 1):
        return None
    return SummarizerError(f"the answer has {len(text)} characters, for {room} tokens")


def _is_sound(decision: object) -> bool:
    """Tell whether a stranger's policy carried on what can be stored: a decision, all of its fields texts."""
    return isinstance(decision, Decision) and all(isinstance(value, str) for value in _plain(decision).values())


def _pointer(sources: Sources) -> str:
    """Name what can be expanded to get everything back."""
    first, last = sources.entries[0].id, sources.entries[-1].id
    return first if first == last else f"{first} … {last}"


def _plain(value: SourceItem | Decision) -> dict[str, Any]:
    """Give a flat value as a dict; ``asdict`` would copy each of its fields deeply."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _item(stored: dict[str, Any]) -> SourceItem:
    return SourceItem(**{**stored, "span": tuple(stored["span"]), "atoms": tuple(stored["atoms"])})
