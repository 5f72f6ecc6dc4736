"""Real conversations of an agent with a customer: how much a note keeps, and what it costs."""

from __future__ import annotations

import statistics
import time
from typing import Any

from lossless.policies import SourceFirst, decisions, extract, witness
from lossless.tokens import counter_for

Conversations = list[list[dict[str, Any]]]


def size(messages: list[dict[str, Any]], counter: Any) -> int:
    return sum(counter.count(message.get("content") or "") for message in messages)


def test_a_third_of_the_tokens_keeps_most_of_the_items(airline: Conversations, record_property: Any) -> None:
    counter = counter_for()
    policy = SourceFirst(counter)
    shares = []
    for messages in airline:
        budget = int(0.35 * size(messages, counter))
        note = policy.write(messages, budget)
        assert note.tokens <= budget
        assert not note.regime.endswith("silent")
        shares.append(note.kept / note.total if note.total else 1.0)
    median = statistics.median(shares)
    record_property("kept_median", round(median, 3))
    assert median >= 0.55


def test_with_room_every_item_is_kept(airline: Conversations) -> None:
    counter = counter_for()
    policy = SourceFirst(counter)
    for messages in airline[:60]:
        note = policy.write(messages, 2 * size(messages, counter) + 400)
        assert (note.kept, note.regime) == (note.total, "correctable")


def test_what_the_customer_and_the_records_name_is_found(airline: Conversations) -> None:
    for messages in airline:
        told = "\n".join(item.text for item in extract(messages))
        for message in messages:
            for call in message.get("tool_calls") or ():
                if call["function"]["name"] == "get_reservation_details":
                    answer = next(m["content"] for m in messages[messages.index(message) :] if m["role"] == "tool")
                    if answer.startswith('{"reservation_id": "'):
                        assert answer[20:26] in told


def test_bookings_and_changes_are_actions(airline: Conversations) -> None:
    for messages in airline:
        made = sum(
            call["function"]["name"].startswith(("book_", "update_", "cancel_", "send_", "transfer_"))
            for message in messages
            for call in message.get("tool_calls") or ()
        )
        assert sum(decision.kind == "action" for decision in decisions(messages)) == made


def test_an_assistants_last_word_is_not_a_whole_note(airline: Conversations) -> None:
    verdicts = []
    for messages in airline:
        items = extract(messages)
        last = next((m["content"] for m in reversed(messages) if m["role"] == "assistant" and m.get("content")), "")
        if len(items) > 10:
            found = witness(last, items)
            verdicts.append(found.regime)
            assert found.kept < found.total
    assert verdicts.count("recoverable") == 0


def test_notes_are_written_in_time_linear_in_the_sources(airline: Conversations, record_property: Any) -> None:
    counter = counter_for()
    policy = SourceFirst(counter)
    tokens = [size(messages, counter) for messages in airline]
    started = time.process_time()
    for messages, count in zip(airline, tokens, strict=True):
        policy.write(messages, int(0.35 * count))
    spent = (time.process_time() - started) * 1e6 / sum(tokens)
    record_property("milliseconds_per_1000_tokens", round(spent, 2))
    assert spent < 12
