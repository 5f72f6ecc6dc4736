"""Below the soft threshold: what a rendered message costs, and what the control loop adds to an append."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.data import conversation
from benchmarks.harness import Benchmark, Options, Reach, Row, clock, median
from lossless import Engine, Thread

__all__ = ["BENCHMARK"]

_WINDOW = 4_000_000
_NAMES = ("context", "loop", "plain", "cpu", "named")


def run(options: Options, folder: Path) -> list[Row]:
    """Measure at two lengths of history, both far below soft."""
    lengths = options.pick(tiny=(10, 40), usual=(100, 5_000))
    found = _measure(options, folder, lengths)
    short, long = found[lengths[0]], found[lengths[-1]]
    rows = [
        Row(
            what=f"context of {length:,} messages, CPU a rendered message",
            ours=1e6 * median(found[length]["context"]) / length,
            unit="µs",
            reach=Reach(value=20.0),
        )
        for length in lengths
    ]
    rows += [
        Row(
            what=f"append at {length:,} messages of history, p50",
            ours=1e6 * median(found[length]["loop"]),
            control=1e6 * median(found[length]["plain"]),
            unit="µs",
            reach=Reach(value=1.2, of="ratio"),
            note="control: append(compact=False)",
        )
        for length in lengths
    ]
    rows += [
        Row(
            what=f"{what} at {lengths[-1]:,} messages of history, CPU p50",
            ours=1e6 * median(long[name]),
            control=1e6 * median(short[name]),
            unit="µs",
            reach=Reach(value=1.2, of="ratio"),
            note=f"control: at {lengths[0]:,}; it does not grow with history",
        )
        for what, name in (("append", "cpu"), ("append of a message that has an id", "named"))
    ]
    return rows


def _measure(options: Options, folder: Path, lengths: Sequence[int]) -> dict[int, dict[str, list[float]]]:
    """Measure at every length in turn, message by message, so that all meet the same noise."""
    found: dict[int, dict[str, list[float]]] = {length: {name: [] for name in _NAMES} for length in lengths}
    appends, contexts = options.pick(tiny=4, usual=400), options.pick(tiny=2, usual=40)
    with ExitStack() as stack:
        threads: dict[int, Thread] = {}
        for length in lengths:
            url = f"sqlite:///{folder / f'{length}.db'}"
            threads[length] = stack.enter_context(Engine(url, window=_WINDOW, load_plugins=False)).thread("below")
            threads[length].append(conversation(length))
            shown = threads[length].context()
            assert shown.represented == length
            assert all(item.kind == "message" for item in shown.items)
        for _round in range(contexts):
            for length, thread in threads.items():
                with clock() as spent:
                    thread.context()
                found[length]["context"].append(spent.thread)
        for number, message in enumerate(conversation(2 * appends, seed=1)):
            for length, thread in threads.items():
                _append(thread, message, number, found[length])
    return found


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
