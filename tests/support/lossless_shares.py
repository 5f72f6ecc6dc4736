"""Which share of a matrix of cases and databases runs each time; the rest is slow."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest

__all__ = ["on_both", "shared_out"]

_KINDS = ("sqlite", "postgresql")


def shared_out(cases: Iterable[str], *, both: Container[str] = ()) -> list[Any]:
    """Give pairs of a database and a case: the cases alternate between the databases, but for those that run on both."""
    return [
        pytest.param(
            kind, case, id=f"{kind}-{case}", marks=() if case in both or (number + each) % 2 == 0 else (pytest.mark.slow,)
        )
        for number, case in enumerate(cases)
        for each, kind in enumerate(_KINDS)
    ]


def on_both(cases: Iterable[str]) -> list[Any]:
    """Give all pairs of a database and a case, for tests that are slow as a whole."""
    return [pytest.param(kind, case, id=f"{kind}-{case}") for case in cases for kind in _KINDS]
