"""A saver on each kind of database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lossless import Engine
from lossless_langgraph import LosslessSaver


@pytest.fixture
def saver(url: str) -> Iterator[LosslessSaver]:
    """A saver on an empty database."""
    with Engine(url, load_plugins=False) as engine:
        yield LosslessSaver(engine)
