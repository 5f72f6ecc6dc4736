"""What a long thread costs on the disk and in memory, and how fast something in it is found again."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness import Benchmark, Options, Reach, Row, clock, median
from benchmarks.threads import RARE, THREAD, Filled, copy_of, filled
from lossless import Engine

__all__ = ["BENCHMARK"]

_PAGE = 100


def run(options: Options, folder: Path) -> list[Row]:
    """Measure on one thread of 100 000 messages (``--large``: a million)."""
    count = options.pick(tiny=300, usual=100_000)
    if options.large:
        count = 1_000_000
    found = filled(folder, count)
    url = copy_of(found, folder / "scale.db")
    rows = [*_stored(found), *_grep(url, count, options.pick(tiny=2, usual=15)), *_expand(url, options.pick(tiny=2, usual=11))]
    (folder / "scale.db").unlink()
    return rows


def _stored(found: Filled) -> list[Row]:
    count = found.messages
    return [
        Row(
            what=f"{count:,} messages on the disk, a message",
            ours=found.file_bytes / count,
            control=found.text_bytes / count,
            unit="bytes",
            note=f"control: its text alone; its payload has {found.payload_bytes / count:.0f} bytes",
        ),
        Row(
            what=f"peak memory after {count:,} messages appended",
            ours=found.memory_end / 2**20,
            control=found.memory_start / 2**20,
            unit="MiB",
            note=f"control: after {count // 10:,}; the tokenizer's vocabulary included",
        ),
        Row(what="appending them in batches of 500, CPU a message", ours=1e6 * found.cpu / count, unit="µs"),
    ]


def _grep(url: str, count: int, rounds: int) -> list[Row]:
    patterns = (
        ("a rare word, exact", RARE, "exact", 1, True),
        ("a rare word, words mode", RARE, "words", 1, True),
        ("a rare word with a space in front, exact", f" {RARE}", "exact", 1, False),
        ("a part of a rare word, exact", RARE[2:-2], "exact", 1, False),
        ("what is nowhere, exact", "unobtainium", "exact", 0, False),
    )
    rows: list[Row] = []
    with Engine(url, load_plugins=False) as engine:
        for what, pattern, mode, hits, promised in patterns:
            times: list[float] = []
            for _round in range(rounds):
                with clock() as spent:
                    page = engine.grep(pattern, mode="words" if mode == "words" else "exact")
                times.append(spent.thread)
            assert len(page.items) == hits, (what, page)
            rows.append(
                Row(
                    what=f"grep in {count:,} messages: {what}, CPU",
                    ours=1e3 * median(times),
                    unit="ms",
                    reach=Reach(value=20.0) if promised else None,
                    note=f"{page.scanned:,} messages scanned",
                )
            )
    return rows


def _expand(url: str, rounds: int) -> list[Row]:
    """Expand summaries of a compacted thread, with an engine that has read none of their messages before."""
    with Engine(url, window=32_000, load_plugins=False) as engine:
        thread = engine.thread(THREAD)
        thread.compact()
        summaries = [item.id for item in thread.context().items if item.kind == "summary"]
    wanted: list[tuple[str, str, int | None]] = []
    if summaries:
        wanted = [
            ("the newest summary of the view", summaries[-1], None),
            ("the oldest summary of the view", summaries[0], None),
            ("a page of the oldest summary", summaries[0], _PAGE),
        ]
    rows: list[Row] = []
    for what, id, limit in wanted:
        times: list[float] = []
        under = 0
        for _round in range(rounds):
            with Engine(url, window=32_000, load_plugins=False) as engine:
                engine.thread(THREAD).messages(start=1, stop=2)
                with clock() as spent:
                    under = len(engine.thread(THREAD).expand(id, limit=limit))
            times.append(spent.thread)
        rows.append(
            Row(
                what=f"expand {what}: {under:,} verbatim messages, CPU",
                ours=1e3 * median(times),
                unit="ms",
                reach=Reach(value=round(2 + 0.05 * under, 1)),
            )
        )
    return rows


BENCHMARK = Benchmark(name="scale", title="Scale: disk, memory, search, expansion", run=run)
