"""LangGraph's own conformance suite for checkpointers, through async and sync methods; the documentation shows the results."""

from __future__ import annotations

import sys

import pytest

from lossless_langgraph import LosslessSaver
from lossless_sources import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.langgraph_conformance import COLUMNS, PAGE, column, shown


@pytest.mark.parametrize("through", ["async", "sync"])
def test_every_capability_is_there_and_conforms_as_documented(tenant_saver: LosslessSaver, kind: str, through: str) -> None:
    found = column(tenant_saver, through)
    assert len(found) == 8
    assert {name: said for name, said in found.items() if len(set(said.split(" of "))) != 1 or said == "none"} == {}
    documented = shown(PAGE.read_text(encoding="utf-8"))
    assert tuple(documented) == COLUMNS
    assert documented[f"{'SQLite' if kind == 'sqlite' else 'PostgreSQL'}, {through}"] == found
