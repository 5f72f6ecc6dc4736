"""Checkpointers of LangGraph's own, and ours, on the same thread: bytes, times, memory.

``uv run --with langgraph-checkpoint-sqlite --with langgraph-checkpoint-postgres python -m benchmarks.langgraph_savers`` prints
the tables; ``--write-docs`` puts them into ``docs/langgraph.md``. Names choose savers (``module:function`` is any other's).
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any
from uuid import uuid4

from benchmarks.langgraph_thread import SAVERS

__all__ = ["PAGE", "growth", "main", "straightness"]

_ROOT = Path(__file__).resolve().parents[1]
PAGE = _ROOT / "docs" / "langgraph.md"
_VARIABLE = "LOSSLESS_BENCHMARK_POSTGRES_URL"
_TITLES = {
    "ours": "`LosslessSaver`",
    "ours-without-capture": "`LosslessSaver`, `capture=()`",
    "ours-postgres": "`LosslessSaver`, PostgreSQL",
    "sqlite": "`SqliteSaver`",
    "postgres": "`PostgresSaver`",
    "memory": "`InMemorySaver`",
}
Found = Mapping[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, or write them into the page."""
    given = _parser().parse_args(arguments)
    names = given.names or [name for name in SAVERS if "postgres" not in name or os.environ.get(_VARIABLE)]
    threads = {
        name: _run("langgraph_thread", name, given.turns if "ours" in name or ":" in name else given.stock_turns)
        for name in names
    }
    found = {"savers": _table(threads, given.turns)}
    writers = {name: _run("langgraph_writers", name, given.puts, 5) for name in names if "postgres" in name}
    if writers:
        found["writers"] = _writers_table(writers)
    text = PAGE.read_text(encoding="utf-8") if given.write_docs else ""
    for name, table in found.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if text:
            before, rest = text.split(begin)
            text = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
        else:
            print(table, end="\n\n")
    if text:
        PAGE.write_text(text, encoding="utf-8")
    return 0


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


def _table(found: Mapping[str, Found], turns: int) -> str:
    rows = [
        ("turns that were run", [f"{one['turns']}" for one in found.values()]),
        (f"MB after {turns} turns (7 KB of text each)", [_megabytes(one, turns) for one in found.values()]),
        (
            "R² of a straight line through the bytes after each turn",
            [f"{straightness(one['sizes']):.4f}" for one in found.values()],
        ),
        ("`put` p50 at a tenth of the turns, ms (a bare commit beside it)", [_put(one, "early") for one in found.values()]),
        ("`put` p50 at the end, ms (a bare commit beside it)", [_put(one, "late") for one in found.values()]),
        ("`put` at the end: ms above a bare commit", [f"{_above(one):.1f}" for one in found.values()]),
        (
            "`put` at the end: times that at a tenth",
            [f"{one['puts']['late'] / one['puts']['early']:.1f}" for one in found.values()],
        ),
        ("the newest state, ms", [f"{one['newest']:.0f}" for one in found.values()]),
        ("a history of 10 states, ms", [f"{one['history']:.0f}" for one in found.values()]),
        ("`delete_thread`, ms", [f"{one['deleted']:,.0f}".replace(",", " ") for one in found.values()]),
        ("`copy_thread`: ms; KB", [_copied(one) for one in found.values()]),
        ("client memory above what it began with, MB", [f"{one['peak']:,.0f}".replace(",", " ") for one in found.values()]),
    ]
    heads = " | ".join(_TITLES.get(name, f"`{name}`") for name in found)
    return "\n".join(
        [f"| | {heads} |", "|---" * (len(found) + 1) + "|", *(f"| {what} | {' | '.join(row)} |" for what, row in rows)]
    )


def _megabytes(one: Found, turns: int) -> str:
    bytes = growth(one["sizes"], turns) / 1e6
    text = f"{bytes:,.1f}" if bytes < 100 else f"{bytes:,.0f}".replace(",", " ")
    return text if one["turns"] >= turns else f"≈ {text}"


def _put(one: Found, when: str) -> str:
    return f"{one['puts'][when]:.1f} ({one['commits'][when]:.1f})"


def _above(one: Found) -> float:
    return float(one["puts"]["late"] - one["commits"]["late"])


def _copied(one: Found) -> str:
    return "none" if one["copied"] is None else f"{one['copied'][0]:.0f}; {one['copied'][1] / 1e3:.0f}"


def _writers_table(found: Mapping[str, Found]) -> str:
    lines = [
        "| 8 threads, 8 LangGraph threads | puts/s | raw: the same rows/s | ratio | raw: a small row/s |",
        "|---|---|---|---|---|",
    ]
    for name, one in found.items():
        ratio = f"{one['puts'] / one['same']:.2f} ×" if one.get("same") else ""
        same = f"{one['same']:,.0f}" if one.get("same") else ""
        lines.append(
            f"| {_TITLES.get(name, name)} | {one['puts']:,.0f} | {same} | {ratio} | {one['bare']:,.0f} |".replace(",", " ")
        )
    return "\n".join(lines)


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
