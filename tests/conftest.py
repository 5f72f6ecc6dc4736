"""Databases that tests share: a URL of an empty SQLite database, of an empty PostgreSQL database, or of one after the other.

And how tests are run: the whole suite on all cores, some of it in one process; property tests without a time limit an example,
which a busy machine would not keep.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from lossless import AesGcmCipher
from lossless.store import blobs
from lossless.store.connection import Database, open_database
from lossless_postgres import Server, ServerAbsentError, shared_server

settings.register_profile("lossless", deadline=None)
settings.load_profile("lossless")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite on all cores; whoever names some of it is served sooner by the one process that is there."""
    if "PYTEST_XDIST_WORKER" in os.environ:  # one of those processes itself
        return
    options = config.option
    alone = config.args_source is pytest.Config.ArgsSource.ARGS or options.usepdb or options.collectonly
    if not alone and config.pluginmanager.hasplugin("xdist") and options.numprocesses is None and options.dist == "no":
        options.numprocesses = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        options.dist = "worksteal"


def pytest_collection_finish() -> None:
    """Leave what is imported by now out of every later search for garbage: with all frameworks, a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres() -> Server:
    """The PostgreSQL server of this run."""
    try:
        return shared_server()
    except ServerAbsentError as absent:
        pytest.skip(str(absent))


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """A database of the server without rows."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def bare_url(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Iterator[str]:
    """A database of each kind without tables."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'bare.db'}"
        return
    server: Server = request.getfixturevalue("postgres")
    with server.database(migrated=False) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kinds of databases, one after the other."""
    return str(request.param)


@pytest.fixture
def url(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> str:
    """A database of each kind without rows."""
    if kind == "sqlite":
        return f"sqlite:///{tmp_path / 'own.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def payloads_in_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compressed, so that what was stored can be looked for in the files."""
    monkeypatch.setattr(blobs, "_FROM", blobs.LARGEST)
    monkeypatch.setattr(blobs, "_TRAINED_UP_TO", blobs.LARGEST)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests marked ``also_sealed`` a second time, every engine given a cipher; property tests have machines for that."""
    marked = metafunc.definition.get_closest_marker("also_sealed") is not None
    if marked and not getattr(metafunc.function, "is_hypothesis_test", False):
        metafunc.fixturenames.insert(0, "sealing")
        metafunc.parametrize("sealing", ["clear", "sealed"], indirect=True)


@pytest.fixture
def sealing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the engines of a test encrypt, though it does not say so."""
    if request.param == "sealed":
        cipher = AesGcmCipher("c1" * 32)

        def sealing_database(url: str, **options: Any) -> Database:
            return open_database(url, **{**options, "cipher": options.get("cipher") or cipher})

        monkeypatch.setattr("lossless.engine.open_database", sealing_database)
    return str(request.param)
