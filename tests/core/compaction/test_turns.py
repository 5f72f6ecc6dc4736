"""When a view is swung: one operation of a thread at a time, and never in the middle of what a model is doing."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lossless import CompactionResult, Engine, SummarizeRequest, Thread, hookimpl
from lossless.compaction.compactor import Effort
from lossless.compaction.loops import Loop, hold_reason
from lossless.compaction.plan import Block
from lossless_prepared import prepared
from lossless_scripts import Counting, honest

LONG = "The pipeline wrote 4,711 rows to /srv/out/a.csv and then stopped with code E17. " * 6


class Events:
    """Keeps the names of events, and results."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.results: list[CompactionResult] = []

    @hookimpl
    def lossless_after_compaction(self, result: CompactionResult) -> None:
        self.results.append(result)

    @hookimpl
    def lossless_event(self, event: dict[str, Any]) -> None:
        self.names.append(event["name"])


def talk(thread: Thread, turns: int, **options: Any) -> None:
    for turn in range(turns):
        thread.append({"role": "user", "content": f"Question {turn}: {LONG}"}, **options)
        thread.append({"role": "assistant", "content": f"Answer {turn}: {LONG}"}, **options)


def call(id: str, reasoning: str = "") -> dict[str, Any]:
    thinking = [{"type": "thinking", "thinking": reasoning, "signature": "sig"}] if reasoning else []
    return {"role": "assistant", "content": [*thinking, {"type": "tool_use", "id": id, "name": "look", "input": {}}]}


def result(id: str, text: str = LONG) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}


def views(thread: Thread) -> int:
    return len(thread.views())


def until_soft(engine: Engine, thread: Thread) -> None:
    """Talk until the next message will be above soft."""
    soft = engine.require_budget().limits(engine.margin).soft
    thread.append({"role": "user", "content": "Hi."})
    turn = 0
    while thread.context().tokens < soft - 150:
        talk(thread, 1, compact=False)
        turn += 1


@pytest.mark.parametrize("reasoning", ["", "Because of the rows."])
def test_no_swap_lands_while_a_call_waits_for_its_result(reasoning: str) -> None:
    events = Events()
    with Engine("sqlite://", window=8_000, plugins=[events], load_plugins=False) as engine:
        thread = engine.thread("t")
        until_soft(engine, thread)
        thread.append({"role": "user", "content": f"Go on. {LONG}"}, compact=False)
        before = views(thread)
        thread.append(call("c1", reasoning), format="anthropic")
        assert thread.wait(30)
        assert views(thread) == before
        assert "promoted" not in events.names
        thread.append(result("c1"), format="anthropic")
        assert thread.wait(30)
        # A loop without reasoning may be swapped between its calls, one with reasoning when it has closed.
        assert ("promoted" in events.names) is (not reasoning)
        thread.append({"role": "assistant", "content": "Done."})
        assert thread.wait(30)
        assert "promoted" in events.names
        assert views(thread) == before + 1
        assert thread.context().tokens < engine.require_budget().limits(engine.margin).soft


def test_an_append_that_adds_nothing_looks_at_the_thresholds_all_the_same() -> None:
    with Engine("sqlite://", window=8_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        talk(thread, 60, compact=False)
        given = {"id": "q", "role": "user", "content": "And now?"}
        first = thread.append(given, compact=False)
        assert not any(item.kind == "summary" for item in thread.context().items)
        assert thread.append(given) == first
        assert any(item.kind == "summary" for item in thread.context().items)


def test_a_swap_that_waited_is_told_when_it_is_made_and_its_calls_only_once() -> None:
    events, script = Events(), Counting(honest)
    with Engine("sqlite://", window=8_000, summarizer=script, plugins=[events], load_plugins=False) as engine:
        thread = engine.thread("t")
        until_soft(engine, thread)
        thread.append([{"role": "user", "content": f"Go on. {LONG}"}, call("c1")], format="anthropic")
        assert thread.wait(30)
        assert (len(events.results), events.results[0].changed) == (1, False)
        thread.append(result("c1"), format="anthropic")
        assert thread.wait(30)
        assert events.results[-1].changed
        assert sum(each.model_calls for each in events.results) == script.calls > 0


def test_a_swap_that_waited_never_hides_what_has_become_the_newest_request() -> None:
    events = Events()
    with Engine("sqlite://", window=8_000, plugins=[events], load_plugins=False) as engine:
        thread = engine.thread("t")
        until_soft(engine, thread)
        for turn in range(3):
            thread.append({"role": "assistant", "content": f"Still at it, {turn}: {LONG}"}, compact=False)
        thread.append({"role": "user", "content": "Go on."}, compact=False)
        thread.append(call("c1", "Because of the rows."), format="anthropic")
        assert thread.wait(30)
        assert "promoted" not in events.names, "it waits for the loop"
        (prepared,) = engine.compactor._waiting.values()
        covered = {name for splice in prepared.splices for name in Block(splice.sources).names}
        requests = [message for message in thread.messages() if message.role == "user"]
        last = max(message.seq for message in requests if message.seq in covered)
        thread.delete([message.id for message in requests if message.seq > last])
        for text in ("One.", "Two."):
            thread.append({"role": "assistant", "content": text})
            assert thread.wait(30)
        shown = [item.id for item in thread.context().items if item.kind == "message"]
        assert f"m_{last}" in shown, "the newest request that is left stands as itself"
        assert "dropped" in events.names
        assert engine.verify().ok


def test_above_hard_an_open_loop_gives_way_and_all_its_reasoning_is_dropped_together() -> None:
    with Engine("sqlite://", window=8_000, load_plugins=False) as engine:
        thread = engine.thread("t")
        until_soft(engine, thread)
        thread.append({"role": "user", "content": "Go on."}, compact=False)
        for n in range(30):
            thread.append(call(f"c{n}", f"Reason {n}."), format="anthropic")
            thread.append(result(f"c{n}"), format="anthropic")
            context = thread.context(format="anthropic")
            assert context.tokens <= context.budget
            shown = [block for message in context.messages for block in message["content"] if isinstance(block, dict)]
            kinds = [block["type"] for block in shown]
            if any(item.kind == "summary" for item in context.items):
                break
            assert kinds.count("thinking") == n + 1
        assert "thinking" not in kinds
        thread.append(call("last", "A new reason."), format="anthropic")
        assert "A new reason." in str(thread.context(format="anthropic").messages)


def test_by_hand_a_compaction_waits_for_a_loop_with_reasoning_and_says_so() -> None:
    script = Counting(honest)
    with Engine("sqlite://", window=8_000, summarizer=script, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        talk(thread, 12, compact=False)
        thread.append(
            [{"role": "user", "content": "Go on."}, call("c1", "Because."), result("c1", "ok")], format="anthropic", compact=False
        )
        found = thread.compact(force=True)
        assert (found.changed, found.status, script.calls) == (False, "nothing", 0)
        assert "reasoning" in found.reason
        thread.append({"role": "assistant", "content": "Done."}, compact=False)
        assert thread.compact(force=True).changed


@pytest.mark.parametrize(
    ("loop", "facts", "held"),
    [
        (Loop(), {}, False),
        (Loop(asked=True), {}, False),
        (Loop(asked=True, reasons=True), {}, True),
        (Loop(open=True, unanswered=True), {}, True),
        (Loop(open=True, unanswered=True), {"by_hand": True}, False),
        (Loop(open=True), {}, False),
        (Loop(open=True, reasons=True), {}, True),
        (Loop(open=True, reasons=True), {"by_hand": True}, True),
        (Loop(open=True, unanswered=True, reasons=True), {"over_hard": True}, False),
    ],
)
def test_what_holds_a_swap_back(loop: Loop, facts: dict[str, bool], held: bool) -> None:
    assert bool(hold_reason(loop, **{"over_hard": False, "by_hand": False, **facts})) is held


def test_what_was_prepared_by_another_model_is_dropped() -> None:
    events = Events()
    script = Counting(honest)
    with Engine("sqlite://", window=8_000, summarizer=script, plugins=[events], load_plugins=False) as engine:
        thread = engine.thread("t")
        until_soft(engine, thread)
        thread.append([{"role": "user", "content": "Go on."}, call("c1")], format="anthropic")
        assert thread.wait(30)
        assert script.calls
        script.route = "another model"  # type: ignore[attr-defined]
        thread.append(result("c1", "ok"), format="anthropic")
        assert thread.wait(30)
        assert "dropped" in events.names
        thread.append({"role": "assistant", "content": "Done."})
        assert thread.wait(30)
        assert "promoted" in events.names
        assert events.names.index("dropped") < events.names.index("promoted")


def test_an_operation_waits_for_another_one_of_its_process_no_longer_than_it_may() -> None:
    running, go = threading.Event(), threading.Event()

    def slow(request: SummarizeRequest) -> str:
        running.set()
        assert go.wait(30)
        return honest(request)

    with Engine("sqlite://", window=8_000, summarizer=slow, load_plugins=False) as engine:
        thread = engine.thread("t")
        until_soft(engine, thread)
        thread.append({"role": "assistant", "content": LONG})
        assert running.wait(30)
        limits = engine.require_budget().limits(engine.margin)
        key = engine.key_of("t")
        found = engine.compact(key, limits, 32, Effort(seconds=0.1, calls=9, force=True, patience=0.05))
        assert (found.changed, found.status) == (False, "nothing")
        assert "under way" in found.reason
        waiter = threading.Thread(target=lambda: go.wait(0.2) or go.set())
        waiter.start()
        found = engine.compact(key, limits, 32, Effort(seconds=0.1, calls=9, force=True, patience=30.0))
        waiter.join()
        assert (found.model_calls, found.status) == (0, "partial"), "its time was used up by waiting"


def test_two_engines_do_not_compact_a_thread_at_once(url: str) -> None:
    running, go = threading.Event(), threading.Event()

    def slow(request: SummarizeRequest) -> str:
        running.set()
        assert go.wait(30)
        return honest(request)

    script = Counting(honest)
    with (
        Engine(url, window=8_000, summarizer=slow, load_plugins=False) as one,
        Engine(url, window=8_000, summarizer=script, load_plugins=False) as other,
    ):
        until_soft(one, one.thread("t"))
        one.thread("t").append({"role": "assistant", "content": LONG})
        assert running.wait(30)
        other.thread("t").append({"role": "assistant", "content": LONG})
        assert other.thread("t").wait(30)
        assert script.calls == 0, "another process compacts the thread"
        go.set()
        assert one.thread("t").wait(60)
        talk(other.thread("t"), 8)
        assert other.thread("t").wait(60)
        assert script.calls
        assert other.verify().ok


def test_the_turn_of_an_engine_that_was_closed_in_the_middle_is_taken_over_at_once(tmp_path: Path) -> None:
    running, go = threading.Event(), threading.Event()

    def slow(request: SummarizeRequest) -> str:
        running.set()
        assert go.wait(30)
        return honest(request)

    url = f"sqlite:///{tmp_path / 'l.db'}"
    one = Engine(url, window=8_000, summarizer=slow, load_plugins=False)
    until_soft(one, one.thread("t"))
    one.thread("t").append({"role": "assistant", "content": LONG})
    assert running.wait(30)
    one.close(wait=False)
    with Engine(url, window=8_000, background=False, load_plugins=False) as other:
        begun = time.monotonic()
        assert other.thread("t").compact(force=True).changed
        assert time.monotonic() - begun < 10
        go.set()
        assert other.verify().ok


def test_the_turn_of_a_killed_process_is_taken_over(url: str, tmp_path: Path) -> None:
    child = (
        "import os, sys\n"
        "from lossless import Engine\n"
        "def die(request): os._exit(9)\n"
        "engine = Engine(sys.argv[1], window=8_000, summarizer=die, background=False, load_plugins=False)\n"
        "thread = engine.thread('t')\n"
        f"long = {LONG!r}\n"
        "for turn in range(60):\n"
        "    thread.append({'role': 'assistant' if turn % 2 else 'user', 'content': f'{turn} {long}'}, compact=False)\n"
        "thread.compact()\n"
    )
    assert prepared().run(child, url, folder=tmp_path).code == 9
    with Engine(url, window=8_000, background=False, load_plugins=False) as engine:
        assert engine.thread("t").compact().changed
        assert engine.verify().ok
