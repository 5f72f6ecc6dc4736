"""Appending one message at a time, beside the same rows in one raw sqlite3 commit each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.data import conversation
from benchmarks.harness import Benchmark, Options, Reach, Row, Spent, clock, fsync_seconds, median, percentile
from benchmarks.raw import Texts, Writer, encoder, stored_rows, terms_of, texts_of
from benchmarks.slow_disk import Unavailable, run_slowed
from lossless import Engine

__all__ = ["BENCHMARK"]

_SLOW = 0.004
"""Seconds that an fsync waits on a slower disk; some take as long."""


def run(options: Options, folder: Path) -> list[Row]:
    """Append a message, write its rows to the control, and so on in turn, so that both meet the same noise."""
    ours, control, texts = _measure(folder, options.pick(tiny=5, usual=500), options.pick(tiny=10, usual=1_000))
    ours_wall, control_wall = [spent.wall for spent in ours], [spent.wall for spent in control]
    return [
        Row(
            what="append one message, wall p50",
            ours=1e6 * median(ours_wall),
            control=1e6 * median(control_wall),
            unit="µs",
            reach=Reach(value=1.5, of="ratio"),
            note="control: the same rows, full-text index included, in one raw sqlite3 commit; nothing is counted there",
        ),
        Row(
            what="the same, CPU p50",
            ours=1e6 * median([spent.thread for spent in ours]),
            control=1e6 * median([spent.thread for spent in control]),
            unit="µs",
        ),
        Row(
            what="append one message, wall p10",
            ours=1e6 * percentile(ours_wall, 0.1),
            control=1e6 * percentile(control_wall, 0.1),
            unit="µs",
            note="the least disturbed of them: on a busy machine it says more than the median",
        ),
        Row(
            what="append one message, wall p99",
            ours=1e6 * percentile(ours_wall, 0.99),
            control=1e6 * percentile(control_wall, 0.99),
            unit="µs",
        ),
        Row(
            what="of it, tiktoken and the search analyser p50",
            ours=1e6 * median([spent.wall for spent in texts]),
            unit="µs",
            note="over the same texts, measured alone",
        ),
        Row(
            what="one fsync of 4 096 bytes on this disk",
            ours=1e6 * fsync_seconds(folder, options.pick(tiny=5, usual=200)),
            unit="µs",
        ),
        *_slowed(options, folder),
    ]


def _slowed(options: Options, folder: Path) -> list[Row]:
    """Measure the first row again in a process in which an fsync takes longer."""
    place = folder / "slow"
    place.mkdir()
    counts = [str(options.pick(tiny=2, usual=350)), str(options.pick(tiny=4, usual=300))]
    try:
        said = json.loads(run_slowed("benchmarks.append_single", [str(place), *counts], place, _SLOW))
    except Unavailable as error:
        print(f"no row on a slower disk: {error}", file=sys.stderr)
        return []
    return [
        Row(
            what=f"append one message, an fsync of {said['fsync']:.1f} ms, wall p50",
            ours=said["ours"],
            control=said["control"],
            unit="µs",
            reach=Reach(value=1.5, of="ratio"),
            note=f"control as above; in a process in which every fsync waits {1e3 * _SLOW:.0f} ms before the real one",
        )
    ]


def _measure_slowed(folder: Path, settling: int, count: int) -> dict[str, float]:
    ours, control, _texts = _measure(folder, settling, count)
    return {
        "ours": 1e6 * median([spent.wall for spent in ours]),
        "control": 1e6 * median([spent.wall for spent in control]),
        "fsync": 1e3 * fsync_seconds(folder, 20),
    }


def _measure(folder: Path, settling: int, count: int) -> tuple[list[Spent], list[Spent], list[Spent]]:
    """Give what each append took, what writing its rows took, and what counting and analysing its texts took.

    The first ones don't count: while SQLite's log still grows, a disk takes longer for each fsync, and ours grows for longer.
    """
    ours_path, encode = folder / "ours.db", encoder()
    messages = conversation(1 + settling + count)
    ours: list[Spent] = []
    control: list[Spent] = []
    reading: list[Spent] = []
    with Engine(f"sqlite:///{ours_path}", load_plugins=False) as engine:
        thread = engine.thread("single")
        thread.append(messages[0])
        with Writer(folder / "raw.db", like=ours_path) as writer:
            texts = texts_of(thread.messages())
            writer.write(stored_rows(ours_path, 1, 1), terms_of(texts))
            for seq, message in enumerate(messages[1:], start=2):
                _read(texts, encode)  # as before the control: who comes right after an fsync finds cold caches
                with clock() as spent:
                    thread.append(message)
                ours.append(spent)
                rows, texts = stored_rows(ours_path, seq, seq), texts_of(thread.messages(start=seq))
                with clock() as spent:
                    terms = _read(texts, encode)
                reading.append(spent)
                with clock() as spent:
                    writer.write(rows, terms)
                control.append(spent)
    return ours[settling:], control[settling:], reading[settling:]


def _read(texts: Texts, encode: Callable[[str], list[int]]) -> list[str]:
    """Count and analyse texts, and give their terms."""
    for text in texts.counted:
        encode(text)
    return terms_of(texts)


BENCHMARK = Benchmark(name="append-single", title="Append, one at a time", run=run)

if __name__ == "__main__":
    given = sys.argv[1:]
    print(json.dumps(_measure_slowed(Path(given[0]), int(given[1]), int(given[2]))))
