"""When a person corrects something that is under a summary, its sources are shown just before that turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lossless import ActiveContext, Engine, Message, Thread, hookimpl
from lossless.messages import find_profile, problems
from lossless_invariants import Ledger, check_context, rendered_text, view_bytes

LONG = "We looked at the export of the nightly job and found nothing unusual in the logs. " * 6


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("sqlite://", window=8_000, background=False, load_plugins=False) as opened:
        yield opened


def fill(thread: Thread) -> None:
    thread.append(
        {"role": "user", "content": "The deposit for the Zanzibar villa is 340 EUR, paid on 2026-03-02."}, compact=False
    )
    thread.append({"role": "assistant", "content": "So the deposit comes to 430 EUR in all."}, compact=False)
    for turn in range(30):
        thread.append({"role": "user", "content": f"Step {turn}: {LONG}"}, compact=False)
        thread.append({"role": "assistant", "content": f"Done with {turn}. {LONG}"}, compact=False)
    assert thread.compact().changed


def recalls(context: ActiveContext) -> list[Any]:
    return [item for item in context.items if item.kind == "recall"]


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_the_sources_of_what_is_corrected_stand_just_before_the_correction(engine: Engine, format: str) -> None:
    thread = engine.thread("t")
    fill(thread)
    assert recalls(thread.context()) == []
    (ref,) = thread.append({"role": "user", "content": "No, that's wrong: what was the deposit for the villa in Zanzibar?"})
    context = thread.context(format=format)
    assert problems(context.messages, find_profile(format), context.system) == []
    (recall,) = recalls(context)
    place = context.items.index(recall)
    assert context.items[place + 1].id == ref.id
    assert "340 EUR" in recall.text
    assert "430 EUR" not in recall.text, "a stale conclusion is no source"
    assert recall.id.startswith("sum_")
    assert recall.text in rendered_text(context)
    assert context.tokens <= context.budget
    assert context.represented == context.total
    again = thread.context(format=format)
    assert (view_bytes(again), again.view) == (view_bytes(context), context.view)


def test_a_recall_goes_with_the_next_request_and_is_no_part_of_the_view(engine: Engine) -> None:
    thread = engine.thread("t")
    fill(thread)
    before = thread.views()
    thread.append({"role": "user", "content": "Wait, I said 340 EUR for the Zanzibar deposit, not 430 EUR."})
    assert recalls(thread.context())
    thread.append({"role": "assistant", "content": "You are right, 340 EUR."})
    assert recalls(thread.context()), "it stays as long as the turn does"
    thread.append({"role": "user", "content": "Thanks. Go on with step 31."})
    assert recalls(thread.context()) == []
    assert thread.views() == before
    assert engine.verify().ok


def test_a_recall_that_comes_back_is_not_taken_for_words_of_the_user(engine: Engine) -> None:
    thread = engine.thread("t")
    fill(thread)
    thread.append({"role": "user", "content": "No, the Zanzibar deposit was not 430 EUR."})
    shown = thread.context().messages
    added = thread.sync([*shown, {"role": "user", "content": "One more thing."}])
    assert [thread.expand(ref.id)[0].text for ref in added] == ["One more thing."]


def test_what_stands_in_the_view_itself_and_what_nobody_said_is_not_recalled(engine: Engine) -> None:
    thread = engine.thread("t")
    fill(thread)
    thread.append({"role": "user", "content": "The hotel in Lisbon costs 99 EUR."})
    thread.append({"role": "assistant", "content": "Noted: 90 EUR."})
    thread.append({"role": "user", "content": "No, the hotel in Lisbon costs 99 EUR, not 90 EUR."})
    assert recalls(thread.context()) == []
    thread.append({"role": "user", "content": "That is wrong, the submarine quartet was never photosynthetic."})
    assert recalls(thread.context()) == []


def test_every_promise_of_a_context_holds_with_a_recall_in_any_budget(engine: Engine) -> None:
    thread, ledger = engine.thread("t"), Ledger()
    fill(thread)
    thread.append({"role": "user", "content": "No, that's wrong: what was the deposit for the villa in Zanzibar?"})
    for message in thread.messages():
        ledger.add(message.id, message.seq, message.payload)
    for overhead in range(0, 8_000, 400):
        check_context(engine, thread, ledger, overhead=overhead)


def test_a_hook_tells_what_is_a_correction_and_what_is_meant() -> None:
    class Detector:
        @hookimpl
        def lossless_correction(self, message: Message, thread_id: str) -> bool | str | None:
            if "hmm" in message.text:
                return "Zanzibar deposit 340 EUR"
            return False if "No," in message.text else None

    with Engine("sqlite://", window=8_000, background=False, plugins=[Detector()], load_plugins=False) as engine:
        thread = engine.thread("t")
        fill(thread)
        thread.append({"role": "user", "content": "No, the Zanzibar deposit was not 430 EUR."})
        assert recalls(thread.context()) == []
        thread.append({"role": "user", "content": "hmm"})
        assert "340 EUR" in recalls(thread.context())[0].text


def test_reasoning_beside_a_recall_is_dropped_when_the_recall_goes(engine: Engine) -> None:
    thread = engine.thread("t")
    fill(thread)
    thread.append({"role": "user", "content": "No, the Zanzibar deposit was not 430 EUR."})
    thinking = {"type": "thinking", "thinking": "with the sources", "signature": "sig"}
    thread.append({"role": "assistant", "content": [thinking, {"type": "text", "text": "340 EUR."}]}, format="anthropic")
    assert "with the sources" in str(thread.context(format="anthropic").messages)
    thread.append({"role": "user", "content": "Go on."})
    assert "with the sources" not in str(thread.context(format="anthropic").messages)
