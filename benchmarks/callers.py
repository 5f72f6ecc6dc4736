"""Many callers at once: those who come while a commit is on its way to the disk share the next one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal

from benchmarks.data import conversation
from benchmarks.harness import Benchmark, Options, Reach, Row, clock, fsync_seconds, median
from lossless import Engine

__all__ = ["BENCHMARK"]

_CALLERS = 32


def run(options: Options, folder: Path) -> list[Row]:
    """Append one message at a time from one thread and from 32, with and without waiting for the disk, in turn."""
    alone, each = options.pick(tiny=8, usual=600), options.pick(tiny=2, usual=60)
    found: dict[str, list[float]] = {"one": [], "many": [], "one, normal": [], "many, normal": []}
    for number in range(options.pick(tiny=1, usual=5)):
        for durability in ("full", "normal"):
            suffix = "" if durability == "full" else ", normal"
            place = folder / f"{number}{durability}"
            found[f"one{suffix}"].append(_rows_a_second(place.with_suffix(".one.db"), durability, 1, alone))
            found[f"many{suffix}"].append(_rows_a_second(place.with_suffix(".many.db"), durability, _CALLERS, each))
    rates = {name: median(values) for name, values in found.items()}
    fsync = fsync_seconds(folder, options.pick(tiny=5, usual=200))
    return [
        Row(
            what="32 callers at once, durability full",
            ours=rates["many"],
            control=rates["one"],
            unit="rows/s",
            reach=Reach(value=20, of="ratio", at_least=True),
            note=f"control: one caller; an fsync takes {1e6 * fsync:.0f} µs here, and only waiting for it can be shared",
        ),
        Row(
            what="32 callers at once, durability full",
            ours=rates["many"],
            control=rates["one, normal"],
            unit="rows/s",
            note="control: one caller who does not wait for the disk, which is what one Python process can do at the most",
        ),
        Row(
            what="32 callers at once, durability normal",
            ours=rates["many, normal"],
            control=rates["one, normal"],
            unit="rows/s",
            note="control: one caller",
        ),
    ]


def _rows_a_second(path: Path, durability: str, callers: int, each: int) -> float:
    kept: Literal["full", "normal"] = "full" if durability == "full" else "normal"
    with Engine(f"sqlite:///{path}", load_plugins=False, durability=kept) as engine:
        batches = [conversation(each + 1, seed=seed) for seed in range(callers)]
        threads = [engine.thread(f"caller-{seed}") for seed in range(callers)]
        for thread, batch in zip(threads, batches, strict=True):
            thread.append(batch[0])
        ready = threading.Barrier(callers + 1)

        def call(number: int) -> None:
            ready.wait()
            for message in batches[number][1:]:
                threads[number].append(message)

        workers = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
        for worker in workers:
            worker.start()
        ready.wait()
        with clock() as spent:
            for worker in workers:
                worker.join()
        stored = sum(len(thread.messages()) for thread in threads)
    assert stored == callers * (each + 1), "messages were lost"
    return callers * each / spent.wall


BENCHMARK = Benchmark(name="callers", title="32 callers at once", run=run)
