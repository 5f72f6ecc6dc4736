"""What a result says is true, and an operation takes no more model calls and no more time than it may."""

from __future__ import annotations

import pytest

from lossless import Engine
from lossless.compaction.compactor import Effort
from lossless_invariants import view_bytes
from lossless_scripts import Counting, honest

LINE = "The harbour master signed for the crates of berth {n} at noon, and nobody objected to the weight. "


@pytest.mark.parametrize(("calls", "messages", "size"), [(2, 13, 1), (4, 9, 1), (4, 13, 1), (6, 9, 1), (6, 13, 2), (8, 7, 2)])
def test_lines_that_complete_open_calls_may_leave_no_room_for_what_was_compacted(calls: int, messages: int, size: int) -> None:
    with Engine("sqlite://", window=500, policy="lossy", background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        said = [{"role": "assistant" if n % 2 else "user", "content": LINE.format(n=n) * size} for n in range(messages)]
        looks = [{"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}} for n in range(calls)]
        thread.append([*said, {"role": "assistant", "content": "I look.", "tool_calls": looks}], compact=False)
        before = view_bytes(thread.context())
        result = thread.compact()
        assert result.summaries
        assert result.changed is (view_bytes(thread.context()) != before)
        assert thread.compact().changed is False


def test_it_was_compacted_all_the_same_and_can_be_taken_back() -> None:
    with Engine("sqlite://", window=500, policy="lossy", background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        said = [{"role": "assistant" if n % 2 else "user", "content": LINE.format(n=n) * 2} for n in range(9)]
        looks = [{"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}} for n in range(6)]
        thread.append([*said, {"role": "assistant", "content": "I look.", "tool_calls": looks}], compact=False)
        result = thread.compact()
        assert (result.changed, result.tokens_after < result.tokens_before) == (False, True)
        assert [record.why for record in thread.views()] == ["compaction", "created"]
        assert thread.undo()


@pytest.mark.parametrize(
    ("model", "seconds", "calls", "most"),
    [(True, 60.0, 3, 3), (True, 60.0, 0, 0), (True, 0.0, 9, 0), (False, 0.0, 9, 0)],
    ids=["calls", "no calls", "no time", "no time and no model"],
)
def test_an_operation_ends_when_its_calls_or_its_time_are_used_up_and_the_next_one_goes_on(
    model: bool, seconds: float, calls: int, most: int
) -> None:
    script = Counting(honest)
    with Engine("sqlite://", window=2_000, summarizer=script if model else None, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        said = [{"role": "assistant" if n % 2 else "user", "content": LINE.format(n=n) * 2} for n in range(160)]
        thread.append(said, compact=False)
        limits = engine.require_budget().limits(engine.margin)
        result = engine.compact(engine.key_of("t"), limits, 32, Effort(seconds=seconds, calls=calls, patience=1.0))
        assert (result.status, result.reason) == ("partial", "time or model calls were used up")
        assert result.model_calls == script.calls == most
        assert bool(result.summaries) is (most > 0)
        assert thread.compact().summaries
        assert thread.context().status == "ok"
