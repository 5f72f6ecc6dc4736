"""Each benchmark runs, and the page shows what the stored results say. Nothing here depends on how fast anything is."""

from __future__ import annotations

import json
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lossless_sources import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks import callers
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.data import conversation
from benchmarks.harness import Benchmark, Options, Reach, Row, percentile
from benchmarks.report import PAGE, RESULTS, Report, Section, circumstances, read_report, rendered, with_tables
from benchmarks.slow_disk import run_slowed

from lossless import Engine

TINY = Options(size="tiny")


@pytest.mark.parametrize("benchmark_", BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_a_benchmark_runs_at_a_tiny_size(benchmark_: Benchmark, tmp_path: Path) -> None:
    rows = benchmark_.run(TINY, tmp_path)
    assert rows
    for row in rows:
        assert row.what
        assert math.isfinite(row.ours)
        assert row.ours >= 0
        assert row.control is None or row.control > 0
    assert any(row.reach is not None for row in rows)
    assert len({(row.what, row.note) for row in rows}) == len(rows)


def test_the_page_shows_the_stored_results() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page, read_report(RESULTS)) == page


def test_the_stored_results_are_of_every_benchmark_and_not_of_tiny_runs() -> None:
    sections = read_report(RESULTS).sections
    assert [section.name for section in sections] == [benchmark.name for benchmark in BENCHMARKS]
    assert not any("--tiny" in section.under.command for section in sections)


def test_results_survive_being_stored() -> None:
    report = read_report(RESULTS)
    assert Report.from_json(json.loads(json.dumps(report.to_json()))) == report


def test_the_page_says_that_a_reach_is_missed() -> None:
    met = Row(what="quick", ours=1.0, unit="ms", reach=Reach(value=2.0))
    missed = replace(met, what="slow", ours=3.0)
    compared = Row(what="many", ours=30.0, control=10.0, unit="rows/s", reach=Reach(value=20.0, of="ratio", at_least=True))
    section = Section(name="x", title="X", rows=(met, missed, compared), under=circumstances(TINY, "x"))
    lines = rendered(Report(sections=(section,))).splitlines()
    assert "| quick | 1 ms |  |  | ≤ 2 ms | yes |" in lines
    assert "| slow | 3 ms |  |  | ≤ 2 ms | **no** |" in lines
    assert "| many | 30 rows/s | 10 rows/s | 3.00 × | ≥ 20 × | **no** |" in lines


def test_newer_results_take_the_place_of_older_ones_in_the_usual_order() -> None:
    def section(name: str, ours: float) -> Section:
        return Section(name=name, title=name, rows=(Row(what="w", ours=ours),), under=circumstances(TINY, name))

    older = Report(sections=(section("a", 1), section("b", 1)))
    newer = Report(sections=(section("c", 2), section("a", 2)))
    merged = older.updated(newer, ["a", "b", "c"])
    assert [(found.name, found.rows[0].ours) for found in merged.sections] == [("a", 2), ("b", 1), ("c", 2)]


def test_a_page_without_its_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="needs the lines"):
        with_tables("# Benchmarks\n", Report(sections=()))


def test_the_conversation_is_the_same_each_time_and_never_repeats_itself() -> None:
    messages = conversation(2_000, seed=3)
    assert messages == conversation(2_000, seed=3)
    assert messages != conversation(2_000, seed=4)
    assert len({json.dumps(message) for message in messages}) == len(messages)
    mean = sum(len(message["content"]) for message in messages) / len(messages)
    assert 300 < mean < 500


def test_the_conversation_is_valid_as_it_stands(tmp_path: Path) -> None:
    with Engine(f"sqlite:///{tmp_path / 'valid.db'}", window=1_000_000, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append(conversation(200))
        context = thread.context()
        open_calls = {call["id"] for message in conversation(200) for call in message.get("tool_calls", ())}
        open_calls -= {message["tool_call_id"] for message in conversation(200) if message["role"] == "tool"}
        assert len(open_calls) <= 1
        assert bool(context.repairs) == bool(open_calls)


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(number) for number in range(1, 101)]
    assert percentile(values, 0.5) == 50.0
    assert percentile(values, 0.99) == 99.0
    assert percentile([7.0], 0.99) == 7.0


def test_an_unknown_benchmark_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing"]) == 2
    assert "append-batch" in capsys.readouterr().err


def test_where_a_disk_can_not_be_slowed_down_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.slow_disk.shutil.which", lambda _name: None)
    rows = callers.run(TINY, tmp_path)
    assert {row.what for row in rows} == {"32 callers at once, durability full", "32 callers at once, durability normal"}
    assert "no rows on a slower disk" in capsys.readouterr().err


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not (shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")),
    reason="a library that slows the disk down can't be made here",
)
def test_on_a_slowed_disk_an_fsync_takes_as_long_as_asked_for(tmp_path: Path) -> None:
    said = json.loads(run_slowed("benchmarks.callers", [str(tmp_path), "2", "1"], tmp_path, 0.02))
    assert said["fsync"] >= 0.02
    assert 0 < said["one"] <= 50
    assert 0 < said["raw"] <= 50
