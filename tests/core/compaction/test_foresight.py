"""What a compaction would do, told without doing it; and what each view changed, told afterwards."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from lossless import Engine, Thread
from lossless.cli.app import app
from lossless.dag.history import diff_views
from lossless.dag.segments import Hidden, Raw, SummaryRef, Tail
from lossless.dag.view import GENESIS, View
from lossless_scripts import Counting, honest

LONG = "The pipeline wrote 4,711 rows to /srv/out/a.csv and then stopped with code E17. " * 6


def fill(thread: Thread, turns: int) -> None:
    for turn in range(turns):
        thread.append({"role": "user", "content": f"Question {turn}: {LONG}"}, compact=False)
        thread.append({"role": "assistant", "content": f"Answer {turn}: {LONG}"}, compact=False)


def test_a_plan_calls_no_model_writes_nothing_and_comes_true() -> None:
    script = Counting(honest)
    with Engine("sqlite://", window=8_000, summarizer=script, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        fill(thread, 60)
        before = thread.views()
        plan = thread.plan()
        assert (script.calls, thread.views()) == (0, before)
        assert thread.plan() == plan
        assert plan.tokens > plan.soft
        assert plan.tokens_after <= plan.target
        first = plan.summaries[0]
        assert (first.kind, first.first_id, first.depth) == ("leaf", "m_1", 0)
        assert all(each.about < each.tokens for each in plan.summaries)
        assert any(each.kind == "condensed" for each in plan.summaries)
        result = thread.compact()
        assert result.tokens_before == plan.tokens
        assert result.changed
        done = thread.describe(result.summaries[0])
        assert done["messages"] == first.messages
        assert thread.plan().tokens == result.tokens_after


def test_a_plan_says_what_it_would_have_to_wait_for() -> None:
    with Engine("sqlite://", window=8_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        fill(thread, 14)
        thinking = {"type": "thinking", "thinking": "hm", "signature": "sig"}
        call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
        thread.append(
            [{"role": "user", "content": "Go."}, {"role": "assistant", "content": [thinking, call]}], format="anthropic"
        )
        assert "reasoning" in thread.plan(force=True).held


def test_each_view_says_what_it_changed() -> None:
    with Engine("sqlite://", window=8_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        fill(thread, 20)
        result = thread.compact()
        thread.delete(thread.messages()[-1].id)
        thread.undo()
        undone, deleted, compacted, first = thread.views(diff=True)
        assert first.diff is None
        assert compacted.diff is not None
        assert compacted.diff.summarised[0][0] == 1
        assert set(compacted.diff.summaries) <= set(result.summaries)
        assert deleted.diff is not None
        assert deleted.diff.hidden == ((40, 40),)
        assert deleted.diff.summarised == ()
        assert undone.diff is not None
        assert undone.diff.shown == ((40, 40),)
        assert thread.views()[0].diff is None
        assert thread.views(limit=1, diff=True) == [undone]


def test_ranges_are_compared_however_a_view_holds_them() -> None:
    split = View((Raw(1, 3, 0, 30), Hidden(4, 4), Raw(5, 6, 40, 60), Tail(7, 60)))
    assert diff_views(GENESIS, split, 10).hidden == ((4, 4),)
    assert diff_views(GENESIS, split, 10).summarised == ()
    assert diff_views(split, GENESIS, 10).shown == ((4, 4),)
    ref = SummaryRef("sum_1", 0, 10, 5)
    under = View((ref, Hidden(4, 4), Tail(7, 60)))
    assert diff_views(split, under, 10).summarised == ((1, 3), (5, 6))
    assert diff_views(under, split, 10).opened == ((1, 3), (5, 6))
    assert diff_views(under, split, 10).gone == ("sum_1",)


def test_the_command_line_tells_both(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with Engine(url, window=8_000, background=False, load_plugins=False) as engine:
        fill(engine.thread("t"), 20)
    runner = CliRunner()
    told = runner.invoke(app, ["compact", "t", "--dry-run", "--window", "8000", "--json", "--url", url])
    assert told.exit_code == 0, told.output
    plan = json.loads(told.stdout)
    assert plan["summaries"]
    assert runner.invoke(app, ["compact", "t", "--dry-run", "--window", "8000", "--url", url]).exit_code == 0
    assert json.loads(runner.invoke(app, ["views", "t", "--json", "--url", url]).stdout)["items"][0]["generation"] == 0
    assert runner.invoke(app, ["compact", "t", "--window", "8000", "--url", url]).exit_code == 0
    shown = runner.invoke(app, ["views", "t", "--diff", "--url", url])
    assert "summarised 1-" in shown.stdout
    assert "+ sum_" in shown.stdout
    items = json.loads(runner.invoke(app, ["context", "t", "--window", "8000", "--json", "--url", url]).stdout)["items"]
    assert sum(item["messages"] for item in items) == 40
