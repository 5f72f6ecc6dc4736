"""Steadiness: how seldom a prompt's beginning changes, and what a slow summarizer costs whoever appends."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from itertools import count, islice
from pathlib import Path
from typing import Any

from benchmarks.data import stream
from benchmarks.harness import Benchmark, Options, Reach, Row, clock, median, percentile
from benchmarks.raw import encoder
from lossless import Engine, SummarizeRequest, hookimpl

__all__ = ["BENCHMARK"]

_WINDOW = 32_000
_PATIENCE = 2.0


def run(options: Options, folder: Path) -> list[Row]:
    """Go through many turns and compare each context with the one before; then append beside a summarizer that sleeps."""
    turns = options.pick(tiny=60, usual=1_000)
    changed, promoted, kept, total = _turns(folder / "turns.db", turns)
    seconds = options.pick(tiny=0.2, usual=5.0)
    steps, spent, calls, waited = _beside(folder, options.pick(tiny=1, usual=6), seconds)
    return [
        Row(
            what=f"{turns:,} turns: contexts that don't begin with the one before",
            ours=changed,
            control=promoted,
            reach=Reach(value=1.0, of="ratio"),
            note="control: compactions that were promoted",
        ),
        Row(
            what="share of prompt tokens that a prefix cache would have served",
            ours=100 * kept / total if total else 0.0,
            unit="%",
            note=f"of {total:,} tokens in all contexts, whole messages compared",
        ),
        Row(
            what=f"append and context beside a summarizer that takes {seconds:g} s, p99",
            ours=1e3 * percentile(steps, 0.99),
            unit="ms",
            reach=Reach(value=20.0),
            note=f"between soft and hard, clock on the wall, {len(steps)} messages, {calls} calls under way meanwhile",
        ),
        Row(what="the same, p50", ours=1e3 * median(steps), unit="ms"),
        Row(what="the same, CPU of the caller's own thread, p99", ours=1e3 * percentile(spent, 0.99), unit="ms"),
        Row(what="of these, appends that worked on a compaction themselves", ours=waited, reach=Reach(value=0.0)),
    ]


def _turns(path: Path, turns: int) -> tuple[int, int, int, int]:
    """Give how many contexts were not begun by the one before, promotions, tokens that stayed, and tokens in all."""
    listener, encode = _Listener(), encoder()
    sizes: dict[str, int] = {}
    changed = kept = total = 0
    before: list[str] = []
    with Engine(f"sqlite:///{path}", window=_WINDOW, plugins=[listener], load_plugins=False, durability="normal") as engine:
        thread = engine.thread("turns")
        asked = 0
        for message in stream(seed=11):
            if message["role"] == "user":
                asked += 1
                if asked > turns:
                    break
            if message["role"] == "assistant":
                thread.wait(timeout=_PATIENCE)
                now = [json.dumps(shown, sort_keys=True) for shown in thread.context().messages]
                same = next((n for n, (one, other) in enumerate(zip(before, now, strict=False)) if one != other), None)
                common = min(len(before), len(now)) if same is None else same
                changed += common < len(before)
                for place, shown in enumerate(now):
                    size = sizes.setdefault(shown, len(encode(shown)))
                    total += size
                    kept += size if place < common else 0
                before = now
            thread.append(message)
        thread.wait()
    return changed, listener.promoted, kept, total


def _beside(folder: Path, threads: int, seconds: float) -> tuple[list[float], list[float], int, int]:
    """Append between soft and hard while a summarizer sleeps; give each step's seconds, on the wall and of CPU, its calls, and
    how many compactions ran on the caller's thread."""
    listener, model = _Listener(), _Slow(seconds)
    steps: list[float] = []
    cpu: list[float] = []
    for number in range(threads):
        with Engine(
            f"sqlite:///{folder / f'slow-{number}.db'}",
            window=_WINDOW,
            summarizer=model,
            plugins=[listener],
            load_plugins=False,
        ) as engine:
            thread, messages = engine.thread("slow"), stream(seed=number)
            limits = engine.require_budget().limits(engine.margin)
            thread.append(list(islice(messages, 90)), compact=False)
            while thread.context().tokens <= limits.soft - 300:
                thread.append(next(messages), compact=False)
            for _step in count():
                message = next(messages)
                with clock() as spent:
                    thread.append(message)
                    context = thread.context()
                if context.tokens > limits.hard - 600:
                    break
                steps.append(spent.wall)
                cpu.append(spent.thread)
                time.sleep(0.02)
            engine.close(wait=False)
    return steps, cpu, model.calls, listener.worked_into


class _Slow:
    """A summarizer that takes its time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.calls = 0

    def __call__(self, request: SummarizeRequest) -> str:
        """Summarize after a while."""
        self.calls += 1
        time.sleep(self._seconds)
        return request.text[: 3 * request.target_tokens]


class _Listener:
    """Counts promotions, and compactions that ran on the caller's own thread."""

    def __init__(self) -> None:
        self.promoted = 0
        self.worked_into = 0

    @hookimpl
    def lossless_event(self, event: Mapping[str, Any]) -> None:
        """Take note."""
        self.promoted += event["name"] == "promoted"
        own = threading.current_thread() is threading.main_thread()
        self.worked_into += own and event["name"] == "compaction.started"


BENCHMARK = Benchmark(name="steadiness", title="Steady prompts, and a slow summarizer", run=run)
