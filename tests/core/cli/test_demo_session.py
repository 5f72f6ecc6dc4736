"""The session that the demo plays: long, valid, the same everywhere, with an early detail worth asking for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import lossless.cli.demo_session as demo
from lossless.cli.demo_session import DEMO_QUESTION, demo_session
from lossless.cli.demo_session.dice import Dice
from lossless.cli.demo_session.services import SERVICES
from lossless.messages.openai import OpenAIFormat
from lossless.tokens import TiktokenCounter


@pytest.fixture(scope="module")
def session() -> list[dict[str, Any]]:
    return demo_session()


@pytest.fixture(scope="module")
def tokens(session: list[dict[str, Any]]) -> list[int]:
    counter = TiktokenCounter("o200k_base")
    return [counter.count(said(message)) for message in session]


def said(message: dict[str, Any]) -> str:
    calls = (call["function"] for call in message.get("tool_calls", ()))
    return "\n".join([message["content"] or "", *(f"{call['name']} {call['arguments']}" for call in calls)])


def test_it_is_long_enough_to_be_compacted_many_times(session: list[dict[str, Any]], tokens: list[int]) -> None:
    assert len(session) >= 440
    assert 120_000 <= sum(tokens) <= 150_000
    assert max(tokens) <= 4_000
    assert sum(count >= 1_000 for count in tokens) >= 12


def test_it_begins_with_one_system_prompt_and_then_the_user(session: list[dict[str, Any]]) -> None:
    roles = [message["role"] for message in session]
    assert roles[:2] == ["system", "user"]
    assert "system" not in roles[1:]
    assert roles[-1] == "assistant"


def test_each_call_is_answered_once_and_directly_after(session: list[dict[str, Any]]) -> None:
    open_calls: list[str] = []
    seen: set[str] = set()
    for message in session:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            assert message["content"]
            continue
        assert open_calls == []
        open_calls = [call["id"] for call in message.get("tool_calls", ())]
        assert not seen.intersection(open_calls)
        seen.update(open_calls)
    assert open_calls == []
    assert len(seen) > 200


def test_turns_alternate_and_calls_are_made_in_parallel_too(session: list[dict[str, Any]]) -> None:
    spoken = [message for message in session if message["role"] != "tool"]
    for before, after in pairwise(spoken):
        assert before["role"] != after["role"] or before.get("tool_calls")
    assert Counter(len(message.get("tool_calls", ())) for message in spoken)[2] >= 40


def test_messages_have_the_keys_of_the_api_and_no_id(session: list[dict[str, Any]]) -> None:
    keys = {"system": {"role", "content"}, "user": {"role", "content"}, "tool": {"role", "tool_call_id", "content"}}
    for message in session:
        assert set(message) - {"tool_calls"} == keys.get(message["role"], {"role", "content"})
        assert message["content"] or message.get("tool_calls")
        OpenAIFormat().read(message)
        for call in message.get("tool_calls", ()):
            assert set(call) == {"id", "type", "function"}
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


def test_it_is_the_same_at_every_call_and_in_every_process(session: list[dict[str, Any]]) -> None:
    assert demo_session() == session
    program = "import json; from lossless.cli.demo_session import demo_session; print(json.dumps(demo_session()))"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == session


def test_a_caller_may_change_what_it_got(session: list[dict[str, Any]]) -> None:
    demo_session()[3]["content"] = "changed"
    assert demo_session() == session


def test_the_answer_stands_once_and_early(session: list[dict[str, Any]]) -> None:
    for words in (DEMO_QUESTION.answer, *DEMO_QUESTION.facts):
        (place,) = [place for place, message in enumerate(session) if words in said(message)]
        assert 1 < place < len(session) / 10
        assert sum(said(message).count(words) for message in session) == 1
    assert all(fact in DEMO_QUESTION.answer for fact in DEMO_QUESTION.facts)


def test_the_pattern_leads_to_the_answer_among_few_hits(session: list[dict[str, Any]]) -> None:
    hits = [message for message in session if DEMO_QUESTION.pattern.casefold() in said(message).casefold()]
    assert 1 <= len(hits) <= 3
    assert [DEMO_QUESTION.answer in said(hit) for hit in hits].count(True) == 1


def test_the_question_itself_does_not_hold_the_answer() -> None:
    assert not any(fact in DEMO_QUESTION.text for fact in DEMO_QUESTION.facts)


def test_it_reads_as_written_not_as_repeated(session: list[dict[str, Any]]) -> None:
    texts = [message["content"] for message in session if message["role"] in ("user", "assistant") and message["content"]]
    assert max(Counter(texts).values()) <= 3
    assert len(set(texts)) >= 0.75 * len(texts)
    results = [message["content"] for message in session if message["role"] == "tool"]
    assert len(set(results)) == len(results)
    assert not any(mark in said(message) for message in session for mark in ("<<", ">>", "{name}", "{owner}", "None."))


def test_every_service_is_moved_in_order(session: list[dict[str, Any]]) -> None:
    moved = []
    for message in session:
        for call in message.get("tool_calls", ()):
            arguments = json.loads(call["function"]["arguments"])
            if call["function"]["name"] == "deploy" and arguments["write_mode"] == "new":
                moved.append(arguments["service"])
    assert moved == [service.name for service in SERVICES]


def test_what_it_is_made_of_is_small() -> None:
    files = list(Path(demo.__file__).parent.iterdir())
    assert max(file.stat().st_size for file in files if file.is_file()) <= 100_000


def test_dice_are_fair_enough_and_depend_on_the_seed_alone() -> None:
    dice = Dice(0)
    assert [dice.number() for _ in range(3)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    throws = Counter(dice.between(1, 6) for _ in range(6_000))
    assert set(throws) == set(range(1, 7))
    assert min(throws.values()) > 850
