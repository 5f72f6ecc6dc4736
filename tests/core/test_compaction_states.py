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
    return type(f"With_{kind}", (Kinds,), {"kind": kind, "url_of_run": url})


def run(kind: str, url: str = "", *, examples: int, steps: int) -> None:
    quiet = [*BOUNDED.suppress_health_check, HealthCheck.differing_executors]
    chosen = settings(BOUNDED, max_examples=examples, stateful_step_count=steps, suppress_health_check=quiet)
    run_state_machine_as_test(machine(kind, url), settings=chosen)


def take_turns(seconds: float, url: str = "") -> int:
    """Give each kind of model a short run, one after the other, for so long; give how many runs that were."""
    end, done = time.monotonic() + seconds, 0
    start = int(time.time()) % len(KINDS)  # not always the same ones first
    while time.monotonic() < end:
        run(KINDS[(start + done) % len(KINDS)], url, examples=1, steps=12)
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
    run(kind, examples=50, steps=40)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("kind", KINDS)
def test_two_hundred_steps_with_a_kind_of_model_on_postgres(kind: str, postgres_of_module: str) -> None:
    run(kind, postgres_of_module, examples=8, steps=25)
