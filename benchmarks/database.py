"""One database of a million messages: one thread of 100 000, and 10 000 others. What everything costs in it.

``python -m benchmarks.database FILE MESSAGES LONGEST THREADS ROUNDS`` fills and measures in a process of its own, so that its
peak of memory is that of one engine.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.data import stream
from benchmarks.harness import Benchmark, Options, Reach, Row, Spent, clock, median, percentile
from benchmarks.threads import RARE
from lossless import Engine, Thread

__all__ = ["BENCHMARK"]

_LONG = "long"
_WINDOW = 32_000
_BATCH = 500
_ROW_TABLES = (
    "thread",
    "message",
    "blob",
    "node",
    "head",
    "head_log",
    "summary",
    "summary_message",
    "summary_child",
    "search_doc",
)


def run(options: Options, folder: Path) -> list[Row]:
    """Fill and measure in a process of its own; ``--large`` is the size that the design names, the usual one a tenth of it."""
    sizes = options.pick(tiny=(400, 120, 8, 3), usual=(100_000, 10_000, 1_000, 100))
    if options.large:
        sizes = (1_000_000, 100_000, 10_000, 200)
    command = [sys.executable, "-m", "benchmarks.database", str(folder / "database.db"), *map(str, sizes)]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    return [Row.from_json(row) for row in json.loads(done.stdout)]


def _measure(path: Path, messages: int, longest: int, threads: int, rounds: int) -> list[Row]:
    url = f"sqlite:///{path}"
    random = Random(messages)
    rows = _fill(path, url, messages, longest, threads)
    with Engine(url, load_plugins=False) as engine:
        rows += _grep(engine, messages, rounds)
    rows += _memory(f"after {messages:,} messages appended and searched")
    with _own(path.with_name("small.db")) as small, Engine(url, window=_WINDOW, load_plugins=False, background=False) as engine:
        long = engine.thread(_LONG)
        rows += _append(engine, small, threads, rounds, random)
        rows += _compact(long, longest)
        rows += _context(engine, long, threads, rounds, random)
        rows += _expand(long, rounds)
        rows += _branch(engine, long, longest, min(rounds, 50), random)
        rows += [_timed("threads(): a page of 50", lambda: engine.threads(), rounds)]
    return rows + _memory("in the end")


def _fill(path: Path, url: str, messages: int, longest: int, threads: int) -> list[Row]:
    """Write the long thread in batches, then the others, each in one append."""
    payload_bytes = 0
    source = stream(seed=messages)
    share = (messages - longest) // (threads - 1)
    plan = [(_LONG, min(_BATCH, longest - start)) for start in range(0, longest, _BATCH)]
    plan += [(_name(number), share) for number in range(1, threads)]
    times: list[Spent] = []
    with clock() as spent, Engine(url, load_plugins=False, durability="normal") as engine:
        for number, (name, count) in enumerate(plan):
            batch = list(islice(source, count))
            if number == 0:
                batch[1]["content"] += f" The word of the day is {RARE}."
            payload_bytes += sum(len(json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode()) for given in batch)
            with clock() as once:
                engine.thread(name).append(batch)
            times.append(once)
    stored = sum(count for _name_, count in plan)
    file_bytes = path.stat().st_size
    return [
        Row(what=f"{stored:,} messages in {threads:,} threads, appended in batches, wall", ours=spent.wall, unit="s"),
        Row(
            what="CPU a message", ours=1e6 * sum(once.thread for once in times) / stored, unit="µs", note="making the data apart"
        ),
        Row(
            what="on the disk, a message",
            ours=file_bytes / stored,
            control=payload_bytes / stored,
            unit="bytes",
            reach=Reach(value=1.6, of="ratio"),
            note=f"control: its payload as JSON; the file has {file_bytes / 2**20:,.0f} MiB, search index included",
        ),
    ]


def _append(engine: Engine, small: Engine, threads: int, rounds: int, random: Random) -> list[Row]:
    """Append single messages, to the long thread and to others, in turn with a database of one short thread."""
    given = [message for message in islice(stream(seed=1), 20 * rounds) if message["role"] == "user"]
    times: dict[str, list[Spent]] = {"the longest thread": [], "any thread": [], "control": []}
    for number in range(rounds):
        message = given[number % len(given)]
        for what, thread in (
            ("the longest thread", engine.thread(_LONG)),
            ("any thread", engine.thread(_name(random.randrange(1, threads)))),
            ("control", small.thread("short")),
        ):
            with clock() as spent:
                thread.append(message, compact=False)
            times[what].append(spent)
    control = [spent.wall for spent in times.pop("control")]
    rows = []
    for what, found in times.items():
        for share in (0.5, 0.99):
            rows.append(
                Row(
                    what=f"append one message to {what}, wall p{share * 100:.0f}",
                    ours=1e3 * percentile([spent.wall for spent in found], share),
                    control=1e3 * percentile(control, share),
                    unit="ms",
                    note="control: the same in a database with one short thread, in turn",
                )
            )
    return rows


def _compact(long: Thread, longest: int) -> list[Row]:
    with clock() as spent:
        while long.compact().changed:
            pass
    return [Row(what=f"compact() of the longest thread, {longest:,} messages, CPU", ours=spent.thread, unit="s")]


def _context(engine: Engine, long: Thread, threads: int, rounds: int, random: Random) -> list[Row]:
    long.context()
    names = [_name(random.randrange(1, threads)) for _round in range(rounds)]
    return [
        _timed("context of the longest thread", lambda: long.context(), rounds, reach=5.0),
        *_spread("context of any thread, for the first time", [(lambda n=name: engine.thread(n).context()) for name in names]),  # type: ignore[misc]
    ]


def _grep(engine: Engine, messages: int, rounds: int) -> list[Row]:
    """Search the whole namespace, and one thread of it."""
    rows = [
        _timed(f"grep in {messages:,} messages: a rare word", lambda: engine.grep(RARE), rounds, reach=20.0),
        _timed("the same in words mode", lambda: engine.grep(RARE, mode="words"), rounds, reach=20.0),
        _timed("the same by role", lambda: engine.grep(RARE, role="user"), rounds, reach=20.0),
        _timed("a frequent word, a page of 50", lambda: engine.grep("timeout"), rounds),
        _timed("a frequent word, ranked", lambda: engine.grep("timeout", mode="words"), min(rounds, 5)),
        _timed("a frequent word in one short thread", lambda: engine.grep("timeout", thread=_name(1)), rounds),
    ]
    with clock() as spent:
        page = engine.grep(RARE[2:-2])
    pages, scanned, found = 1, page.scanned, len(page)
    while page.next_cursor is not None:
        page = engine.grep(RARE[2:-2], cursor=page.next_cursor)
        pages, scanned, found = pages + 1, scanned + page.scanned, found + len(page)
    assert found == 1
    what = "a part of a rare word: the first page, CPU"
    rows.append(Row(what=what, ours=1e3 * spent.thread, unit="ms", note=f"found in {pages} pages, {scanned:,} messages scanned"))
    return rows


def _expand(long: Thread, rounds: int) -> list[Row]:
    summaries = [item.id for item in long.context().items if item.kind == "summary"]
    rows = [_timed("expand a message by its id", lambda: long.expand("m_7"), rounds, reach=2.0)]
    if summaries:
        page = min(100, len(long.expand(summaries[0], limit=100)))
        what = f"expand a page of {page} messages of the oldest summary"
        rows.append(_timed(what, lambda: long.expand(summaries[0], limit=100), rounds, reach=2 + 0.05 * page))
    return rows


def _branch(engine: Engine, long: Thread, longest: int, rounds: int, random: Random) -> list[Row]:
    """Branch anywhere; what counts is how many rows it adds."""

    def stored() -> int:
        with engine.database.read() as connection:
            return sum(connection.exec_driver_sql(f"SELECT count(*) FROM lossless_{name}").scalar_one() for name in _ROW_TABLES)

    before = stored()
    cuts = [random.randrange(1, longest) for _round in range(rounds)]
    rows = _spread(
        f"branch of the longest thread, {longest:,} messages",
        [(lambda at=cut: long.branch(at=at)) for cut in cuts],
        reach=5.0,  # type: ignore[misc]
    )
    rows.append(Row(what="rows that a branch adds, on average", ours=(stored() - before) / rounds))
    return rows


def _timed(what: str, act: Callable[[], Any], rounds: int, *, reach: float | None = None) -> Row:
    """Do the same several times; CPU, since nothing is waited for."""
    times = []
    for _round in range(rounds):
        with clock() as spent:
            act()
        times.append(spent)
    return _row(what, times, reach)


def _spread(what: str, acts: list[Callable[[], Any]], *, reach: float | None = None) -> list[Row]:
    """Do several things once each."""
    times = []
    for act in acts:
        with clock() as spent:
            act()
        times.append(spent)
    return [_row(what, times, reach)]


def _row(what: str, times: list[Spent], reach: float | None) -> Row:
    cpu, wall = [1e3 * spent.thread for spent in times], [1e3 * spent.wall for spent in times]
    return Row(
        what=f"{what}, CPU p50",
        ours=median(cpu),
        unit="ms",
        reach=None if reach is None else Reach(value=reach),
        note=f"CPU p99 {percentile(cpu, 0.99):.2f} ms; wall p50 {median(wall):.2f} ms, p99 {percentile(wall, 0.99):.2f} ms",
    )


def _memory(when: str) -> list[Row]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    note = "the interpreter, the tokenizer's vocabulary and the data's making included"
    return [Row(what=f"peak memory {when}", ours=peak / 2**20, unit="MiB", reach=Reach(value=300.0), note=note)]


@contextmanager
def _own(path: Path) -> Iterator[Engine]:
    with Engine(f"sqlite:///{path}", window=_WINDOW, load_plugins=False, background=False) as engine:
        engine.thread("short").append(list(islice(stream(seed=2), 100)), compact=False)
        yield engine


def _name(number: int) -> str:
    return f"thread-{number:05}"


BENCHMARK = Benchmark(name="database", title="One database of a million messages", run=run, opt_in=True)


if __name__ == "__main__":
    print(json.dumps([row.to_json() for row in _measure(Path(sys.argv[1]), *map(int, sys.argv[2:]))]))
