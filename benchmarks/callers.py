"""Many callers at once: those who come while a commit is on its way to the disk share the next one."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Literal

from benchmarks.data import conversation
from benchmarks.harness import Benchmark, Options, Reach, Row, clock, fsync_seconds, median
from benchmarks.raw import Writer, stored_rows, terms_of, texts_of
from benchmarks.slow_disk import Unavailable, run_slowed
from lossless import Engine

__all__ = ["BENCHMARK"]

_CALLERS = 32
_SLOW = (0.005, 0.01, 0.02)
"""Seconds that an fsync takes on SSDs without a protected cache, on cloud disks, and on disks that turn."""
_RATIO = Reach(value=20, of="ratio", at_least=True)


def run(options: Options, folder: Path) -> list[Row]:
    """Append one message at a time from one thread and from 32, on this disk and on some with a slower fsync."""
    rows = _here(options, folder)
    try:
        for seconds in options.pick(tiny=_SLOW[:1], usual=_SLOW):
            rows += _slowed(options, folder, seconds)
    except Unavailable as error:
        print(f"no rows on a slower disk: {error}", file=sys.stderr)
    return rows


def _here(options: Options, folder: Path) -> list[Row]:
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
            reach=_RATIO,
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


def _slowed(options: Options, folder: Path, seconds: float) -> list[Row]:
    """Measure in a child process in which an fsync takes so much longer.

    Raises:
        Unavailable: that can't be had here.
    """
    found: dict[str, list[float]] = {}
    counts = [str(options.pick(tiny=4, usual=100)), str(options.pick(tiny=2, usual=60))]
    for number in range(options.pick(tiny=1, usual=3)):
        place = folder / f"slow{1e3 * seconds:.0f}-{number}"
        place.mkdir()
        said = run_slowed("benchmarks.callers", [str(place), *counts], place, seconds)
        for name, value in json.loads(said).items():
            found.setdefault(name, []).append(value)
    fsync, one, many, raw = (median(found[name]) for name in ("fsync", "one", "many", "raw"))
    slow = f"an fsync of {1e3 * fsync:.1f} ms"
    waits = f"in a process in which every fsync waits {1e3 * seconds:.0f} ms before the real one"
    return [
        Row(
            what=f"32 callers at once, {slow}",
            ours=many,
            control=one,
            unit="rows/s",
            reach=_RATIO,
            note=f"control: one caller; {waits}",
        ),
        Row(
            what=f"32 callers at once, {slow}", ours=many, control=raw, unit="rows/s", note="control: raw sqlite3, a commit a row"
        ),
        Row(what=f"one caller, {slow}", ours=one, control=raw, unit="rows/s", note="control: raw sqlite3, a commit a row"),
    ]


def _measure_slowed(folder: Path, alone: int, each: int) -> dict[str, float]:
    one = _rows_a_second(folder / "one.db", "full", 1, alone)
    return {
        "fsync": fsync_seconds(folder, 20),
        "one": one,
        "many": _rows_a_second(folder / "many.db", "full", _CALLERS, each),
        "raw": _raw_rows_a_second(folder, folder / "one.db", alone),
    }


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


def _raw_rows_a_second(folder: Path, like: Path, count: int) -> float:
    """Write the rows that one caller stored, with sqlite3 alone, a commit for each."""
    with Engine(f"sqlite:///{like}", load_plugins=False) as engine:
        terms = terms_of(texts_of(engine.thread("caller-0").messages()))
    rows = [stored_rows(like, seq, seq) for seq in range(1, count + 2)]
    with Writer(folder / "raw.db", like=like) as writer:
        writer.write(rows[0], terms[:1])
        with clock() as spent:
            for each, body in zip(rows[1:], terms[1:], strict=True):
                writer.write(each, [body])
    return count / spent.wall


BENCHMARK = Benchmark(name="callers", title="32 callers at once", run=run)

if __name__ == "__main__":
    given = sys.argv[1:]
    print(json.dumps(_measure_slowed(Path(given[0]), int(given[1]), int(given[2]))))
