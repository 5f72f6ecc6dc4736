"""A long run of an agent: what its own thread spends, what the worker spends, and how well the budget is used.

The agent appends each message as it comes, and asks for a context before each message of the assistant's. A model would answer
now, which takes seconds; the run waits for the background to be idle instead, for two seconds at the most.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.data import stream, turns
from benchmarks.harness import Benchmark, Options, Reach, Row, clock, median, percentile
from benchmarks.raw import encoder
from lossless import Engine, SummarizeRequest, hookimpl

__all__ = ["BENCHMARK"]

_WINDOW = 32_000
_PATIENCE = 2.0
_CHECKED = 50
"""Every so many contexts one is counted independently."""


@dataclass(slots=True)
class _Run:
    """What was seen in one run; times in seconds of the caller's CPU."""

    appends: list[float] = field(default_factory=list)
    contexts: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    over: int = 0
    caller: float = 0.0
    process: float = 0.0
    soft: int = 0
    history: int = 0
    worked_into: int = 0
    asked: int = 0
    calls: int = 0


def run(options: Options, folder: Path) -> list[Row]:
    """Run once with the extractive policy alone and once with a scripted summarizer."""
    count = options.pick(tiny=200, usual=4_000, full=len(turns(4_000)))
    plain = _run(folder / "extractive.db", count, None)
    model = _Scripted()
    asked = _run(folder / "scripted.db", count, model)
    tenth = max(1, len(plain.appends) // 10)
    early, late = plain.appends[tenth : 2 * tenth], plain.appends[-tenth:]
    tenth = max(1, len(plain.contexts) // 10)
    early_contexts, late_contexts = plain.contexts[tenth : 2 * tenth], plain.contexts[-tenth:]
    ms = 1e3
    return [
        _row(f"{count:,} messages: append, caller's CPU p50", ms * median(plain.appends), "ms", Reach(value=1.0)),
        _row("append, caller's CPU p99", ms * percentile(plain.appends, 0.99), "ms", Reach(value=5.0)),
        _row("context, caller's CPU p50", ms * median(plain.contexts), "ms", Reach(value=1.0)),
        _row("context, caller's CPU p99", ms * percentile(plain.contexts, 0.99), "ms", Reach(value=5.0)),
        Row(
            what="append, last tenth against second",
            ours=ms * median(late),
            control=ms * median(early),
            unit="ms",
            reach=Reach(value=1.3, of="ratio"),
            note="flat; in the first tenth the window is still filling",
        ),
        Row(
            what="context, last tenth against second",
            ours=ms * median(late_contexts),
            control=ms * median(early_contexts),
            unit="ms",
            reach=Reach(value=1.3, of="ratio"),
        ),
        _row(
            "worker's CPU, a message of history",
            ms * (plain.process - plain.caller) / count,
            "ms",
            None,
            f"{plain.process - plain.caller:.1f} s in all, beside {plain.caller:.1f} s of the caller's",
        ),
        _row("compactions that the caller had to wait for", plain.worked_into, "", None, "above hard"),
        _row("contexts over budget", plain.over + asked.over, "", Reach(value=0)),
        _row(
            "share of soft in use, mean",
            100 * sum(plain.used) / len(plain.used) / plain.soft,
            "%",
            Reach(value=80.0, at_least=True),
            f"soft is {plain.soft:,} tokens; from the first time that it is reached",
        ),
        _row("the same with a scripted summarizer", 100 * sum(asked.used) / len(asked.used) / asked.soft, "%"),
        Row(
            what="summarizer input against history",
            ours=model.tokens,
            control=asked.history,
            unit="tokens",
            reach=Reach(value=1.6, of="ratio"),
            note=f"{model.calls} calls to a scripted summarizer",
        ),
        Row(
            what="the same, extractive",
            ours=_tokens_summarised(folder / "extractive.db"),
            control=plain.history,
            unit="tokens",
            note="sources of all summaries that were ever made",
        ),
    ]


def _row(what: str, ours: float, unit: str, reach: Reach | None = None, note: str = "") -> Row:
    return Row(what=what, ours=ours, unit=unit, reach=reach, note=note)


def _run(path: Path, count: int, summarizer: Callable[[SummarizeRequest], str] | None) -> _Run:
    seen = _Run()
    encode = encoder()
    plugin = _Listener(seen)
    with Engine(
        f"sqlite:///{path}", window=_WINDOW, summarizer=summarizer, plugins=[plugin], load_plugins=False, durability="full"
    ) as engine:
        thread = engine.thread("live")
        limits = engine.require_budget().limits(engine.margin)
        seen.soft = limits.soft
        cpu, caller, reached = time.process_time(), time.thread_time(), False
        checking = 0.0
        for message in islice(stream(seed=7), count):
            if message["role"] == "assistant":
                with clock() as spent:
                    context = thread.context()
                seen.contexts.append(spent.thread)
                reached = reached or context.tokens > limits.soft
                if reached:
                    seen.used.append(context.tokens)
                with clock() as spent:
                    over = context.tokens > limits.hard or context.status != "ok"
                    if len(seen.contexts) % _CHECKED == 0:
                        over = over or _independent(context.messages, encode) > limits.hard
                checking += spent.thread
                seen.over += over
                thread.wait(timeout=_PATIENCE)
            with clock() as spent:
                thread.append(message)
            seen.appends.append(spent.thread)
        thread.wait()
        seen.caller = time.thread_time() - caller - checking
        seen.process = time.process_time() - cpu - checking
        seen.history = sum(stored.tokens for stored in thread.messages())
    if not seen.used:
        seen.used.append(0)
    return seen


def _independent(messages: list[dict[str, Any]], encode: Callable[[str], list[int]]) -> int:
    """Count a rendered context by what providers document: 4 for a message, and all that is written in it."""
    total = 0
    for message in messages:
        total += 4 + len(encode(message.get("content") or ""))
        for call in message.get("tool_calls", ()):
            total += len(encode(call["function"]["name"])) + len(encode(call["function"]["arguments"])) + len(encode(call["id"]))
        total += len(encode(message.get("tool_call_id", "")))
    return total


class _Listener:
    """Counts the compactions that ran on the caller's own thread."""

    def __init__(self, seen: _Run) -> None:
        self._seen = seen

    @hookimpl
    def lossless_event(self, event: Mapping[str, Any]) -> None:
        """Take note of a compaction that begins."""
        if event["name"] == "compaction.started" and threading.current_thread() is threading.main_thread():
            self._seen.worked_into += 1


class _Scripted:
    """A summarizer without a model: whole lines from the beginning and the end of its input, as long as it was asked for.

    It counts the tokens that a model would have had to read: the text, not the instructions, which are the same each time.
    """

    def __init__(self) -> None:
        self.tokens = 0
        self.calls = 0
        self._encode = encoder()

    def __call__(self, request: SummarizeRequest) -> str:
        """Summarize."""
        self.tokens += len(self._encode(request.text))
        self.calls += 1
        lines = [line for line in request.text.splitlines() if line.strip()]
        room = int(0.8 * request.target_tokens)
        kept: list[str] = []
        for line in lines[::2]:
            room -= len(self._encode(line)) + 1
            if room < 0:
                break
            kept.append(line)
        return "\n".join(kept) or " ".join(request.text.split()[: max(1, request.target_tokens // 2)])


def _tokens_summarised(path: Path) -> int:
    """Sum up the tokens of everything that summaries were made from, one level at a time."""
    with sqlite3.connect(path) as connection:
        (leaves,) = connection.execute(
            "SELECT coalesce(sum(m.tokens), 0) FROM lossless_summary_message s JOIN lossless_message m "
            "ON m.namespace = s.namespace AND m.thread_id = s.thread_id AND m.seq = s.seq"
        ).fetchone()
        (condensed,) = connection.execute(
            "SELECT coalesce(sum(c.tokens), 0) FROM lossless_summary_child s JOIN lossless_summary c "
            "ON c.namespace = s.namespace AND c.thread_id = s.thread_id AND c.id = s.child_id"
        ).fetchone()
    connection.close()
    return int(leaves) + int(condensed)


BENCHMARK = Benchmark(name="live-run", title="Live run under a 32 000 window", run=run)
