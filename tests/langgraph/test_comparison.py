"""The tables in the documentation that compare savers are those of the kept results, and the benchmark runs."""

from __future__ import annotations

import json
import sys

from lossless_sources import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.langgraph_savers import PAGE, RESULTS, growth, straightness, summed_up, tables
from benchmarks.langgraph_thread import measured


def test_the_tables_show_the_kept_results() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables(json.loads(RESULTS.read_text(encoding="utf-8"))).items():
        assert f"<!-- {name}: begin -->\n{table}\n<!-- {name}: end -->" in text


def test_a_short_thread_is_measured_on_any_saver() -> None:
    found = {name: measured(name, 20) for name in ("ours", "memory")}
    assert found["ours"]["copied"] is not None
    assert found["memory"]["copied"] is None
    table = tables({"savers": {name: summed_up(one, 40) for name, one in found.items()}})["savers"]
    assert "| MB after 40 turns (7 KB of text each) | ≈ " in table


def test_what_grows_with_the_square_is_worked_out() -> None:
    sizes = [3.0 * turn + 2.0 * turn**2 for turn in range(1, 101)]
    assert growth(sizes, 500) == 3 * 500 + 2 * 500**2
    assert growth(sizes, 40) == sizes[39]
    assert straightness([7.0 * turn for turn in range(1, 50)]) > 0.999999
    assert straightness(sizes) < 0.95
