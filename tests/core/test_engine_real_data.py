"""150 real conversations, with the tool-call ids that a provider really reuses, as one long thread."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from lossless import ActiveContext, Engine, SummarizeRequest, Thread
from lossless.messages import find_profile, problems
from lossless_counting import independent_tokens
from lossless_scripts import Counting, honest
from lossless_testdata import tau_conversations

WINDOW = 32_000
NORMAL = 40


def turns(count: int) -> Iterator[list[dict[str, Any]]]:
    """Give the conversations turn by turn: what a person said, then all that came of it."""
    turn: list[dict[str, Any]] = []
    for conversation in tau_conversations(count):
        for message in conversation["messages"]:
            if message["role"] in ("user", "system") and turn:
                yield turn
                turn = []
            turn.append(message)
    yield turn


def check(context: ActiveContext, profile: str) -> None:
    assert context.status == "ok", context.reason
    assert problems(context.messages, find_profile(profile), context.system) == []
    tokens = independent_tokens(context.messages, context.system)
    assert max(tokens, context.tokens) <= context.budget
    assert tokens <= 1.01 * context.tokens  # another format may write the arguments of calls with more white space


def live(thread: Thread, count: int, *, check_every: int, wait_every: int | None = None) -> list[int]:
    """Append all turns, looking at the context as an agent would; give its tokens after each turn."""
    tokens: list[int] = []
    shown, generation = [], -1
    for number, turn in enumerate(turns(count)):
        thread.append(turn)
        before, (context, after) = generation, _settled(thread)
        tokens.append(context.tokens)
        assert context.tokens <= context.budget
        if before == after and context.represented == context.total:  # prompt caches stay warm between edits
            assert context.messages[: len(shown)] == shown
        shown, generation = _lasting(context), after
        if number % check_every == 0:
            check(context, "openai")
            check(thread.context(format="anthropic"), "anthropic")
        if wait_every is not None and number % wait_every == 0:
            assert thread.wait(60)
    assert thread.wait(60)
    return tokens


def _lasting(context: ActiveContext) -> list[dict[str, Any]]:
    """Give what the next context begins with: what was recalled for one turn goes after it."""
    return list(takewhile(lambda message: "<recall " not in str(message["content"]), context.messages))


def _settled(thread: Thread) -> tuple[ActiveContext, int]:
    """Give a context and the generation of the view that it was rendered from; compaction may swap views in between."""
    while True:
        before = thread.views(limit=1)[0].generation
        context = thread.context()
        if thread.views(limit=1)[0].generation == before:
            return context, before


def check_nothing_lost(thread: Thread, count: int) -> None:
    given = [message for turn in turns(count) for message in turn]
    stored = thread.messages()
    assert [repr(message.payload) for message in stored] == [repr(message) for message in given]
    context = thread.context()
    assert context.represented == context.total == len(given)
    shown = [message.seq for item in context.items if item.kind != "recall" for message in thread.expand(item.id)]
    assert sorted(shown) == list(range(1, len(given) + 1))


def rarest_id(count: int) -> tuple[str, str]:
    """Give the id of the first conversation that the fewest messages have, and the text of the first that has it."""
    conversations = tau_conversations(count)
    contents = [message.get("content") or "" for conversation in conversations for message in conversation["messages"]]
    ids = {found for content in contents[1:30] for found in re.findall(r"\b[a-z]+_\w*\d{4,}\b", content)}
    rarest = min(sorted(ids), key=lambda id: sum(id in content for content in contents))
    return rarest, next(content for content in contents if rarest in content)


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("count", [NORMAL, pytest.param(150, marks=pytest.mark.slow)])
def test_a_long_real_thread_never_leaves_its_budget_and_loses_nothing(tmp_path: Path, background: bool, count: int) -> None:
    with Engine(f"sqlite:///{tmp_path / 'a.db'}", window=WINDOW, background=background, load_plugins=False) as engine:
        thread = engine.thread("tau")
        tokens = live(thread, count, check_every=25, wait_every=5 if background else None)
        check_nothing_lost(thread, count)
        assert engine.verify().ok
        assert engine.budget is not None
        soft = engine.budget.limits(engine.margin).soft
        second_half = tokens[len(tokens) // 2 :]
        assert sum(second_half) / len(second_half) >= 0.8 * soft
        found, text = rarest_id(count)
        oldest = list(thread.grep(found, limit=1_000))[-1]
        assert oldest.seq < 40
        assert oldest.summary_id is not None
        (message,) = [message for message in thread.expand(oldest.summary_id) if message.id == oldest.message_id]
        assert message.payload["content"] == text
        assert thread.expand(oldest.message_id)[0].payload["content"] == text


@pytest.mark.parametrize("count", [NORMAL, pytest.param(150, marks=pytest.mark.slow)])
def test_a_summarizer_reads_little_more_than_the_history_once(tmp_path: Path, count: int) -> None:
    script = Counting(honest)
    with Engine(f"sqlite:///{tmp_path / 'a.db'}", window=WINDOW, summarizer=script, load_plugins=False) as engine:
        thread = engine.thread("tau")
        live(thread, count, check_every=100, wait_every=1)
        check_nothing_lost(thread, count)
        history = sum(message.tokens for message in thread.messages())
        read = sum(engine.counter.count(request.text) for request in script.seen)
        assert script.calls > 5
        assert read <= 1.6 * history


def test_the_same_history_twice_is_shown_alike(tmp_path: Path) -> None:
    def views(name: str) -> list[tuple[str, str]]:
        seen = []
        with Engine(f"sqlite:///{tmp_path / name}", window=8_000, background=False, load_plugins=False) as engine:
            thread = engine.thread("tau")
            number = 0
            for turn in turns(15):
                thread.append([{**message, "id": f"id-{(number := number + 1)}"} for message in turn])
                context = thread.context()
                seen.append((context.view, repr([item.id for item in context.items])))
        return seen

    first = views("one.db")
    assert first == views("two.db")
    assert len(set(first)) == len(first)


def test_a_run_can_be_cut_anywhere_and_goes_on_as_it_would_have(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    for number, turn in enumerate(turns(10)):
        with Engine(url, window=8_000, background=False, load_plugins=False) as engine:
            before = engine.thread("tau").context().messages
            engine.thread("tau").append(turn)
            if number:
                assert before
            check(engine.thread("tau").context(), "openai")
    with Engine(url, window=8_000, background=False, load_plugins=False) as engine:
        check_nothing_lost(engine.thread("tau"), 10)
        assert engine.verify().ok


def test_below_soft_each_context_is_a_prefix_of_the_next() -> None:
    with Engine("sqlite://", window=200_000, load_plugins=False) as engine:
        thread = engine.thread("tau")
        shown: list[dict[str, Any]] = []
        for turn in turns(12):
            thread.append(turn)
            context = thread.context()
            assert context.messages[: len(shown)] == shown
            assert not any(item.kind != "message" for item in context.items)
            shown = _lasting(context)
        assert thread.views()[-1].why == "created"
        assert len(thread.views()) == 1


def kept(request: SummarizeRequest) -> str:
    return honest(request)


def planted() -> dict[int, str]:
    """Give facts by the number of the message that they stand in."""
    facts = {}
    for number in range(40):
        kind = number % 4
        facts[3 + 9 * number] = (
            f"order ORD-{number:02d}X{number * 37 % 97:02d}",
            f"amount ${1000 + 13 * number}.{number:02d}",
            f"path /srv/app{number}/conf-{number * 7}.yaml",
            f"hash {number * 7919:08x}deadbeef",
        )[kind]
    return facts


@pytest.mark.parametrize("summarizer", [None, kept], ids=["extractive", "scripted"])
def test_facts_are_in_the_context_or_under_what_it_names_after_any_number_of_compactions(summarizer: Any) -> None:
    facts = planted()
    with Engine("sqlite://", window=6_000, summarizer=summarizer, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        compactions = 0
        for number in range(400):
            filler = "We talked about the weather, the harvest and the long road to the coast. " * 2
            text = f"{filler}Note the {facts[number]} for later." if number in facts else filler
            thread.append({"role": "assistant" if number % 2 else "user", "content": f"{number}: {text}"}, compact=False)
            if number % 100 == 99:
                compactions += thread.compact(force=True).changed
        assert compactions >= 3
        context = thread.context()
        text = "\n".join(item.text for item in context.items)
        under = {item.id: thread.expand(item.id) for item in context.items}
        for number, fact in facts.items():
            exact = fact.split()[-1]
            (holder,) = [id for id, messages in under.items() if any(message.seq == number + 1 for message in messages)]
            assert holder in text or exact in text
            (message,) = [message for message in under[holder] if message.seq == number + 1]
            assert exact in message.text
            assert len(thread.grep(exact)) == 1
