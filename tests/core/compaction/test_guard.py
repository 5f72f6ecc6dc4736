"""The guard: a model that is down is left alone, and no more is spent than allowed, by any number of processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lossless import Answer, Engine, SpendLimit, SummarizeRequest, Thread, Usage, hookimpl
from lossless.compaction.guard import over_limit
from lossless.errors import ConfigError
from lossless.store.spending import Spent
from lossless.summarizers.calling import SummarizerError, route_of
from lossless.tokens import ModelInfo
from lossless_postgres import Server
from lossless_scripts import Counting, honest


def down(request: SummarizeRequest) -> str:
    raise ConnectionError("the model is down")


class Clock:
    """A clock that a test sets."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def engine_with(summarizer: Any, url: str = "sqlite://", **options: Any) -> Engine:
    options = {"window": 4_000, "background": False, "load_plugins": False, **options}
    engine = Engine(url, summarizer=summarizer, **options)
    engine.guard._clock = Clock()  # type: ignore[attr-defined]
    return engine


def talk(thread: Thread, turns: int, *, words: int = 40, begin: int = 0) -> None:
    for number in range(begin, begin + turns):
        role = "assistant" if number % 2 else "user"
        thread.append({"role": role, "content": f"Order A-{number} costs {number + 3} EUR. " + "word " * words})
        thread.wait(30)


class Events:
    """A plugin that keeps the events of some names."""

    def __init__(self, *names: str) -> None:
        self.names, self.seen = names, []

    @hookimpl
    def lossless_event(self, event: dict[str, Any]) -> None:
        if event["name"] in self.names:
            self.seen.append(event)


def test_six_hundred_appends_with_a_dead_model_make_a_handful_of_calls() -> None:
    script, events = Counting(down), Events("breaker.opened", "degraded")
    with engine_with(script, background=True, plugins=[events]) as engine:
        thread = engine.thread("t")
        talk(thread, 600)
        assert script.calls == 3
        assert thread.context().status == "ok"
    names = [event["name"] for event in events.seen]
    assert names.count("breaker.opened") == 1
    assert "degraded" in names


def test_a_probe_finds_that_the_model_is_back() -> None:
    answers: list[Callable[[SummarizeRequest], Any]] = [down]
    script, events = Counting(lambda request: answers[0](request)), Events("breaker.opened", "breaker.closed")
    with engine_with(script, background=True, plugins=[events]) as engine:
        clock, thread = engine.guard._clock, engine.thread("t")  # type: ignore[attr-defined]
        talk(thread, 120)
        route = route_of(script)
        assert (engine.guard.phase(route), engine.guard.permits(route)) == ("open", False)
        clock.now += engine.guard.seconds_until(route)
        assert engine.guard.phase(route) == "half_open"
        answers[0] = honest
        talk(thread, 60, begin=120)
        assert engine.guard.phase(route) == "closed"
        newest = [thread.describe(item.id) for item in thread.context().items if item.kind == "summary"][-1]
        assert not newest["degraded"]
    assert [event["name"] for event in events.seen] == ["breaker.opened", "breaker.closed"]


def test_a_compaction_by_hand_calls_a_model_that_is_left_alone_and_gives_up_in_time() -> None:
    script = Counting(down)
    with engine_with(script) as engine:
        thread = engine.thread("t")
        for number in range(200):
            thread.append({"role": "user", "content": f"{number} " + "word " * 60}, compact=False)
        thread.compact(force=True)
        assert script.calls == 3
        assert not engine.guard.permits(route_of(script))
        for number in range(200):
            thread.append({"role": "user", "content": f"again {number} " + "word " * 60}, compact=False)
        assert thread.compact(force=True).model_calls == 3


@pytest.mark.parametrize("kind", ["echo_twice", "empty", "refusing", "none"])
def test_answers_that_are_never_any_good_open_the_breaker_too(kind: str) -> None:
    script = Counting(kind)
    with engine_with(script, background=True) as engine:
        talk(engine.thread("t"), 80, words=100)
        assert 0 < script.calls <= 6
        assert not engine.guard.permits(script.route)


def test_the_model_is_asked_while_it_answers_now_and_then() -> None:
    script = Counting(lambda request: honest(request) if script.calls % 2 else down(request))
    with engine_with(script, background=True) as engine:
        thread = engine.thread("t")
        talk(thread, 60, words=100)
        assert engine.guard.phase(route_of(script)) == "closed"
        assert script.calls > 6


# Spending


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'spend.db'}"
        return
    server: Server = request.getfixturevalue("postgres")
    with server.database() as url:
        yield url


def test_a_limit_on_tokens_holds_for_the_namespace_and_after_a_restart(url: str) -> None:
    limit = SpendLimit(hour_tokens=6_000)
    script, events = Counting(honest), Events("spend.refused")
    for run in range(3):
        with engine_with(script, url, spend_limit=limit, plugins=[events]) as engine:
            thread = engine.thread(f"t{run}")
            talk(thread, 60, words=200)
            spent = engine.spent()
            assert spent.calls == script.calls
            assert 3_000 < spent.tokens <= 6_000
            calls = script.calls
            thread.compact(force=True)
            assert script.calls == calls, "not even by hand"
    assert events.seen


def test_a_limit_for_a_thread_leaves_other_threads_alone() -> None:
    script = Counting(honest)
    with engine_with(script, spend_limit=SpendLimit(thread_tokens=5_000)) as engine:
        for name in ("a", "b"):
            talk(engine.thread(name), 50, words=200)
            assert 2_000 < engine.spent(name).tokens <= 5_000
        assert engine.spent().tokens == engine.spent("a").tokens + engine.spent("b").tokens


class Priced:
    """A summarizer that says which model it calls, and what that took."""

    models = ("acme-1",)

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, request: SummarizeRequest) -> Answer:
        self.calls += 1
        usage = Usage(calls=1, input_tokens=1_000, cached_tokens=400, output_tokens=100)
        return Answer(text=honest(request), model="acme-1", usage=usage)


class Prices:
    """A plugin that knows a model's prices."""

    @hookimpl
    def lossless_models(self) -> list[ModelInfo]:
        return [ModelInfo(name="acme-1", window=8_000, input_price=10.0, output_price=40.0, cached_price=1.0)]


def test_cost_and_tokens_are_told_by_result_event_summary_and_engine() -> None:
    script, events = Priced(), Events("compaction.finished")
    with engine_with(script, plugins=[Prices(), events]) as engine:
        thread = engine.thread("t")
        for number in range(120):
            thread.append({"role": "user", "content": f"Order A-{number} costs {number} EUR. " + "word " * 40}, compact=False)
        result = thread.compact()
        each = (600 * 10 + 400 * 1 + 100 * 40) / 1_000_000
        assert result.usage.calls == result.model_calls == script.calls > 1
        assert result.usage.cost == pytest.approx(each * script.calls)
        assert result.usage.cached_tokens == 400 * script.calls
        assert events.seen[-1]["usage"]["cost"] == result.usage.cost
        assert engine.spent("t").cost == pytest.approx(result.usage.cost)
        leaf = thread.describe(result.summaries[0])["usage"]
        assert (leaf["calls"], leaf["input_tokens"], leaf["cost"]) == (1, 1_000, pytest.approx(each))
        assert thread.describe(thread.messages()[-1].id).get("usage") is None


def test_a_limit_on_money_needs_a_price_and_holds_with_one() -> None:
    with engine_with(Counting(honest), spend_limit=SpendLimit(hour_cost=1.0)) as engine:
        talk(engine.thread("t"), 80)
        assert engine.spent() == Usage(cost=0.0)
    script = Priced()
    with engine_with(script, spend_limit=SpendLimit(thread_cost=0.10), plugins=[Prices()]) as engine:
        talk(engine.thread("t"), 60, words=200)
        assert script.calls >= 3
        assert (engine.spent().cost or 0.0) <= 0.10 + 0.0104  # what a call takes is known when it is over


@pytest.mark.parametrize("fails", [False, True])
def test_a_limit_on_money_holds_where_nobody_says_which_model_it_was(fails: bool) -> None:
    class Silent(Priced):
        def __call__(self, request: SummarizeRequest) -> str:  # type: ignore[override]
            self.calls += 1
            if fails:
                raise SummarizerError("cut off", usage=Usage(calls=1, input_tokens=1_000, output_tokens=100))
            return honest(request)

    script = Silent()
    with engine_with(script, spend_limit=SpendLimit(thread_cost=0.02), plugins=[Prices()]) as engine:
        thread = engine.thread("t")
        for run in range(3):
            talk(thread, 24, words=200, begin=24 * run)
            thread.compact(force=True)
        assert script.calls >= 1
        assert 0.01 < (engine.spent().cost or 0.0) <= 0.03


def test_many_writers_at_once_stay_under_a_limit(url: str) -> None:
    limit = SpendLimit(hour_tokens=1_000)
    planned = Usage(calls=1, input_tokens=30, output_tokens=5)
    refused: list[str | None] = []
    with engine_with(None, url, spend_limit=limit) as one, engine_with(None, url, spend_limit=limit) as other:

        def spend(engine: Engine) -> None:
            for _ in range(10):
                refused.append(engine.guard.reserve("t", planned))

        writers = [threading.Thread(target=spend, args=(engine,)) for engine in (one, other) for _ in range(3)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert one.spent().tokens == 28 * 35
    assert refused.count(None) == 28


def test_a_call_that_never_came_back_counts_as_it_was_planned() -> None:
    with engine_with(None, spend_limit=SpendLimit(hour_tokens=100)) as engine:
        planned = Usage(calls=1, input_tokens=60, output_tokens=10)
        assert engine.guard.reserve("t", planned) is None
        engine.guard.settle("t", planned, None)
        assert engine.spent().tokens == 70
        assert "100 tokens within an hour" in (engine.guard.reserve("t", planned) or "")


def test_the_decision_names_the_limit_that_would_be_passed() -> None:
    limit = SpendLimit(hour_tokens=10, thread_cost=0.5)
    assert over_limit(limit, Spent(input_tokens=10), Spent(cost=500_000)) is None
    assert "10 tokens within an hour" in (over_limit(limit, Spent(input_tokens=11), Spent()) or "")
    assert "0.5 US dollars for this thread" in (over_limit(limit, Spent(), Spent(cost=500_001)) or "")


@pytest.mark.parametrize("value", [-1, float("nan")])
def test_a_limit_below_zero_is_refused(value: float) -> None:
    with pytest.raises(ConfigError, match="hour_cost"):
        SpendLimit(hour_cost=value)


def test_a_limit_of_nothing_means_no_calls_at_all() -> None:
    script = Counting(honest)
    with engine_with(script, spend_limit=SpendLimit(hour_tokens=0)) as engine:
        talk(engine.thread("t"), 80)
        assert script.calls == 0
        assert engine.thread("t").context().status == "ok"
