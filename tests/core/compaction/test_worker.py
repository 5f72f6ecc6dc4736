"""The background worker, and calls to summarizers on threads of their own."""

from __future__ import annotations

import threading
import time

import pytest

from lossless.compaction.control import decide_action
from lossless.compaction.worker import Worker
from lossless.context.budget import Budget


def test_jobs_of_one_key_that_wait_are_run_once() -> None:
    worker, gate, ran = Worker(), threading.Event(), []
    worker.schedule("other", gate.wait)
    for number in range(5):
        worker.schedule("key", lambda number=number: ran.append(number))
    gate.set()
    assert worker.wait("key", 5)
    assert ran == [4]
    worker.close(wait=True)


def test_a_job_scheduled_while_one_of_its_key_runs_is_run_after_it() -> None:
    worker, started, gate, ran = Worker(), threading.Event(), threading.Event(), []

    def first() -> None:
        started.set()
        gate.wait()
        ran.append("first")

    worker.schedule("key", first)
    assert started.wait(5)
    worker.schedule("key", lambda: ran.append("second"))
    gate.set()
    assert worker.wait("key", 5)
    assert ran == ["first", "second"]
    worker.close(wait=True)


def test_jobs_that_wait_for_a_model_run_beside_each_other_but_never_two_of_one_key() -> None:
    worker, gate, running = Worker(lambda: True), threading.Event(), []
    for name in ("slow", "slow", "other"):
        worker.schedule(name, lambda name=name: (running.append(name), gate.wait(5)))
        time.sleep(0.05)
    assert sorted(running) == ["other", "slow"]
    gate.set()
    assert worker.wait("slow", 5)
    assert worker.wait("other", 5)
    assert sorted(running) == ["other", "slow", "slow"]
    worker.close(wait=True)


def test_jobs_that_only_compute_run_one_after_the_other() -> None:
    worker, gate, running = Worker(), threading.Event(), []
    for name in ("one", "two"):
        worker.schedule(name, lambda name=name: (running.append(name), gate.wait(5)))
    time.sleep(0.05)
    assert running == ["one"]
    gate.set()
    worker.close(wait=True)
    assert running == ["one", "two"]


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(1), KeyboardInterrupt()])
def test_a_job_that_fails_harms_no_other(error: BaseException) -> None:
    worker, ran = Worker(), []

    def fail() -> None:
        raise error

    worker.schedule("broken", fail)
    assert worker.wait("broken", 5)
    worker.schedule("good", lambda: ran.append("good"))
    assert worker.wait("good", 5)
    assert ran == ["good"]
    worker.close(wait=True)


def test_waiting_ends_when_its_time_is_up() -> None:
    worker, gate = Worker(), threading.Event()
    worker.schedule("key", gate.wait)
    assert not worker.wait("key", 0.05)
    gate.set()
    assert worker.wait("key", 5)
    worker.close(wait=True)


def test_closing_finishes_what_waits_or_drops_it() -> None:
    kept, dropped = [], []
    worker = Worker()
    worker.schedule("key", lambda: (time.sleep(0.05), kept.append(1)))
    worker.schedule("next", lambda: kept.append(2))
    worker.close(wait=True)
    assert kept == [1, 2]
    worker, gate = Worker(), threading.Event()
    worker.schedule("key", gate.wait)
    worker.schedule("next", lambda: dropped.append(1))
    worker.close(wait=False)
    gate.set()
    assert worker.wait("key", 5)
    assert worker.wait("next", 5)
    assert dropped == []
    worker.schedule("late", lambda: dropped.append(2))
    assert worker.wait("late", 5)
    assert dropped == []


def test_the_control_loop_waits_only_above_hard() -> None:
    limits = Budget(window=10_000).limits()
    assert decide_action(limits.soft, limits, background=True, undone=False) == "nothing"
    assert decide_action(limits.soft + 1, limits, background=True, undone=False) == "background"
    assert decide_action(limits.soft + 1, limits, background=False, undone=False) == "nothing"
    assert decide_action(limits.soft + 1, limits, background=True, undone=True) == "nothing"
    assert decide_action(limits.hard, limits, background=True, undone=False) == "background"
    for background in (True, False):
        assert decide_action(limits.hard + 1, limits, background=background, undone=True) == "now"
