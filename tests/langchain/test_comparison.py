"""The table in the documentation that compares LangChain's own summarization with ours."""

from __future__ import annotations

import sys

from lossless_sources import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.langchain_agents import PAGE, table


def test_the_table_shows_what_is_counted() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"<!-- agents: begin -->\n{table()}\n<!-- agents: end -->" in text
