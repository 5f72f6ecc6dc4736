"""Running benchmarks: all of them, or those named; printing a table, and writing results and their page where asked to."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import (
    append_batch,
    append_single,
    backlog,
    callers,
    context_below_soft,
    context_size,
    database,
    importing,
    live_run,
    scale,
    steadiness,
)
from benchmarks.harness import Benchmark, Options, clock
from benchmarks.report import PAGE, RESULTS, Report, Section, circumstances, print_section, read_report, write_page, write_report

__all__ = ["BENCHMARKS", "main"]

BENCHMARKS: tuple[Benchmark, ...] = (
    append_batch.BENCHMARK,
    append_single.BENCHMARK,
    callers.BENCHMARK,
    context_size.BENCHMARK,
    context_below_soft.BENCHMARK,
    live_run.BENCHMARK,
    steadiness.BENCHMARK,
    backlog.BENCHMARK,
    scale.BENCHMARK,
    database.BENCHMARK,
    importing.BENCHMARK,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 0 whether or not a reach is met."""
    given = _parser().parse_args(arguments)
    by_name = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    unknown = [name for name in given.names if name not in by_name]
    if unknown:
        print(f"there is no benchmark {unknown[0]}; there are {', '.join(by_name)}", file=sys.stderr)
        return 2
    options = Options(size="tiny" if given.tiny else "full" if given.full else "usual", large=given.large)
    sections: list[Section] = []
    with tempfile.TemporaryDirectory(prefix="lossless-benchmarks-", dir=given.folder) as folder:
        for benchmark in [by_name[name] for name in given.names] or [each for each in BENCHMARKS if not each.opt_in]:
            print(f"{benchmark.title} …", file=sys.stderr)
            with clock() as spent:
                rows = benchmark.run(options, _own_folder(Path(folder), benchmark))
            section = Section(
                name=benchmark.name, title=benchmark.title, rows=tuple(rows), under=circumstances(options, benchmark.name)
            )
            print(f"{benchmark.title}: {spent.wall:.0f} s", file=sys.stderr)
            sections.append(section)
            if given.json != "-":
                print_section(section)
    report = Report(sections=tuple(sections))
    if given.json == "-":
        print(json.dumps(report.to_json(), indent=1))
    elif given.json:
        write_report(report, Path(given.json))
    if given.write_docs:
        merged = read_report(RESULTS).updated(report, [benchmark.name for benchmark in BENCHMARKS])
        write_report(merged, RESULTS)
        write_page(merged, PAGE)
    return 0


def _own_folder(folder: Path, benchmark: Benchmark) -> Path:
    """Give a benchmark a folder of its own; those that measure on long threads share one, so that each is written once."""
    own = folder / ("long" if benchmark.name in ("context-size", "backlog", "scale") else benchmark.name)
    own.mkdir(exist_ok=True)
    return own


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = ", ".join(benchmark.name for benchmark in BENCHMARKS)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {names}; none: all but database")
    parser.add_argument("--full", action="store_true", help="as long as the design says, where the usual run is shorter")
    parser.add_argument("--large", action="store_true", help="threads of a million messages, too; takes an hour and 5 GB")
    parser.add_argument("--tiny", action="store_true", help="only prove that everything runs; the numbers mean nothing")
    parser.add_argument("--json", metavar="FILE", help="write the results there; - for standard output, without tables")
    parser.add_argument("--write-docs", action="store_true", help="keep the results and write them into docs/benchmarks.md")
    parser.add_argument("--folder", type=Path, help="where databases are written: the disk that is measured (default: temporary)")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
