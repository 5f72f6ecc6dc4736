"""LangGraph's own conformance suite for checkpointers, and the same through the sync methods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate

from lossless_langgraph import LosslessSaver


class ThroughSyncMethods(BaseCheckpointSaver[str]):
    """A saver whose async methods call the sync ones."""

    def __init__(self, saver: LosslessSaver) -> None:
        super().__init__()
        self.saver = saver

    async def aget_tuple(self, config: Any) -> Any:
        return self.saver.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[Any]:
        for one in self.saver.list(config, **options):
            yield one

    async def aput(self, *given: Any) -> Any:
        return self.saver.put(*given)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.saver.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        self.saver.delete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Any) -> None:
        self.saver.delete_for_runs(run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.saver.copy_thread(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
        self.saver.prune(thread_ids, strategy=strategy)


@pytest.mark.parametrize("through", [lambda saver: saver, ThroughSyncMethods], ids=["async", "sync"])
def test_every_capability_is_there_and_conforms(saver: LosslessSaver, through: Any) -> None:
    @checkpointer_test(name="LosslessSaver")
    async def made() -> Any:
        yield through(saver)

    report = asyncio.run(validate(made))
    results = report.results
    assert {name for name, one in results.items() if not one.detected} == set()
    assert {name: one.failures for name, one in results.items() if not one.passed} == {}
    assert len(results) == 8
