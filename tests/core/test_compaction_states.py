"""Random conversations, budgets and models, one kind of model at a time: after every step, everything that is promised holds.

The normal suite runs for a fixed time; ``-m slow`` runs 2 000 steps for each kind of model. ``LOSSLESS_KINDS`` names some.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from lossless.testing import SCRIPTS
from lossless_postgres import Server
from lossless_states import BOUNDED, Threads

KINDS = tuple(os.environ.get("LOSSLESS_KINDS", "").split()) or tuple(SCRIPTS)
SECONDS = 10.0
"""What the normal suite spends on SQLite; on PostgreSQL half of it."""


class Kinds(Threads):
    """The machine with a model of one kind, on PostgreSQL where a URL is given."""

    url_of_run = ""

    def database(self) -> tuple[str, str]:
        return (self.url_of_run, uuid.uuid4().hex) if self.url_of_run else super().database()


def machine(kind: str, url: str = "") -> type[Kinds]:
    return type(f"With_{kind}", (Kinds,), {"kind": kind, "url_of_run": url, "taken": 0})


def run(kind: str, url: str = "", *, steps: int, at_once: int) -> None:
    """Take so many steps at least, counted and not only allowed, so many ``at_once`` in a thread."""
    quiet = [*BOUNDED.suppress_health_check, HealthCheck.differing_executors]
    threads = machine(kind, url)
    while threads.taken < steps:
        examples = -(-(steps - threads.taken) // at_once)
        chosen = settings(BOUNDED, max_examples=examples, stateful_step_count=at_once, suppress_health_check=quiet)
        run_state_machine_as_test(threads, settings=chosen)
    print(f"{kind}: {threads.taken} steps")  # shown by pytest -s


def take_turns(seconds: float, url: str = "") -> int:
    """Give each kind of model a short run, one after the other, for so long; give how many runs that were."""
    end, done = time.monotonic() + seconds, 0
    start = int(time.time()) % len(KINDS)  # not always the same ones first
    while time.monotonic() < end:
        run(KINDS[(start + done) % len(KINDS)], url, steps=1, at_once=12)
        done += 1
    return done


def test_whatever_the_model_everything_holds() -> None:
    assert take_turns(SECONDS) > 0


def test_whatever_the_model_everything_holds_on_postgres(postgres: Server) -> None:
    with postgres.database() as url:
        assert take_turns(SECONDS / 2, url) > 0


@pytest.fixture(scope="module")
def postgres_of_module(postgres: Server) -> Iterator[str]:
    with postgres.database() as url:
        yield url


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("kind", KINDS)
def test_two_thousand_steps_with_a_kind_of_model(kind: str) -> None:
    run(kind, steps=2_000, at_once=40)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("kind", KINDS)
def test_two_hundred_steps_with_a_kind_of_model_on_postgres(kind: str, postgres_of_module: str) -> None:
    run(kind, postgres_of_module, steps=200, at_once=25)
