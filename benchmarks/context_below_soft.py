"""Below soft, at turn 50 and at turn 5 000: what a rendered message costs, and what the control loop adds to an append."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.data import conversation, turns
from benchmarks.harness import Benchmark, Options, Reach, Row, clock, median
from lossless import Engine, Thread

__all__ = ["BENCHMARK"]

_WINDOW = 10_000_000
_NAMES = ("context", "loop", "plain", "cpu", "named")


def run(options: Options, folder: Path) -> list[Row]:
    """Measure at two turns of a conversation, both far below soft."""
    found, sizes = _measure(options, folder, options.pick(tiny=(3, 10), usual=(50, 5_000)))
    first, last = found
    rows = [
        Row(
            what=f"turn {turn:,}: context of {sizes[turn]:,} messages, CPU a rendered message",
            ours=1e6 * median(found[turn]["context"]) / sizes[turn],
            unit="µs",
            reach=Reach(value=20.0),
        )
        for turn in found
    ]
    rows += [
        Row(
            what=f"turn {turn:,}: append, p50",
            ours=1e6 * median(found[turn]["loop"]),
            control=1e6 * median(found[turn]["plain"]),
            unit="µs",
            reach=Reach(value=1.2, of="ratio"),
            note="control: append(compact=False)",
        )
        for turn in found
    ]
    rows += [
        Row(
            what=f"turn {last:,} against turn {first:,}: {what}, CPU p50",
            ours=1e6 * median(found[last][name]) / per[last],
            control=1e6 * median(found[first][name]) / per[first],
            unit="µs",
            reach=Reach(value=1.2, of="ratio"),
            note="control: the earlier turn, measured in the same run, message by message in turn",
        )
        for what, name, per in (
            ("append", "cpu", dict.fromkeys(found, 1)),
            ("append of a message that has an id", "named", dict.fromkeys(found, 1)),
            ("context, a rendered message", "context", sizes),
        )
    ]
    return rows


def _measure(options: Options, folder: Path, at: Sequence[int]) -> tuple[dict[int, dict[str, list[float]]], dict[int, int]]:
    """Measure at every turn, message by message, so that all meet the same noise; give the messages there were at each, too."""
    found: dict[int, dict[str, list[float]]] = {turn: {name: [] for name in _NAMES} for turn in at}
    sizes: dict[int, int] = {}
    appends, contexts = options.pick(tiny=4, usual=400), options.pick(tiny=2, usual=40)
    with ExitStack() as stack:
        threads: dict[int, Thread] = {}
        for turn in at:
            url = f"sqlite:///{folder / f'{turn}.db'}"
            threads[turn] = stack.enter_context(Engine(url, window=_WINDOW, load_plugins=False)).thread("below")
            threads[turn].append(turns(turn))
            shown = threads[turn].context()
            sizes[turn] = shown.represented
            assert all(item.kind == "message" for item in shown.items)
        for _round in range(contexts):
            for turn, thread in threads.items():
                with clock() as spent:
                    thread.context()
                found[turn]["context"].append(spent.thread)
        for number, message in enumerate(conversation(2 * appends, seed=1)):
            for turn, thread in threads.items():
                _append(thread, message, number, found[turn])
    return found, sizes


def _append(thread: Thread, message: dict[str, Any], number: int, found: dict[str, list[float]]) -> None:
    """Append with the control loop and without it in turn, then once more with an id."""
    name, compact = ("loop", True) if number % 2 else ("plain", False)
    with clock() as spent:
        thread.append(message, compact=compact)
    found[name].append(spent.wall)
    if compact:
        found["cpu"].append(spent.thread)
        named = {**message, "id": f"own-{number}"}
        with clock() as spent:
            thread.append(named)
        found["named"].append(spent.thread)


BENCHMARK = Benchmark(name="context-below-soft", title="Below soft", run=run)
