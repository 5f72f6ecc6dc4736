"""Below the soft threshold: what a rendered message costs, and what the control loop adds to an append."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.data import conversation
from benchmarks.harness import Benchmark, Options, Reach, Row, clock, median
from lossless import Engine

__all__ = ["BENCHMARK"]

_WINDOW = 4_000_000


def run(options: Options, folder: Path) -> list[Row]:
    """Measure at two lengths of history, both far below soft."""
    lengths = options.pick(tiny=(10, 40), usual=(100, 5_000))
    found = {length: _measure(options, folder / f"{length}.db", length) for length in lengths}
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


def _measure(options: Options, path: Path, length: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"context": [], "loop": [], "plain": [], "cpu": [], "named": []}
    appends, contexts = options.pick(tiny=4, usual=400), options.pick(tiny=2, usual=40)
    messages: list[dict[str, Any]] = conversation(length + 2 * appends)
    with Engine(f"sqlite:///{path}", window=_WINDOW, load_plugins=False) as engine:
        thread = engine.thread("below")
        thread.append(messages[:length])
        shown = thread.context()
        assert shown.represented == length
        assert all(item.kind == "message" for item in shown.items)
        for _round in range(contexts):
            with clock() as spent:
                thread.context()
            found["context"].append(spent.thread)
        for number, message in enumerate(messages[length:]):
            name, compact = ("loop", True) if number % 2 else ("plain", False)
            with clock() as spent:
                thread.append(message, compact=compact)
            found[name].append(spent.wall)
            if compact:
                found["cpu"].append(spent.thread)
        for number, message in enumerate(conversation(appends, seed=1)):
            with clock() as spent:
                thread.append({**message, "id": f"own-{number}"})
            found["named"].append(spent.thread)
    return found


BENCHMARK = Benchmark(name="context-below-soft", title="Below soft", run=run)
