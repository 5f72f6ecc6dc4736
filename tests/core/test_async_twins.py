"""The async twins: the same methods, from any event loop."""

from __future__ import annotations

import asyncio
import inspect

import pytest

import lossless
from lossless.engine import Engine
from lossless.reading import Reading
from lossless.thread import Thread

NOT_TWINNED = {"thread"}  # it only makes a handle
KEYWORDS = {"sync": "async_", "wait": "await_"}
ENGINE_INSIDE = {"compact", "remaker", "key_of", "format_of", "knows_summary", "require_budget", "now"}  # what threads use


def public_methods(owner: type) -> set[str]:
    return {
        name
        for name, value in vars(owner).items()
        if inspect.isfunction(value) and not name.startswith("_") and not inspect.iscoroutinefunction(value)
    }


@pytest.mark.parametrize(("owner", "inside"), [(Thread, set()), (Reading, set()), (Engine, ENGINE_INSIDE)])
def test_every_public_method_has_an_async_twin_with_the_same_signature(owner: type, inside: set[str]) -> None:
    methods = public_methods(owner) - inside - NOT_TWINNED
    assert methods
    for name in methods:
        twin = getattr(owner, KEYWORDS.get(name, f"a{name}"))
        assert inspect.iscoroutinefunction(twin)
        assert inspect.signature(twin) == inspect.signature(getattr(owner, name))


def test_many_tasks_append_and_lose_nothing(url: str) -> None:
    async def main() -> None:
        async with lossless.Engine(url, window=4_000) as engine:
            thread = engine.thread("t")
            await asyncio.gather(*(thread.aappend({"role": "user", "content": f"note {n}"}) for n in range(200)))
            messages = await thread.amessages()
            assert sorted(message.seq for message in messages) == list(range(1, 201))
            assert {message.text for message in messages} == {f"note {n}" for n in range(200)}
            assert (await engine.averify()).ok
            assert await thread.await_(30)

    asyncio.run(main())


def test_one_engine_serves_several_event_loops(url: str) -> None:
    with lossless.Engine(url) as engine:
        for n in range(3):
            asyncio.run(engine.thread("t").aappend({"role": "user", "content": str(n)}))
        assert [message.text for message in engine.thread("t").messages()] == ["0", "1", "2"]


def test_a_cancelled_append_is_whole_or_not_there_and_leaves_no_lock(url: str) -> None:
    async def main(engine: Engine) -> None:
        thread = engine.thread("t")
        tasks = [
            asyncio.create_task(thread.aappend([{"role": "user", "content": f"{n}.{part}"} for part in range(5)]))
            for n in range(100)
        ]
        await asyncio.sleep(0.01)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await thread.aappend({"role": "user", "content": "after"})

    with lossless.Engine(url) as engine:
        asyncio.run(main(engine))
        texts = [message.text for message in engine.thread("t").messages()]
        assert len(set(texts)) == len(texts)
        whole = {text.split(".")[0] for text in texts if "." in text}
        assert all(f"{n}.{part}" in texts for n in whole for part in range(5))
        assert {str(n) for n in range(1, 100, 2)} <= whole
        assert engine.verify().ok


def test_errors_cross_over_unchanged(url: str) -> None:
    with lossless.Engine(url) as engine, pytest.raises(lossless.LosslessError, match="no thread"):
        asyncio.run(engine.averify("nobody"))
