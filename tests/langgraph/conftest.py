"""A saver on each kind of database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest

from lossless import Engine
from lossless_langgraph import LosslessSaver


@pytest.fixture
def saver(url: str) -> Iterator[LosslessSaver]:
    """A saver on an empty database."""
    with Engine(url, load_plugins=False) as engine:
        yield LosslessSaver(engine)


@pytest.fixture(scope="session")
def shared_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Give the URL of one database of each kind, for all tests that keep to a namespace of their own."""
    with ExitStack() as stack:
        found: dict[str, str] = {}

        def url_of(kind: str) -> str:
            if kind not in found:
                server: Any = request.getfixturevalue("postgres") if kind == "postgresql" else None
                path = tmp_path_factory.mktemp("shared") / "shared.db"
                found[kind] = f"sqlite:///{path}" if server is None else stack.enter_context(server.database())
            return found[kind]

        yield url_of


@pytest.fixture
def tenant_saver(kind: str, shared_url: Callable[[str], str]) -> Iterator[LosslessSaver]:
    """A saver of a fresh namespace on each kind of database: quicker than a database of its own."""
    with Engine(shared_url(kind), namespace=uuid4().hex, durability="normal", load_plugins=False) as engine:
        yield LosslessSaver(engine)
