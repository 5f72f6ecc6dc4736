"""What the packages' own readmes show is what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from lossless_prepared import prepared
from lossless_sources import ROOT


def blocks(package: str, language: str) -> list[str]:
    """Give the fenced blocks of one language in a package's readme."""
    text = (ROOT / "packages" / package / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("package", ["langchain", "langgraph", "llamaindex"])
def test_the_session_in_an_adapters_readme_is_what_happens(package: str) -> None:
    (session,) = blocks(package, "pycon")
    runner = doctest.DocTestRunner()
    outcome = runner.run(doctest.DocTestParser().get_doctest(session, {}, package, None, None))
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_the_example_in_the_cores_readme_prints_what_it_says(tmp_path: Path) -> None:
    (example,) = blocks("core", "python")
    done = prepared().run(example, folder=tmp_path)
    assert done.code == 0, done.err
    assert done.out.splitlines() == re.findall(r"# prints (.*)$", example, re.MULTILINE)
