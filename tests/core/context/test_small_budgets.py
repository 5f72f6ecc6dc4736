"""Budgets from ample to none: whatever is left for a context, what must be in it is, and the rest is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lossless import Engine, Thread
from lossless_invariants import Ledger, check_context, check_store

PROFILES = (("openai", "openai"), ("anthropic", "anthropic"), ("gemini", "openai"))
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Looks something up in the archive of the desk."}}]


def loop(number: int, count: int = 2, *, answered: bool = True) -> list[dict[str, Any]]:
    look = {"name": "look", "arguments": "{}"}
    calls = [{"id": f"c{n}", "type": "function", "function": look} for n in range(count)]
    asked = {"role": "assistant", "content": f"mark-{number}-x I look.", "tool_calls": calls}
    holds = f"Berth {number} holds {17 * number} crates of copper, weighed at {number:02d}:45. " * 3
    answers = [{"role": "tool", "tool_call_id": f"c{n}", "content": f"{n}: {holds}"} for n in range(count if answered else 0)]
    return [asked, *answers]


def session() -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [
        {"role": "system", "content": "You keep the ledger of the harbour. Never round."},
        {"role": "developer", "content": "Answer in one sentence."},
    ]
    for number in range(14):
        said.append({"role": "user", "content": f"What does berth {number} hold, and since when, and who signed for it?"})
        said += loop(number)
        said.append({"role": "assistant", "content": f"Berth {number} holds {17 * number} crates."})
    newest = {"role": "user", "content": "The newest request: all berths, please, in the order of the quay. " * 12}
    return [*said, newest, *loop(14), *loop(15)]


@pytest.fixture(scope="module", params=["closed", "interrupted"])
def compacted(request: pytest.FixtureRequest) -> Iterator[tuple[Engine, Thread, Ledger]]:
    with Engine("sqlite://", window=2_800, policy="lossy", background=False, load_plugins=False) as engine:
        thread, ledger = engine.thread("t"), Ledger()
        # Each call that was never answered is shown with a line that takes room.
        for payload in [*session(), *(loop(16, 6, answered=False) if request.param == "interrupted" else ())]:
            (ref,) = thread.append(payload)
            ledger.add(ref.id, ref.seq, payload)
        check_store(engine, thread, ledger)
        yield engine, thread, ledger


def test_what_must_be_shown_is_and_the_rest_is_named_in_every_budget(compacted: tuple[Engine, Thread, Ledger]) -> None:
    engine, thread, ledger = compacted
    seen: set[str] = set()
    for overhead in range(0, 2_400, 150):
        for profile, format in PROFILES:
            context = check_context(engine, thread, ledger, profile=profile, format=format, overhead=overhead, tools=TOOLS)
            seen |= {context.status, *(item.kind for item in context.items)}
            seen |= {"summary left out" for item in context.items if len(item.ids) > 2}
    assert seen >= {"ok", "exhausted", "message", "summary", "omission", "stub", "summary left out"}
