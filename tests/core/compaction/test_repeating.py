"""A forced compaction does all that it can: the same call again finds nothing to do."""

from __future__ import annotations

from typing import Any

import lossless


def user(words: int) -> dict[str, Any]:
    return {"role": "user", "content": "The crate holds pears. " * (words // 5)}


def test_a_late_result_in_the_fresh_tail_leaves_nothing_for_a_second_forced_compaction() -> None:
    # The tail of 1 200 tokens ends between the call and its late answer, until what stands between them is summarised.
    call = {"id": "call", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        user(20),
        {"role": "assistant", "content": "I look into every crate. " * 115, "tool_calls": [call]},
        user(580),
        user(570),
        {"role": "assistant", "content": "Still looking. " * 20},
        {"role": "tool", "tool_call_id": "call", "content": "Pears."},
        user(40),
    ]
    with lossless.Engine("sqlite://", window=8_000, background=False) as engine:
        thread = engine.thread("t")
        thread.append(messages, compact=False)
        assert thread.compact(force=True).changed
        shown = thread.context().messages
        again = thread.compact(force=True)
        assert (again.changed, again.model_calls) == (False, 0)
        assert thread.context().messages == shown
