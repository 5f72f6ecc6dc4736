"""Handles on one thread: each may have a budget of its own."""

from __future__ import annotations

import pytest

from lossless import Budget, Engine
from lossless.errors import ConfigError


def test_a_handle_may_have_a_budget_of_its_own() -> None:
    with Engine("sqlite://") as engine:
        plain = engine.thread("t")
        small = engine.thread("t", budget=Budget(window=2_000))
        large = engine.thread("t", budget=Budget(window=200_000))
        for number in range(40):
            plain.append({"role": "user", "content": f"Fact {number} costs {number} EUR. " + "words " * 60})
        assert plain.views(limit=9)[0].why == "created"
        small.append({"role": "user", "content": "and now?"})
        small.wait()
        assert small.compact().status in ("done", "nothing")
        assert small.context().tokens <= small.context().budget < 2_000
        assert len(large.context().messages) < 40, "the handles share one thread"
        with pytest.raises(ConfigError, match="window"):
            plain.context()
        with pytest.raises(ConfigError, match="window"):
            plain.branch().context()
        assert small.branch().context().budget < 2_000


def test_a_compaction_that_nobody_asked_for_is_not_taken_back_by_undo() -> None:
    with Engine("sqlite://", window=2_000, background=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": f"Fact {n}. " + "words " * 60} for n in range(18)], compact=False)
        assert thread.compact(by_hand=False).changed
        assert not thread.undo()
        thread.append([{"role": "user", "content": f"Fact {n}. " + "words " * 60} for n in range(18)], compact=False)
        assert thread.compact().changed
        assert thread.undo()


def test_dicts_of_another_format_may_be_appended_to_a_thread_of_langchain_messages() -> None:
    with Engine("sqlite://") as engine:
        thread = engine.thread("t")
        thread.append({"type": "human", "data": {"content": "hi"}}, format="langchain")
        thread.append([{"role": "assistant", "content": "yo"}, {"type": "human", "data": {"content": "again"}}])
        assert [(one.format, one.role, one.text) for one in thread.messages()] == [
            ("langchain/1", "user", "hi"),
            ("openai/1", "assistant", "yo"),
            ("langchain/1", "user", "again"),
        ]
