"""The table in the guide that compares LlamaIndex's own agent and memories with ours."""

from __future__ import annotations

import sys

import pytest

from lossless_sources import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.llamaindex_memory import PAGE, counts

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_the_table_shows_what_is_counted() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"<!-- counts: begin -->\n{counts()}\n<!-- counts: end -->" in text
