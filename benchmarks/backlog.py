"""A backlog: a thread that was only ever appended to is compacted in one go."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness import Benchmark, Options, Reach, Row, Spent, clock
from benchmarks.threads import THREAD, copy_of, filled
from lossless import CompactionResult, Engine

__all__ = ["BENCHMARK"]


def run(options: Options, folder: Path) -> list[Row]:
    """Compact once down to the target, and once as far as possible, in databases of their own."""
    count = options.pick(tiny=300, usual=10_000)
    found = filled(folder, count)
    rows: list[Row] = []
    for force in (False, True):
        result, spent = _compact(copy_of(found, folder / f"backlog-{force}.db"), force)
        told = f"{result.status}; {result.tokens_before:,} → {result.tokens_after:,} tokens, {len(result.summaries)} summaries"
        rows.append(
            Row(
                what=f"compact({'force=True' if force else ''}) of {count:,} messages, CPU",
                ours=spent.cpu,
                unit="s",
                reach=Reach(value=10.0),
                note=told,
            )
        )
    return rows


def _compact(url: str, force: bool) -> tuple[CompactionResult, Spent]:
    with Engine(url, window=32_000, load_plugins=False) as engine:
        with clock() as spent:
            result = engine.thread(THREAD).compact(force=force)
        assert engine.verify(THREAD).ok
    return result, spent


BENCHMARK = Benchmark(name="backlog", title="A backlog of 10 000 messages", run=run)
