"""The pytest plugin, loaded with the package: fixtures for tests of agents that use Lossless."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lossless.testing.scripts import Script, ScriptedModel

__all__ = ["no_real_models", "scripted_model"]


@pytest.fixture
def scripted_model() -> Callable[[str | Script], ScriptedModel]:
    """Make scripted models: ``scripted_model("echo")``; see ``lossless.testing.SCRIPTS`` for the names."""
    from lossless.testing.scripts import ScriptedModel

    return ScriptedModel


@pytest.fixture
def no_real_models() -> Iterator[None]:
    """Let a test fail during which a real model would have been called."""
    from lossless.testing.permission import no_real_models as forbidden

    with forbidden():
        yield
