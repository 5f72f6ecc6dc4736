"""Compaction with a real model, however weak: its notes are checked, completed, or replaced, and nothing that is promised breaks.

Runs where a server is named that speaks chat completions::

    LOSSLESS_REAL_MODEL=gemma LOSSLESS_REAL_MODEL_URL=http://127.0.0.1:8080/v1 pytest -m slow tests/system/test_real_model.py
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from lossless import Engine, OpenAISummarizer, hookimpl
from lossless.policies import extract, witness
from lossless_invariants import Ledger, check_context, check_store
from lossless_scripts import INJECTIONS

MODEL, URL = os.environ.get("LOSSLESS_REAL_MODEL"), os.environ.get("LOSSLESS_REAL_MODEL_URL")
TOPICS = (
    ("Please book flight HAT{n} for mia_li_{n}, {n}0 USD at the most.", "Booked HAT{n}; the confirmation is ZF{n}Y."),
    ("The deadline of project P-{n} moves to 2025-05-{day:02d}.", "Noted: I will tell the team about the new deadline."),
    ("Set timeout={n} in /srv/app/config{n}.yaml and restart it.", "Done, the service is up again and answers."),
    ("What do you think of the weather in the mountains?", "It is lovely, the snow is fresh and the sky is blue."),
)


def conversation(turns: int) -> list[dict[str, Any]]:
    """Give turns with facts, small talk, and now and then an order to the summarizer."""
    said: list[dict[str, Any]] = []
    for n in range(turns):
        asked, answered = (text.format(n=100 + n, day=1 + n % 28) for text in TOPICS[n % len(TOPICS)])
        order = f" {INJECTIONS[n % len(INJECTIONS)]}" if n % 7 == 3 else ""
        said += [{"role": "user", "content": asked + order}, {"role": "assistant", "content": answered}]
    return said


class Rejections:
    """Keeps why answers were not accepted."""

    def __init__(self) -> None:
        self.why: Counter[str] = Counter()

    @hookimpl
    def lossless_event(self, event: Mapping[str, Any]) -> None:
        if event["name"] == "escalation":
            self.why.update(reason.partition(": ")[2].removeprefix("SummarizerError: ")[:60] for reason in event["rejected"])


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.skipif(not (MODEL and URL), reason="no server is named in LOSSLESS_REAL_MODEL and LOSSLESS_REAL_MODEL_URL")
def test_a_weak_model_does_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    model = OpenAISummarizer(MODEL or "", base_url=URL, attempts=1, options={"temperature": 0.3, "stop": ["\n\n"]})
    rejections, ledger, begun = Rejections(), Ledger(), time.monotonic()
    with Engine(
        "sqlite://", window=1_000, summarizer=model, background=False, plugins=[rejections], load_plugins=False
    ) as engine:
        thread = engine.thread("t")
        messages = conversation(int(os.environ.get("LOSSLESS_REAL_MODEL_TURNS", "40")))
        for ref, payload in zip(thread.append(messages, compact=False), messages, strict=True):
            ledger.add(ref.id, ref.seq, payload)
        result = thread.compact()
        check_store(engine, thread, ledger)
        for profile in ("openai", "anthropic", "gemini"):
            check_context(engine, thread, ledger, profile=profile)
        leaves = [facts for id in result.summaries if (facts := thread.describe(id))["depth"] == 0]
        kept = total = 0
        for facts in leaves:
            assert "silent" not in facts["regime"]
            found = witness(facts["text"], extract(thread.expand(facts["id"])))
            assert found.kept == facts["completeness"]["kept"]
            kept, total = kept + found.kept, total + found.total
        levels = Counter(facts["level"] for facts in leaves)
    with capsys.disabled():
        print(f"\n{result.model_calls} calls, {result.usage.input_tokens} tokens read, {result.usage.output_tokens} written")
        print(f"{result.tokens_before} -> {result.tokens_after} tokens in {time.monotonic() - begun:.0f} s, {result.status}")
        print(f"leaves by level: {dict(levels)}; source items kept: {kept} of {total}")
        for why, count in rejections.why.most_common():
            print(f"  {count} x {why}")
    model.close()
    assert result.changed
