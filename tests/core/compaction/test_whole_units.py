"""What is compacted are whole units, however their members are spread, and never what is pinned, asked last, or still open."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lossless import Engine
from lossless_invariants import Ledger, check_context, check_store

SPREAD = st.lists(st.sampled_from(["talk", "call", "call", "answer", "answer", "answer", "ask"]), min_size=8, max_size=40)


def conversation(kinds: list[str]) -> list[dict[str, Any]]:
    """Write a conversation in which results come soon, late or never, and people talk in between."""
    said: list[dict[str, Any]] = [{"role": "system", "content": "You keep the ledger."}, {"role": "user", "content": "Begin."}]
    waiting: list[str] = []
    for number, kind in enumerate(kinds):
        text = f"mark-{number}-x Berth {number} holds {17 * number} crates, weighed at {number % 24:02d}:45 by Tomasz. " * 3
        if kind == "call":
            ids = [f"c{number}a", f"c{number}b"]
            calls = [{"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}} for id in ids]
            said.append({"role": "assistant", "content": text, "tool_calls": calls})
            waiting += ids
        elif kind == "answer" and waiting:
            said.append({"role": "tool", "tool_call_id": waiting.pop(0), "content": text})
        else:
            said.append({"role": "user" if kind == "ask" else "assistant", "content": text})
    return said


AT_ONCE = (Phase.explicit, Phase.reuse, Phase.generate)  # making a long conversation shorter would take minutes


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=AT_ONCE)
@given(kinds=SPREAD, window=st.sampled_from([600, 900, 1_500]), force=st.booleans())
def test_no_unit_is_summarised_in_part(kinds: list[str], window: int, force: bool) -> None:
    with Engine("sqlite://", window=window, background=False, load_plugins=False) as engine:
        thread, ledger = engine.thread("t"), Ledger()
        for payload in conversation(kinds):
            (ref,) = thread.append(payload, compact=False)
            ledger.add(ref.id, ref.seq, payload)
        check_store(engine, thread, ledger, verify=False)
        thread.compact(force=force)
        check_store(engine, thread, ledger, verify=False)
        check_context(engine, thread, ledger)
        assert all(ledger.covered[seq] == "raw" for seq in (1, max(_requests(ledger))))


def _requests(ledger: Ledger) -> list[int]:
    return [entry.seq for entry in ledger.visible() if entry.payload["role"] == "user"]


def test_a_summary_that_an_answer_came_to_since_is_not_used_again_after_an_undo() -> None:
    with Engine("sqlite://", window=1_500, background=False, load_plugins=False) as engine:
        thread, ledger = engine.thread("t"), Ledger()

        def say(payload: dict[str, Any]) -> None:
            (ref,) = thread.append(payload, compact=False)
            ledger.add(ref.id, ref.seq, payload)

        for payload in conversation(["talk", "call"] + ["talk", "ask"] * 6):
            say(payload)
        called = next(entry.seq for entry in ledger.visible() if entry.payload.get("tool_calls"))
        assert thread.compact(force=True).changed
        check_store(engine, thread, ledger, verify=False)
        assert ledger.covered[called] != "raw", "the call was summarised while it was open"
        say({"role": "tool", "tool_call_id": "c1a", "content": "The answer comes late. " * 8})
        assert thread.undo()
        check_store(engine, thread, ledger, verify=False)
        for payload in conversation(["talk", "ask"] * 8)[2:]:
            say(payload)
        assert thread.compact(force=True).changed
        check_store(engine, thread, ledger, verify=False)
        check_context(engine, thread, ledger)
