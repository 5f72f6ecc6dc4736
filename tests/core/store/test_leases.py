"""Leases: one holder at a time, across processes; a dead one's lease ends by itself."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from lossless.store import times
from lossless.store.connection import open_database
from lossless.store.database import Database
from lossless.store.keys import ThreadKey
from lossless.store.leases import forget_holder, holder_name, release_lease, take_lease
from lossless_postgres import Server

KEY = ThreadKey("default", "t")
OTHER_MACHINE = "elsewhere.example/1/0"


def database_of(kind: str, server: Server) -> tuple[Database, object]:
    if kind == "sqlite":
        return open_database("sqlite://"), None
    made = server.database()
    return open_database(made.__enter__()), made


def take(
    database: Database, holder: str, *, now: int = 0, seconds: float = 10, work: str = "compaction", key: ThreadKey = KEY
) -> bool:
    return database.write(lambda connection: take_lease(connection, key, work, holder, now, seconds))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_lease_has_one_holder_until_it_ends_or_is_given_back(kind: str, postgres: Server) -> None:
    database, made = database_of(kind, postgres)
    try:
        assert take(database, OTHER_MACHINE)
        assert take(database, OTHER_MACHINE, now=5_000_000), "its holder may hold it longer"
        assert not take(database, "elsewhere.example/2/0", now=14_000_000)
        assert take(database, "elsewhere.example/2/0", now=14_000_000, work="other work")
        assert take(database, "elsewhere.example/2/0", now=14_000_000, key=ThreadKey("default", "other"))
        assert take(database, "elsewhere.example/2/0", now=14_000_000, key=ThreadKey("tenant", "t"))
        assert take(database, "elsewhere.example/2/0", now=15_000_000), "it has ended"
        database.write(lambda connection: release_lease(connection, KEY, "compaction", OTHER_MACHINE))
        assert not take(database, OTHER_MACHINE, now=15_000_000), "what is another's can't be given back"
        database.write(lambda connection: release_lease(connection, KEY, "compaction", "elsewhere.example/2/0"))
        assert take(database, OTHER_MACHINE, now=15_000_000)
    finally:
        database.close()
        if made is not None:
            made.__exit__(None, None, None)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_lease_does_not_last_for_ever_because_the_clock_went_back(kind: str, postgres: Server) -> None:
    day = 24 * 3600 * 1_000_000
    database, made = database_of(kind, postgres)
    try:
        assert take(database, OTHER_MACHINE, now=day + 10_000_000)
        assert not take(database, "elsewhere.example/2/0", now=day), "a clock of another machine may be behind by this much"
        assert not take(database, "elsewhere.example/2/0", now=day + 19_000_000)
        assert take(database, "elsewhere.example/2/0", now=0), "no lease lasts for a day"
        assert not take(database, OTHER_MACHINE, now=0)
        assert take(database, OTHER_MACHINE, now=10_000_000)
    finally:
        database.close()
        if made is not None:
            made.__exit__(None, None, None)  # type: ignore[attr-defined]


def test_the_lease_of_a_process_of_this_machine_that_is_gone_is_taken_over_at_once() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    database = open_database("sqlite://")
    now = times.now()
    assert take(database, f"{platform.node()}/{ended.pid}/x", now=now)
    assert take(database, holder_name(), now=now)
    assert not take(database, OTHER_MACHINE, now=now)
    database.close()


def test_the_lease_of_a_holder_that_is_no_more_is_taken_over_at_once_although_a_process_has_its_id() -> None:
    database = open_database("sqlite://")
    one, other, now = holder_name(), holder_name(), times.now()
    before_a_restart = f"{platform.node()}/{os.getpid()}/of a process that had the same id"
    assert take(database, before_a_restart, now=now)
    assert take(database, one, now=now)
    assert not take(database, other, now=now)
    forget_holder(one)
    assert take(database, other, now=now)
    database.close()


def test_names_of_holders_are_their_own() -> None:
    assert holder_name() != holder_name()
    assert f"/{os.getpid()}/" in holder_name()
