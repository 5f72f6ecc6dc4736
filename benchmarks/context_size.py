"""The active context under a window of 32 000 tokens, whatever the length of the thread, warm and from a cold start.

A context is read from the page cache and waits for nothing, so CPU time is what is judged; the time on the wall stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import conversation
from benchmarks.harness import Benchmark, Options, Reach, Row, Spent, clock, median, percentile
from benchmarks.threads import THREAD, copy_of, filled
from lossless import Engine

__all__ = ["BENCHMARK"]

_WINDOW = 32_000
_COMPACTED = 40
"""Every so many messages a compacted thread is compacted again, as it would be in the background."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What was measured at one length: contexts, how many items the last had, engines opened, and their first contexts."""

    warm: list[Spent]
    items: int
    opened: list[Spent]
    first: list[Spent]


def run(options: Options, folder: Path) -> list[Row]:
    """Measure the same contexts for threads of growing length, one that was compacted and one that never was."""
    sizes = options.pick(tiny=(50, 200), usual=(1_000, 10_000, 100_000))
    if options.large:
        sizes = (*sizes, 1_000_000)
    rounds = options.pick(tiny=3, usual=200), options.pick(tiny=2, usual=15)
    rows: list[Row] = []
    for kind in ("compacted", "never compacted"):
        found: dict[int, _Found] = {}
        for size in sizes:
            path = folder / f"context-{size}-{kind.split()[0]}.db"
            url = copy_of(filled(folder, size), path)
            if kind == "compacted":
                _compact(url)
            opened, first = _cold(url, rounds[1])
            warm, items = _warm(url, rounds[0], seed=size, compact=kind == "compacted")
            found[size] = _Found(warm, items, opened, first)
            path.unlink()
        rows += _rows(kind, sizes, found)
    return rows


def _rows(kind: str, sizes: Sequence[int], found: dict[int, _Found]) -> list[Row]:
    rows: list[Row] = []
    for size in sizes:
        warm, opened, first = found[size].warm, found[size].opened, found[size].first
        shown = f"{size:,} messages, {kind}"
        wall = [1e3 * spent.wall for spent in warm]
        cold_wall = [a.wall + b.wall for a, b in zip(opened, first, strict=True)]
        rows += [
            Row(
                what=f"{shown}: context, CPU p50",
                ours=1e3 * median([spent.thread for spent in warm]),
                unit="ms",
                reach=Reach(value=5.0),
                note=f"{found[size].items} items; wall p50 {median(wall):.2f} ms, p99 {percentile(wall, 0.99):.2f} ms",
            ),
            Row(what=f"{shown}: context, CPU p99", ours=1e3 * percentile([spent.thread for spent in warm], 0.99), unit="ms"),
            Row(
                what=f"{shown}: cold start, CPU p50",
                ours=1e3 * median([a.thread + b.thread for a, b in zip(opened, first, strict=True)]),
                unit="ms",
                reach=Reach(value=10.0),
                note=f"a new Engine {1e3 * median([spent.thread for spent in opened]):.1f} ms, its first context "
                f"{1e3 * median([spent.thread for spent in first]):.1f} ms; wall {1e3 * median(cold_wall):.1f} ms",
            ),
        ]
    rows.append(
        Row(
            what=f"{kind}: context of the longest thread against the shortest",
            ours=1e3 * median([spent.thread for spent in found[sizes[-1]].warm]),
            control=1e3 * median([spent.thread for spent in found[sizes[0]].warm]),
            unit="ms",
            reach=Reach(value=1.3, of="ratio"),
            note="flat",
        )
    )
    return rows


def _compact(url: str) -> None:
    with Engine(url, window=_WINDOW, load_plugins=False) as engine:
        while engine.thread(THREAD).compact().changed:
            pass


def _warm(url: str, rounds: int, seed: int, compact: bool) -> tuple[list[Spent], int]:
    """Ask again and again, a new message in between as in real life; only the asking is measured."""
    times: list[Spent] = []
    more = [message for message in conversation(10 * rounds, seed=seed + 1) if message["role"] == "user"]
    with Engine(url, window=_WINDOW, load_plugins=False) as engine:
        thread = engine.thread(THREAD)
        thread.context()
        for number in range(rounds):
            thread.append(more[number % len(more)], compact=False)
            with clock() as spent:
                context = thread.context()
            assert context.status == "ok"
            times.append(spent)
            if compact and number % _COMPACTED == _COMPACTED - 1:
                thread.compact()
    return times, len(context.items)


def _cold(url: str, rounds: int) -> tuple[list[Spent], list[Spent]]:
    opened: list[Spent] = []
    first: list[Spent] = []
    for _round in range(rounds):
        with clock() as opening:
            engine = Engine(url, window=_WINDOW, load_plugins=False)
        with engine, clock() as asking:
            engine.thread(THREAD).context()
        opened.append(opening)
        first.append(asking)
    return opened, first


BENCHMARK = Benchmark(name="context-size", title="Active context under a 32 000 window", run=run)
