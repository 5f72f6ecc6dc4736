"""The public names as a user writes them. mypy checks this file in strict mode; nothing runs it.

``assert_type`` pins what a name gives. A line with ``type: ignore[code]`` is a mistake that must stay one: mypy reports the
comment as unused once the mistake is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, assert_type

import lossless
import lossless_langchain
import lossless_langgraph
import lossless_llamaindex
from lossless.errors import LosslessError, MessageError, StoreBusyError
from lossless.messages.model import Message, MessageRef
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text, readable
from lossless.messages.payload import decode, encode
from lossless.policies.model import Note, Policy, Regime, SourceItem, Summarizer, SummarizeRequest, Witness
from lossless.tokens.counter import TokenCounter


def errors_carry_what_to_do(error: LosslessError) -> None:
    assert_type(error.code, str)
    assert_type(error.hint, str)
    assert_type(error.retryable, bool)
    if isinstance(error, MessageError):
        assert_type(error.index, int | None)
    try:
        raise StoreBusyError("busy", hint="try again")
    except LosslessError as caught:
        assert_type(caught.retryable, bool)


def messages_are_read(message: Message, ref: MessageRef) -> None:
    assert_type((ref.id, ref.seq), tuple[str, int])
    assert_type((message.id, message.seq, message.role), tuple[str, int, str])
    assert_type(message.text, str)
    assert_type(message.payload, Any)
    assert_type(message.created_at, datetime)
    assert_type(message.revises, int | None)
    message.role = "user"  # type: ignore[misc]
    ref.seq = 2  # type: ignore[misc]


def parts_are_told_apart(part: Part) -> str:
    match part:
        case Text(text=text) | Reasoning(text=text):
            return text
        case Call():
            return part.arguments
        case Result():
            return readable(part.parts)
        case Media():
            return part.mime or part.kind
        case Opaque():
            return part.text


def payloads_come_back(payload: dict[str, object]) -> None:
    assert_type(encode(payload), bytes)
    decode("text")  # type: ignore[arg-type]


class Verbatim:
    """A policy of a user's own: no base class, only the protocol."""

    name = "verbatim"

    def write(self, messages: Sequence[Message], budget_tokens: int, goal: str | None = None) -> Note:
        """Join the texts."""
        return Note(text="\n".join(message.text for message in messages)[: budget_tokens * 4], kept=0, total=0)

    def condense(self, notes: Sequence[Note], budget_tokens: int, goal: str | None = None) -> Note:
        """Join the notes."""
        return Note(text="\n".join(note.text for note in notes)[: budget_tokens * 4], kept=0, total=0)


class Letters:
    """A token counter of a user's own."""

    name = "letters"
    exact = False

    def count(self, text: str) -> int:
        """Count letters."""
        return len(text)


async def summarize_later(request: SummarizeRequest) -> str:
    """Summarize with an asynchronous client."""
    return request.text[: request.target_tokens]


def no_text(request: SummarizeRequest) -> int:
    """Give something that is no summary."""
    return request.level


policy: Policy = Verbatim()
counter: TokenCounter = Letters()
at_once: Summarizer = lambda request: request.text  # noqa: E731
later: Summarizer = summarize_later
broken: Summarizer = no_text  # type: ignore[assignment]
unknown: Regime = "fine"  # type: ignore[assignment]


def an_engine_is_used() -> None:
    budget = lossless.Budget(window=32_000, fresh_tail=16)
    with lossless.Engine("sqlite://", budget=budget, summarizer=summarize_later, policy=Verbatim()) as engine:
        thread = engine.thread("t")
        refs = thread.append({"role": "user", "content": "hello", "id": "a"}, created_at=datetime.now())
        assert_type(refs, list[MessageRef])
        assert_type(thread.rearrange(lambda shown: [shown.refs[0], {"role": "user", "content": "x"}]), list[MessageRef])
        thread.append([{"role": "user", "content": "one"}, *thread.messages()], compact=False, format="anthropic")
        context = thread.context(overhead=100, tools=[{"name": "f"}], profile="gemini")
        assert_type(context, lossless.ActiveContext)
        assert_type(context.messages, list[dict[str, Any]])
        assert_type(context.items, tuple[lossless.ContextItem, ...])
        assert_type(thread.compact(force=True), lossless.CompactionResult)
        assert_type(thread.plan(), lossless.CompactionPlan)
        assert_type(thread.views(diff=True), list[lossless.ViewRecord])
        assert_type(thread.report_usage(1_000, thread.context()), float)
        page = engine.grep("hello", thread="t", mode="words", limit=5)
        assert_type(page, lossless.Page[lossless.Hit])
        assert_type(page.next_cursor, str | None)
        assert_type([hit.summary_id for hit in page], list[str | None])
        assert_type(thread.expand("m_1", sources_only=True), list[Message])
        assert_type(thread.branch(at=1), lossless.Thread)
        assert_type(engine.verify().problems, tuple[str, ...])
        engine.grep("hello", mode="fuzzy")  # type: ignore[arg-type]
        thread.append("hello")  # type: ignore[arg-type]
        lossless.Engine(window="large")  # type: ignore[arg-type]


async def the_twins_have_the_same_types(thread: lossless.Thread) -> None:
    assert_type(await thread.aappend({"role": "user", "content": "hello"}), list[MessageRef])
    assert_type(await thread.acontext(overhead=5), lossless.ActiveContext)
    await thread.acontext(overhead="5")  # type: ignore[arg-type]


class Headlines:
    """A plugin of a user's own."""

    @lossless.hookimpl
    def lossless_summarize(self, request: lossless.SummarizeRequest) -> str:
        """Keep the first line."""
        return request.text.split("\n")[0]


def plain(request: lossless.SummarizeRequest) -> str:
    """Summarise in a function."""
    return request.text[:99]


async def counted(request: lossless.SummarizeRequest) -> lossless.Answer:
    """Summarise in a coroutine, and say what it took."""
    return lossless.Answer(text=request.text[:99], model="m", usage=lossless.Usage(calls=1, cost=0.1))


def wrong(request: lossless.SummarizeRequest) -> int:
    """Return no text."""
    return request.depth


def summarizers_are_callables() -> None:
    """Give an engine summarizers of every kind, and ask what they took."""
    remote = lossless.OpenAISummarizer("m", base_url="http://localhost:8080/v1", options={"temperature": 0.2})
    chain = lossless.FallbackSummarizer([remote, plain, counted])
    limit, rules = lossless.SpendLimit(hour_cost=1.0), lossless.BreakerRules(failures=5)
    with lossless.Engine("sqlite://", summarizer=chain, spend_limit=limit, breaker=rules) as engine:
        assert_type(engine.spent("t"), lossless.Usage)
        assert_type(engine.thread("t").compact().usage.cost, float | None)
    lossless.Engine("sqlite://", summarizer=lossless.testing.ScriptedModel("echo"))
    lossless.Engine("sqlite://", summarizer=wrong)  # type: ignore[arg-type]
    lossless.SpendLimit(hour_tokens="many")  # type: ignore[arg-type]


def notes_are_judged(note: Note, verdict: Witness) -> None:
    assert_type((note.kept, note.total), tuple[int, int])
    assert_type(verdict.regime, Regime)
    assert_type(verdict.missing, tuple[SourceItem, ...])
    assert_type(verdict.invented, tuple[str, ...])
    Note("text", 1, 2)  # type: ignore[call-arg]


assert_type(lossless_langchain.__version__, str)
assert_type(lossless_langgraph.__version__, str)
assert_type(lossless_llamaindex.__version__, str)


def langgraph_is_typed(engine: lossless.Engine) -> None:
    """Make what the LangGraph adapter has."""
    assert_type(lossless_langgraph.LosslessSaver(engine), lossless_langgraph.LosslessSaver)
    assert_type(lossless_langgraph.lossless_tools(engine)[0].name, str)
    assert_type(lossless_langgraph.pre_model_hook(engine, window=4_000).invoke({}), dict[str, Any])
    assert_type(lossless_langgraph.compaction_node(engine, thread="t").invoke({}), dict[str, Any])


async def llamaindex_is_typed(engine: lossless.Engine) -> None:
    """Make what the LlamaIndex adapter has, and ask it."""
    memory = lossless_llamaindex.LosslessMemory(engine, session_id="s", token_limit=4_000)
    assert_type(memory, lossless_llamaindex.LosslessMemory)
    assert_type(memory.context(overhead=10), lossless.ActiveContext)
    assert_type(memory.engine, lossless.Engine)
    assert_type(lossless_llamaindex.LosslessChatStore(url="sqlite://").get_keys(), list[str])
    assert_type(await lossless_llamaindex.LosslessAsyncChatStore(engine=engine).count_messages("k"), int)
    assert_type(lossless_llamaindex.LosslessReActAgent(llm=None).token_limit, int | None)
    assert_type(lossless_llamaindex.LosslessCodeActAgent(print, token_limit=4_000).token_limit, int | None)
    assert_type(lossless_llamaindex.LosslessMemoryBlock(engine=engine, session_id="s").name, str)
    assert_type(lossless_llamaindex.import_chat_store("chat_store.json", engine), dict[str, int])
    lossless_llamaindex.LosslessMemory(engine, session_id=7)  # type: ignore[arg-type]
