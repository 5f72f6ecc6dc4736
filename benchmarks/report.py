"""Reports: results as JSON, as a table in the terminal, and as the page ``docs/benchmarks.md``."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.harness import Options, Row

__all__ = [
    "PAGE",
    "RESULTS",
    "Circumstances",
    "Report",
    "Section",
    "circumstances",
    "print_section",
    "read_report",
    "rendered",
    "with_tables",
    "write_page",
    "write_report",
]

_ROOT = Path(__file__).resolve().parents[1]
RESULTS = _ROOT / "benchmarks" / "results.json"
"""The results that the page shows."""
PAGE = _ROOT / "docs" / "benchmarks.md"
_BEGIN, _END = "<!-- tables: begin -->", "<!-- tables: end -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """When and under what a section was measured."""

    date: str
    lossless: str
    python: str
    sqlite: str
    system: str
    cores: int
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One benchmark's rows."""

    name: str
    title: str
    rows: tuple[Row, ...]
    under: Circumstances


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run measured, or several."""

    sections: tuple[Section, ...]

    def updated(self, newer: Report, order: Sequence[str]) -> Report:
        """Give this report with the sections of a newer one in place of its own, in the order of the names."""
        found = {section.name: section for section in (*self.sections, *newer.sections)}
        return Report(sections=tuple(found[name] for name in order if name in found))

    def to_json(self) -> dict[str, Any]:
        """Give the report as plain values."""
        return {
            "sections": [
                {
                    "name": section.name,
                    "title": section.title,
                    "under": asdict(section.under),
                    "rows": [row.to_json() for row in section.rows],
                }
                for section in self.sections
            ]
        }

    @staticmethod
    def from_json(value: dict[str, Any]) -> Report:
        """Read what :meth:`to_json` gave."""
        return Report(
            sections=tuple(
                Section(
                    name=section["name"],
                    title=section["title"],
                    rows=tuple(Row.from_json(row) for row in section["rows"]),
                    under=Circumstances(**section["under"]),
                )
                for section in value["sections"]
            )
        )


def circumstances(options: Options, name: str) -> Circumstances:
    """Say when and under what is being measured, without a word about whose machine it is."""
    flags = [f"--{options.size}"] if options.size != "usual" else []
    if options.large:
        flags.append("--large")
    return Circumstances(
        date=datetime.now(UTC).date().isoformat(),
        lossless=version("lossless"),
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        system=f"{platform.system()} {platform.machine()}",
        cores=os.cpu_count() or 1,
        command=" ".join(["uv run python -m benchmarks", name, *flags]),
    )


def read_report(path: Path) -> Report:
    """Read a report; one that is not there is empty."""
    if not path.is_file():
        return Report(sections=())
    return Report.from_json(json.loads(path.read_text(encoding="utf-8")))


def write_report(report: Report, path: Path) -> None:
    """Write a report as JSON."""
    path.write_text(json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_page(report: Report, page: Path) -> None:
    """Write the report's tables into a page, between its markers."""
    page.write_text(with_tables(page.read_text(encoding="utf-8"), report), encoding="utf-8")


def with_tables(text: str, report: Report) -> str:
    """Give a page's text with the report's tables between its markers.

    Raises:
        ValueError: it does not have the two markers.
    """
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the page needs the lines {_BEGIN} and {_END}")
    return f"{before}{_BEGIN}\n\n{rendered(report)}\n{_END}{after}"


def rendered(report: Report) -> str:
    """Give a report as Markdown: a heading, a table, its notes and the circumstances for each section."""
    lines: list[str] = []
    for section in report.sections:
        notes = _notes(section)
        lines += [f"### {section.title}", "", "| what | ours | control | ratio | reach | met |", "|---|--:|--:|--:|--:|:-:|"]
        lines += ["| " + " | ".join([_marked(row, notes), *_cells(row)]) + " |" for row in section.rows]
        lines.append("")
        lines += [f"{number}. {note}" for number, note in enumerate(notes, start=1)]
        lines += [""] if notes else []
        under = section.under
        lines += [
            f"`{under.command}`, {under.date}, Lossless {under.lossless}, Python {under.python}, SQLite {under.sqlite}, "
            f"{under.system}, {under.cores} cores.",
            "",
        ]
    return "\n".join(lines)


def print_section(section: Section) -> None:
    """Print a section as a table with its notes below."""
    notes = _notes(section)
    table = Table(title=section.title, title_justify="left")
    table.add_column("what")
    for name in ("ours", "control", "ratio", "reach", "met"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in section.rows:
        table.add_row(Text(_marked(row, notes)), *(cell.replace("**", "") for cell in _cells(row)))
    console = Console()
    console.print(table)
    for number, note in enumerate(notes, start=1):
        console.print(Text(f"[{number}] {note}"))
    console.print()


def _notes(section: Section) -> list[str]:
    """Give the notes of a section's rows, each once, in order."""
    return list(dict.fromkeys(row.note for row in section.rows if row.note))


def _marked(row: Row, notes: Sequence[str]) -> str:
    return f"{row.what} [{notes.index(row.note) + 1}]" if row.note else row.what


def _cells(row: Row) -> list[str]:
    """Give a row's ours, control, ratio, reach and verdict as words."""
    met = {None: "", True: "yes", False: "**no**"}[row.met]
    return [
        _amount(row.ours, row.unit),
        "" if row.control is None else _amount(row.control, row.unit),
        "" if row.ratio is None else f"{row.ratio:.2f} ×",
        _reach(row),
        met,
    ]


def _reach(row: Row) -> str:
    if row.reach is None:
        return ""
    sign = "≥" if row.reach.at_least else "≤"
    shown = f"{row.reach.value:g} ×" if row.reach.of == "ratio" else _amount(row.reach.value, row.unit, exact=True)
    return f"{sign} {shown}"


def _amount(value: float, unit: str, *, exact: bool = False) -> str:
    if exact or value == int(value):
        shown = f"{value:,.10g}"
    else:
        shown = f"{value:,.0f}" if value >= 100 else f"{value:,.1f}" if value >= 10 else f"{value:.2f}"
    return f"{shown} {unit}".strip()
