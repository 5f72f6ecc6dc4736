"""Preparing: making new summaries and a view that holds them, outside of any transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from lossless.compaction.calls import Calls
from lossless.compaction.control import End, Find, Mend, Standing, Write
from lossless.compaction.mending import Unmended
from lossless.compaction.plan import Block, Element, Run, decide
from lossless.compaction.survey import Protected, protect, survey
from lossless.compaction.writing import Sources, SummaryWriter
from lossless.context.budget import Limits
from lossless.dag.heads import Head, keep_collectors_out, lock_head
from lossless.dag.opening import ref_to
from lossless.dag.segments import SummaryRef
from lossless.dag.splice import Source, Splice
from lossless.dag.summaries import Summary, by_span, directly_over, load_summaries, sources_of, store_summary
from lossless.dag.view import View
from lossless.hooks import Plugins
from lossless.messages.model import Message
from lossless.store import times
from lossless.store.connection import Database
from lossless.store.erasures import read_epoch
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader, facts_of

__all__ = ["Means", "Preparation", "Preparer", "Refused"]

_UNSTORED = 64
"""Summaries that an operation holds in memory; each takes some 40 KB with its source items."""


@dataclass(slots=True)
class Preparation:
    """What an operation has prepared so far: a view that is not yet the thread's, and how it was made.

    ``made_by`` names policy and model route: what they made is promoted only while they are the engine's.
    ``epoch``: of the namespace when it began; what is erased later may be in it.
    ``in_vain``: whether a person asked for a better summary, and there is none.
    ``ids`` names all summaries that were made, oldest first; ``unstored`` holds those that are not in the database yet.
    """

    head: Head
    base: View
    view: View
    made_by: tuple[str, str]
    calls: Calls
    epoch: int = 0
    end: End = "met"
    splices: list[Splice] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    unstored: dict[str, Summary] = field(default_factory=dict)
    newest_text: str = ""
    mended: int = 0
    in_vain: bool = False

    @property
    def state(self) -> tuple[int, int]:
        """Where the thread stood."""
        return self.head.generation, self.head.next_seq

    def tokens(self) -> int:
        """Tokens of the prepared view."""
        return self.view.tokens(self.head.total_tokens)

    def splice(self, summary: Summary, sources: tuple[SummaryRef | Source, ...]) -> bool:
        """Put a summary in the place of its sources; give whether they stand together."""
        splice = Splice(ref_to(summary), sources)
        view = splice.apply(self.view)
        if view is None:
            return False
        self.view = view
        self.splices.append(splice)
        self.ids.append(summary.id)
        self.unstored[summary.id] = summary
        self.newest_text = summary.text
        return True

    def store(self, connection: Connection, key: ThreadKey) -> None:
        """Store the summaries that are not stored yet; whoever calls has locked the head and compared the epoch."""
        now = times.now()
        for summary in self.unstored.values():
            if summary.sources:  # one that was made before is stored already, perhaps in a thread that this one comes from
                store_summary(connection, key, summary, now)


class Refused:
    """Blocks that could not be made shorter: they are not tried again. Bounded; forgetting one costs a call."""

    def __init__(self, keep: int = 4096) -> None:
        self._keep = keep
        self._found: dict[tuple[ThreadKey, bytes], None] = {}

    def add(self, key: ThreadKey, span: bytes) -> None:
        """Remember a block by the key of its span."""
        self._found[key, span] = None
        while len(self._found) > self._keep:
            self._found.pop(next(iter(self._found)), None)

    def __contains__(self, place: tuple[ThreadKey, bytes]) -> bool:
        return place in self._found


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a preparation works with."""

    database: Database
    reader: MessageReader
    writer: SummaryWriter
    plugins: Plugins
    refused: Refused
    unmended: Unmended


class Preparer:
    """Answers the steps of one operation. ``before_call`` runs before each step that may take long."""

    def __init__(
        self,
        means: Means,
        key: ThreadKey,
        prepared: Preparation,
        limits: Limits,
        before_call: Callable[[], None] = lambda: None,
    ) -> None:
        self._means = means
        self._key = key
        self.prepared = prepared
        self._limits = limits
        self._calls = prepared.calls
        self._before_call = before_call
        self._kept = Protected(frozenset(), frozenset())
        self._found: Sources | None = None
        self._outdated = False

    def answer(self, wanted: Find | Write | Mend) -> Standing:
        """Do what a step wants."""
        match wanted:
            case Find():
                return self._find(wanted)
            case Write(block):
                self._before_call()
                return self._write(block)
            case Mend(ref):
                self._before_call()
                return self._mend(ref)

    def _standing(self, *, made: bool = False, spent: bool = False) -> Standing:
        return Standing(self.prepared.tokens(), made=made, spent=spent)

    # Finding

    def _find(self, wanted: Find) -> Standing:
        if time.monotonic() >= self._calls.deadline or self._outdated:
            return self._standing(spent=True)
        key, prepared, head = self._key, self.prepared, self.prepared.head
        share = replace(self._limits, tail=wanted.share)
        with self._means.database.read() as connection:
            if wanted.afresh:
                open_units = [seq for _call, seq in head.open_calls]
                self._kept = protect(connection, key, prepared.view, head.next_seq, open_units, limits=share, tail=wanted.tail)
            elements = survey(connection, key, prepared.view, head.next_seq, self._kept, enough=2 * share.chunk)
            block = decide(elements, limits=share, excess=wanted.excess, over_hard=wanted.over_hard, is_refused=self._is_refused)
            if block is not None:
                block = self._made_before(connection, elements, block)
                self._found = self._sources(connection, block)
        return Standing(prepared.tokens(), block)

    def _is_refused(self, block: Block) -> bool:
        return (self._key, self._means.writer.span_key(block)) in self._means.refused

    def _made_before(self, connection: Connection, elements: Sequence[Element], block: Block) -> Block:
        """Prefer a leaf that was made before over messages at the same place: after an undo its summary is used again."""
        first = block.names[0]
        if not isinstance(first, int):
            return block
        for element in elements:
            if not isinstance(element, Run) or all(fact.seq != first for fact in element.facts):
                continue
            start = next(index for index, fact in enumerate(element.facts) if fact.seq == first)
            for id in directly_over(connection, self._key, first):
                sources = sources_of(connection, self._key, id)
                facts, later = element.facts[start : start + len(sources)], element.facts[start + len(sources) :]
                if not {fact.unit for fact in facts}.isdisjoint(fact.unit for fact in later):
                    continue  # an answer has come since
                again = Block(tuple(Source(fact.seq, fact.tokens, fact.total_tokens) for fact in facts))
                span = self._means.writer.span_key(again)
                if again.names == sources and by_span(connection, self._key, span) is not None:
                    return again
        return block

    def _sources(self, connection: Connection, block: Block) -> Sources:
        prepared, means = self.prepared, self._means
        # What is compacted is hardly read again soon: keeping it would push out what is.
        stored = [name for name in block.names if isinstance(name, str) and name not in prepared.unstored]
        summaries = load_summaries(connection, self._key, stored) | prepared.unstored
        seqs = [name for name in block.names if isinstance(name, int)]
        messages = {message.seq: message for message in means.reader.by_seq(connection, self._key, seqs, keep=False)}
        entries: list[Message | Summary] = [
            summaries[source.id] if isinstance(source, SummaryRef) else messages[source.seq] for source in block.sources
        ]
        return Sources(tuple(entries))

    # Writing

    def _write(self, block: Block) -> Standing:
        means, sources = self._means, self._found
        assert sources is not None, "a block is found before it is written"
        span = means.writer.span_key(block)
        with means.database.read() as connection:
            summary = by_span(connection, self._key, span)
        if summary is None or summary.tokens >= block.tokens:
            if self._calls.over and means.writer.calls_models:
                return self._standing(spent=True)
            summary = self._summary(block, sources, previous=self._text_before(block))
            if summary is not None and not summary.degraded and means.writer.calls_models:
                means.unmended.written()
            if summary is not None and summary.degraded:
                means.plugins.event("degraded", thread_id=self._key.thread_id, summary_id=summary.id)
        if summary is None or not self.prepared.splice(summary, block.sources):
            means.refused.add(self._key, span)
            return self._standing()
        self._put_away()
        return self._standing(made=True)

    def _summary(self, block: Block, sources: Sources, *, previous: str = "") -> Summary | None:
        means = self._means
        summary, outcome = means.writer.write(block, sources, soft=self._limits.soft, calls=self._calls, previous=previous)
        if outcome.rejected:
            facts = {"thread_id": self._key.thread_id, "level": outcome.level, "rejected": list(outcome.rejected)}
            means.plugins.event("escalation", **facts)
        if summary is not None:
            with means.database.read() as connection:
                summary = means.writer.beside_damage(connection, self._key, summary)
        return summary if summary is None or summary.tokens < block.tokens else None

    def _text_before(self, block: Block) -> str:
        """Give the text of the last summary made in this operation, which as a rule is the one before this block."""
        return self.prepared.newest_text if block.depth == 0 else ""

    def _put_away(self) -> None:
        """Store what was made when it is much, so that memory does not grow with a backlog and a kill loses little of it.

        No view names these summaries before promotion. An operation that ends without it leaves them to be used by the next one.
        """
        if len(self.prepared.unstored) >= _UNSTORED:
            self._outdated = not self._means.database.write(self._store)
            self.prepared.unstored.clear()

    def _store(self, connection: Connection) -> bool:
        """Store summaries, or give False where it would be wrong: what was erased meanwhile may be in them."""
        prepared = self.prepared
        keep_collectors_out(connection)
        if lock_head(connection, self._key) is None or prepared.made_by != self._means.writer.made_by:
            return False
        if read_epoch(connection, self._key.namespace) != prepared.epoch:
            return False
        prepared.store(connection, self._key)
        return True

    # Mending

    def _mend(self, ref: SummaryRef) -> Standing:
        """Write a degraded summary's sources again; only what a model wrote takes its place."""
        if self._calls.over:
            return self._standing(spent=True)
        with self._means.database.read() as connection:
            block = self._block_under(connection, ref.id)
            sources = self._sources(connection, block)
            summary = by_span(connection, self._key, self._means.writer.span_key(block))
        if summary is None or summary.tokens >= block.tokens:
            summary = self._summary(block, sources)
        if summary is None or summary.degraded or not self.prepared.splice(summary, (ref,)):
            self.prepared.in_vain = self._calls.by_hand
            if self._means.writer.may_call_models:
                self._means.unmended.failed(self._key, ref.id)
            return self._standing()
        self._means.unmended.written()
        self.prepared.mended += 1
        self._means.plugins.event("mended", thread_id=self._key.thread_id, summary_id=summary.id, degraded=ref.id)
        self._put_away()
        return self._standing(made=True)

    def _block_under(self, connection: Connection, id: str) -> Block:
        names = sources_of(connection, self._key, id)
        facts = {fact.seq: fact for fact in facts_of(connection, self._key, [name for name in names if isinstance(name, int)])}
        below = load_summaries(connection, self._key, [name for name in names if isinstance(name, str)])
        return Block(
            tuple(
                ref_to(below[name]) if isinstance(name, str) else Source(name, facts[name].tokens, facts[name].total_tokens)
                for name in names
            )
        )
