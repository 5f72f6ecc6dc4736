"""One engine under any sequence of operations: after every step, everything that DESIGN promises of a thread holds."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from hypothesis import settings

from lossless import AesGcmCipher
from lossless_postgres import Server
from lossless_states import BOUNDED, Threads


class TestAnySequenceOfOperations(Threads.TestCase):  # type: ignore[misc,valid-type]
    """The bounded run of the normal suite."""


class LongThreads(Threads):
    """The same, for longer."""


LongThreads.TestCase.settings = settings(BOUNDED, max_examples=400, stateful_step_count=60)


class PostgresThreads(Threads):
    """The same, on PostgreSQL: in one database, a namespace for each example."""

    url_of_run = ""

    def database(self) -> tuple[str, str]:
        return self.url_of_run, uuid.uuid4().hex


PostgresThreads.TestCase.settings = settings(BOUNDED, max_examples=4, stateful_step_count=15)


class SealedThreads(Threads):
    """The same, encrypted."""

    cipher = AesGcmCipher("5a" * 32)


SealedThreads.TestCase.settings = settings(BOUNDED, max_examples=6, stateful_step_count=15)


class TestAnySequenceOfOperationsWithACipher(SealedThreads.TestCase):  # type: ignore[misc,valid-type]
    """The bounded run of the normal suite."""


class SealedPostgresThreads(PostgresThreads):
    """The same, encrypted, on PostgreSQL."""

    cipher = AesGcmCipher("5a" * 32)


SealedPostgresThreads.TestCase.settings = settings(BOUNDED, max_examples=2, stateful_step_count=12)


@pytest.mark.usefixtures("_postgres_for_states")
class TestAnySequenceOfOperationsWithACipherOnPostgres(SealedPostgresThreads.TestCase):  # type: ignore[misc,valid-type]
    """The bounded run of the normal suite."""


@pytest.mark.usefixtures("_postgres_for_states")
class TestAnySequenceOfOperationsOnPostgres(PostgresThreads.TestCase):  # type: ignore[misc,valid-type]
    """The bounded run of the normal suite."""


@pytest.fixture(scope="module")
def _postgres_for_states(postgres: Server) -> Iterator[None]:
    with postgres.database() as url:
        PostgresThreads.url_of_run = url
        yield


TestAnyLongSequenceOfOperations = pytest.mark.slow(pytest.mark.timeout(3_600)(LongThreads.TestCase))
