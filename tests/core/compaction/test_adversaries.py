"""Whatever a summarizer answers, to blocks of every size: a summary is shorter than its sources, or there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lossless import Engine, Message, Note, SummarizeRequest, Thread
from lossless.policies.model import Decision
from lossless_invariants import Ledger, check_context, check_store, rendered_text, view_bytes
from lossless_scripts import ADVERSARIES, INJECTIONS, Counting

SIZES = (1, 20, 60, 127, 128, 129, 160, 300, 1_000, 5_000)
FILLERS = ("alpha ", "数据 ", "🙂 ", "<& ", "7,341 USD; ")
WINDOW = 4_000_000


@pytest.fixture(params=ADVERSARIES)
def scripted(request: pytest.FixtureRequest) -> Iterator[tuple[Engine, Counting]]:
    script = Counting(ADVERSARIES[request.param])
    with Engine("sqlite://", window=WINDOW, summarizer=script, background=False, load_plugins=False) as engine:
        yield engine, script


def fill(engine: Engine, name: str, messages: list[dict[str, Any]]) -> tuple[Thread, Ledger]:
    thread, ledger = engine.thread(name), Ledger()
    newest = {"role": "user", "content": "What now?"}
    for ref, payload in zip(thread.append([*messages, newest], compact=False), [*messages, newest], strict=True):
        ledger.add(ref.id, ref.seq, payload)
    return thread, ledger


def conversation(engine: Engine, tokens: int, filler: str, pieces: int) -> list[dict[str, Any]]:
    each = max(1, tokens // pieces)
    repeated = filler * max(1, each // max(1, engine.counter.count(filler)))
    return [{"role": "assistant" if n % 2 else "user", "content": f"{n} {repeated}"} for n in range(pieces)]


def settle(thread: Thread, script: Counting | None = None) -> None:
    """Compact until nothing changes, and see that it then costs nothing."""
    for _ in range(8):
        result = thread.compact(force=True)
        assert result.status in ("done", "nothing", "partial", "exhausted")
        if not result.changed:
            break
        assert result.tokens_after < result.tokens_before
    calls, shown = (script.calls if script else 0), view_bytes(thread.context())
    again = thread.compact(force=True)
    assert (again.changed, again.model_calls, script.calls if script else 0) == (False, 0, calls)
    assert view_bytes(thread.context()) == shown


def test_a_summary_is_shorter_than_its_sources_at_every_size(scripted: tuple[Engine, Counting]) -> None:
    engine, script = scripted
    for number, size in enumerate(SIZES):
        for pieces in (2, 9):
            messages = conversation(engine, size, FILLERS[number % len(FILLERS)], pieces)
            # The fresh tail keeps the newest 32; these are what may be compacted.
            thread, ledger = fill(engine, f"{size} in {pieces}", [*messages, *_tail()])
            settle(thread, script)
            check_store(engine, thread, ledger, verify=False)
            check_context(engine, thread, ledger)
    assert engine.verify().problems == ()  # of all these threads at once, as each stays as it is


def _tail() -> list[dict[str, Any]]:
    return [{"role": "assistant" if n % 2 else "user", "content": f"tail {n}"} for n in range(32)]


def test_a_long_thread_comes_down_to_its_budget_whoever_summarises() -> None:
    for name, answer in ADVERSARIES.items():
        script = Counting(answer)
        with Engine("sqlite://", window=4_000, summarizer=script, background=False, load_plugins=False) as engine:
            thread, ledger = fill(engine, "long", conversation(engine, 12_000, "The amount is 4,711 EUR for PNR-88A. ", 80))
            result = thread.compact()
            assert result.changed, name
            assert result.tokens_after <= 2_970, name
            check_store(engine, thread, ledger)
            context = check_context(engine, thread, ledger)
            assert context.status == "ok", name


@pytest.mark.parametrize("injection", INJECTIONS)
def test_text_that_gives_orders_stays_quoted(injection: str) -> None:
    def repeat(request: SummarizeRequest) -> str:
        return injection

    with Engine("sqlite://", window=8_000, summarizer=repeat, background=False, load_plugins=False) as engine:
        messages = [{"role": "assistant" if n % 2 else "user", "content": f"{n} {injection} " * 6} for n in range(60)]
        thread, ledger = fill(engine, "t", messages)
        thread.compact(force=True)
        context = check_context(engine, thread, ledger)
        summaries = [item.text for item in context.items if item.kind == "summary"]
        assert summaries
        for text in summaries:
            assert text.count("</summary>") == text.count("<summary ") == 1


def test_a_summarizer_sees_neither_reasoning_nor_what_the_engine_wrote() -> None:
    script = Counting(ADVERSARIES["honest"])
    with Engine("sqlite://", window=3_000, summarizer=script, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        for number in range(60):
            thread.append([{"role": "user", "content": f"Question {number}? " + "word " * 30}])
            thought = {"type": "thinking", "thinking": f"hidden-thought-{number}", "signature": "c2ln"}
            answer = {"type": "text", "text": f"Answer {number}. " + "word " * 30}
            thread.append([{"role": "assistant", "content": [thought, answer]}], format="anthropic")
        assert script.calls > 3
        assert all("hidden-thought" not in request.text for request in script.seen)
        leaves = [request for request in script.seen if request.depth == 0]
        assert all("<summary " not in request.text and "not shown" not in request.text for request in leaves)
        assert "hidden-thought-0" not in rendered_text(thread.context(format="anthropic"))


def test_previous_is_the_summary_before_and_messages_are_the_originals() -> None:
    script = Counting(ADVERSARIES["honest"])
    with Engine("sqlite://", window=3_000, summarizer=script, background=False, load_plugins=False) as engine:
        thread, _ = fill(engine, "t", conversation(engine, 6_000, "Order A-17 costs 40 EUR. ", 60))
        thread.compact()
    for request in script.seen:
        assert request.text
        assert request.instructions
        assert request.target_tokens > 0
        assert request.level in (1, 2)
        if request.depth == 0:
            assert all(isinstance(message, Message) and message.text in request.text for message in request.messages)
        else:
            assert request.messages == ()
            assert "sum_" in request.text
    assert any(request.previous for request in script.seen)


class Broken:
    """A policy that fails in a way of its own."""

    name = "broken"

    def __init__(self, failure: object) -> None:
        self.failure = failure

    def write(self, messages: object, budget_tokens: int, goal: str | None = None) -> Note:
        if isinstance(self.failure, BaseException):
            raise self.failure
        return self.failure  # type: ignore[return-value]

    def condense(self, notes: object, budget_tokens: int, goal: str | None = None) -> Note:
        return self.write(notes, budget_tokens, goal)


class Odd(str):
    """A text that answers for itself, and not well."""

    __slots__ = ()

    def strip(self, *_args: object) -> str:
        raise RuntimeError("no")


ODD: Any = ("no decision", Decision(text=b"bytes", kind="decision", message_id="m_1", role="user"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "failure",
    [
        ValueError("broken"),
        SystemExit(3),
        None,
        "a string",
        Note(text="", kept=0, total=0),
        Note(text="All is well.", kept=0, total=9, regime="uncorrectable_silent"),
        Note(text="word " * 100_000, kept=0, total=0),
        Note(text=Odd("All is well."), kept=0, total=0, decisions=ODD),
    ],
    ids=["raises", "exits", "none", "string", "blank", "silent", "endless", "odd"],
)
def test_a_policy_of_a_users_own_that_misbehaves_harms_nothing(failure: object) -> None:
    with Engine("sqlite://", window=3_000, policy=Broken(failure), background=False, load_plugins=False) as engine:
        thread, ledger = fill(engine, "t", conversation(engine, 8_000, "Order A-17 costs 40 EUR. ", 60))
        thread.compact()
        check_store(engine, thread, ledger)
        context = check_context(engine, thread, ledger)
        summaries = [thread.describe(item.id) for item in context.items if item.kind == "summary"]
        assert summaries
        for facts in summaries:
            assert "silent" not in facts["regime"]
            assert facts["level"] == 3 or facts["completeness"]["total"] == 0
