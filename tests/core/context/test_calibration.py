"""The budget is honest: what is sent beside a context is counted as it is sent, and a provider's reports correct the count."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from lossless import Engine
from lossless.context.calibration import calibrated_margin
from lossless.errors import ConfigError
from lossless.tokens import count_tools, counter_for
from lossless_postgres import Server

SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "description": "of the file"}}, "required": ["path"]}
OPENAI = {"type": "function", "function": {"name": "read", "description": "Reads a file.", "parameters": SCHEMA}}
ANTHROPIC = {"name": "read", "description": "Reads a file.", "input_schema": SCHEMA}


def test_tools_are_counted_as_the_provider_gets_them_in_whatever_shape_they_are_given() -> None:
    counter = counter_for()
    for profile in ("openai", "anthropic", "gemini"):
        assert count_tools([OPENAI], counter, profile=profile) == count_tools([ANTHROPIC], counter, profile=profile)
    assert count_tools([OPENAI], counter, profile="anthropic") > count_tools([OPENAI], counter, profile="openai") + 300
    assert count_tools([], counter, profile="anthropic") == 0
    built_in = {"type": "web_search", "name": "web_search", "max_uses": 5}
    assert count_tools([built_in], counter) > 12


def test_the_overhead_of_a_context_is_what_was_counted_beside_it() -> None:
    with Engine("sqlite://", window=8_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "Hi."})
        plain = thread.context()
        context = thread.context(overhead=100, tools=[OPENAI])
        assert plain.overhead == 0
        assert context.overhead == 100 + count_tools([OPENAI], engine.counter)
        assert context.budget < plain.budget


@pytest.mark.parametrize(
    ("margin", "exact", "counted", "reported", "wanted"),
    [
        (0.01, True, 0, 0, 0.01),
        (0.15, False, 1_999, 9_999, 0.15),
        (0.01, True, 10_000, 10_000, 0.0196),
        (0.15, False, 10_000, 10_000, 0.0196),
        (0.15, False, 10_000, 8_000, 0.01),
        (0.15, False, 10_000, 15_000, 0.346),
        (0.15, False, 10_000, 1_000_000, 0.51),
        (0.01, True, 10_000, 1, 0.01),
    ],
)
def test_reports_set_the_margin_within_bounds(margin: float, exact: bool, counted: int, reported: int, wanted: float) -> None:
    assert calibrated_margin(margin, exact, counted, reported) == pytest.approx(wanted, abs=0.001)


def test_what_a_provider_reports_is_kept_and_moves_the_thresholds(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with Engine(url, window=100_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "word " * 10_000})
        context = thread.context()
        margin = thread.report_usage(int(1.5 * context.tokens), context)
        assert margin == engine.margin > 0.3
        assert thread.context().budget < context.budget
        with pytest.raises(ConfigError):
            thread.report_usage(-1, context)
        with pytest.raises(ConfigError):
            thread.report_usage(float("nan"), context)  # type: ignore[arg-type]
    with Engine(url, window=100_000, load_plugins=False) as engine:
        assert engine.margin == margin
    with Engine(url, model="gpt-4o", load_plugins=False) as engine:
        assert engine.margin == 0.01, "another model"


def test_one_absurd_report_does_not_outweigh_the_others_and_one_of_nothing_is_none() -> None:
    with Engine("sqlite://", model="claude-opus-4-5", background=False, load_plugins=False) as engine:
        assert engine.calibration.report(10_000, 0) == 0.15
        for _ in range(9):
            engine.calibration.report(10_000, 11_000)
        before = engine.margin
        assert engine.calibration.report(10_000, 10**30) < before + 0.08
        assert engine.calibration.report(10_000, 1) < before + 0.05


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_older_reports_weigh_less_on_both_databases_and_a_correction_is_noted(kind: str, postgres: Server) -> None:
    with ExitStack() as opened:
        url = "sqlite://" if kind == "sqlite" else opened.enter_context(postgres.database())
        engine = opened.enter_context(Engine(url, window=8_000, background=False, load_plugins=False))
        assert engine.calibration.report(3_000_001, 3_000_001) == engine.margin
        before = engine.margin
        for _ in range(4):
            engine.calibration.report(3_000_001, 4_500_001)
        assert engine.margin > before + 0.2
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "The deposit for the Zanzibar villa is 340 EUR."}, compact=False)
        thread.append([{"role": "user", "content": f"Step {n}. " + "Go on. " * 60} for n in range(60)], compact=False)
        assert thread.compact().changed
        thread.append({"role": "user", "content": "No, what was the deposit for the villa in Zanzibar?"})
        assert ["340 EUR" in item.text for item in thread.context().items if item.kind == "recall"] == [True]
