"""Checkpointers of LangGraph's own, and ours, on the same thread: bytes, times, memory.

``uv run python -m benchmarks.langgraph_savers`` prints the tables; ``--write-docs`` keeps the results and puts the tables into
``docs/langgraph.md``. Names choose savers (``module:function`` is any other's); those not named keep the results they have.
``--turns`` says how long the thread gets, ``--stock-turns`` how long with LangGraph's own savers, whose time and space grow with
the square of it: what they would take at the full length is then worked out from what was measured, and marked with ≈.
PostgreSQL is measured where ``LOSSLESS_BENCHMARK_POSTGRES_URL`` names a server; databases are made in it and dropped.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any
from uuid import uuid4

from benchmarks.langgraph_thread import SAVERS

__all__ = ["PAGE", "RESULTS", "growth", "main", "straightness", "summed_up", "tables", "write_docs"]

_ROOT = Path(__file__).resolve().parents[1]
RESULTS = _ROOT / "benchmarks" / "langgraph_savers.json"
"""The results that the page shows, each of the last time that its saver was measured."""
PAGE = _ROOT / "docs" / "langgraph.md"
_VARIABLE = "LOSSLESS_BENCHMARK_POSTGRES_URL"
_TITLES = {
    "ours": "`LosslessSaver`",
    "ours-without-capture": "`LosslessSaver`, `capture=()`",
    "ours-postgres": "`LosslessSaver`, PostgreSQL",
    "ours-postgres-without-capture": "`LosslessSaver`, PostgreSQL, `capture=()`",
    "sqlite": "`SqliteSaver`",
    "postgres": "`PostgresSaver`",
    "memory": "`InMemorySaver`",
}
Found = Mapping[str, Any]
Results = dict[str, dict[str, Found]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, or write them into the page."""
    given = _parser().parse_args(arguments)
    names = given.names or [name for name in SAVERS if "postgres" not in name or os.environ.get(_VARIABLE)]
    results: Results = {"savers": {}, "writers": {}}
    for name in names:
        turns = given.turns if "ours" in name or ":" in name else given.stock_turns
        results["savers"][name] = summed_up(_run("langgraph_thread", name, turns), given.turns)
        if "postgres" in name:
            results["writers"][name] = _run("langgraph_writers", name, given.puts, 5)
    if given.write_docs:
        write_docs(results)
        return 0
    print("\n\n".join(tables(results).values()))
    return 0


def summed_up(one: Found, turns: int) -> Found:
    """Give what tables need of a measured thread: instead of the bytes after each turn what they come to, and how straight."""
    left = {name: value for name, value in one.items() if name not in ("sizes", "bytes")}
    return {**left, "of": turns, "megabytes": growth(one["sizes"], turns) / 1e6, "straightness": straightness(one["sizes"])}


def write_docs(results: Results) -> None:
    """Keep results, and write the tables of all that are kept into the page."""
    kept: Results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name, found in results.items():
        merged = {**kept.get(name, {}), **found}
        kept[name] = {saver: merged[saver] for saver in sorted(merged, key=lambda saver: (_order(saver), saver))}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables(kept).items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    PAGE.write_text(text, encoding="utf-8")


def tables(results: Results) -> dict[str, str]:
    """Write results as tables, by the name of their place in the page."""
    makers = {"savers": _table, "writers": _writers_table}
    return {name: makers[name](found) for name, found in results.items() if found}


def straightness(sizes: Sequence[float]) -> float:
    """Give R² of a straight line through sizes, one a turn."""
    turns = range(1, len(sizes) + 1)
    x, y = fmean(turns), fmean(sizes)
    across = sum((turn - x) * (size - y) for turn, size in zip(turns, sizes, strict=True))
    along, spread = sum((turn - x) ** 2 for turn in turns), sum((size - y) ** 2 for size in sizes)
    return across**2 / (along * spread) if along and spread else 1.0


def growth(sizes: Sequence[float], turns: int) -> float:
    """Give what sizes, one a turn, come to after more turns: a parabola through the beginning, the middle and the end."""
    last, middle = len(sizes), len(sizes) // 2
    if last >= turns:
        return sizes[turns - 1]
    end, half = sizes[-1], sizes[middle - 1]
    curve = (end / last - half / middle) / (last - middle)
    return turns * (end / last + curve * (turns - last))


# Tables


def _table(found: Mapping[str, Found]) -> str:
    def row(what: str, give: Callable[[Found], str]) -> str:
        return f"| {what} | {' | '.join(give(one).replace(',', ' ') for one in found.values())} |"

    turns = max(one["of"] for one in found.values())
    heads = " | ".join(_TITLES.get(name, f"`{name}`") for name in found)
    return "\n".join(
        [
            f"| | {heads} |",
            "|---" * (len(found) + 1) + "|",
            row("turns that were run", lambda one: f"{one['turns']}"),
            row(f"MB after {turns} turns (7 KB of text each)", _megabytes),
            row("R² of a straight line through the bytes after each turn", lambda one: f"{one['straightness']:.4f}"),
            row("`put` p50 at a tenth of the turns, ms (a bare commit beside it)", lambda one: _put(one, "early")),
            row("`put` p50 at the end, ms (a bare commit beside it)", lambda one: _put(one, "late")),
            row("`put` at the end: ms above a bare commit", lambda one: f"{one['puts']['late'] - one['commits']['late']:.1f}"),
            row("`put` at the end: times that at a tenth", lambda one: f"{one['puts']['late'] / one['puts']['early']:.1f}"),
            row("`put` at the end: CPU, ms", lambda one: f"{one['cpu']:.1f}" if "cpu" in one else ""),
            row("the newest state: CPU, ms", lambda one: f"{one['newest']:.0f}"),
            row("a history of 10 states: CPU, ms", lambda one: f"{one['history']:.0f}"),
            row("`delete_thread`: CPU, ms", lambda one: f"{one['deleted']:,.0f}"),
            row("`copy_thread`: CPU, ms; KB", _copied),
            row("client memory above what it began with, MB", lambda one: f"{one['peak']:,.0f}"),
        ]
    )


def _megabytes(one: Found) -> str:
    text = f"{one['megabytes']:,.1f}" if one["megabytes"] < 100 else f"{one['megabytes']:,.0f}"
    return text if one["turns"] >= one["of"] else f"≈ {text}"


def _put(one: Found, when: str) -> str:
    return f"{one['puts'][when]:.1f} ({one['commits'][when]:.1f})"


def _copied(one: Found) -> str:
    return "none" if one["copied"] is None else f"{one['copied'][0]:.0f}; {one['copied'][1] / 1e3:.0f}"


def _writers_table(found: Mapping[str, Found]) -> str:
    lines = [
        "| 8 threads, 8 LangGraph threads | puts/s | raw: the same rows/s | ratio | raw: a small row/s |",
        "|---|---|---|---|---|",
    ]
    for name, one in found.items():
        same = one.get("same")
        figures = [f"{one['puts']:,.0f}", f"{same:,.0f}" if same else "", f"{one['puts'] / same:.2f} ×" if same else ""]
        cells = " | ".join([*figures, f"{one['bare']:,.0f}"]).replace(",", " ")
        lines.append(f"| {_TITLES.get(name, name)} | {cells} |")
    return "\n".join(lines)


def _order(saver: str) -> int:
    return list(SAVERS).index(saver) if saver in SAVERS else len(SAVERS)


# Children


def _run(module: str, saver: str, *arguments: object) -> dict[str, Any]:
    """Measure in a child process, on a database of its own."""
    print(f"{module} {saver} {' '.join(map(str, arguments))} …", file=sys.stderr)
    with _database("postgres" in saver) as environment:
        command = [sys.executable, "-m", f"benchmarks.{module}", saver, *map(str, arguments)]
        child = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True)
    if child.returncode:
        raise SystemExit(f"{saver} could not be measured:\n{child.stderr[-2_000:]}")
    measured: dict[str, Any] = json.loads(child.stdout)
    return measured


@contextmanager
def _database(needed: bool) -> Iterator[dict[str, str]]:
    """Give the environment of a child, and in it the URL of an empty database if one is needed."""
    named = os.environ.get(_VARIABLE)
    if not needed or named is None:
        yield dict(os.environ)
        return
    import psycopg
    from sqlalchemy.engine import make_url

    url, name = make_url(named), f"lossless_benchmark_{uuid4().hex[:12]}"
    with psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
        try:
            yield {**os.environ, _VARIABLE: url.set(database=name).render_as_string(hide_password=False)}
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.langgraph_savers", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="SAVER", help=f"which: {', '.join(SAVERS)}, module:function; none: all there are"
    )
    parser.add_argument("--turns", type=int, default=500, help="turns of a thread (500)")
    parser.add_argument("--stock-turns", type=int, default=100, help="turns with LangGraph's own savers (100)")
    parser.add_argument("--puts", type=int, default=100, help="puts of each of eight threads (100)")
    parser.add_argument("--write-docs", action="store_true", help="write the tables into docs/langgraph.md")
    return parser


if __name__ == "__main__":
    sys.exit(main())
