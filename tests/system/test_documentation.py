"""The readme and the guides: every block of code in them runs, as a new user would run it, in an empty folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lossless_sources import ROOT

DOCUMENTS = (
    "README.md",
    "docs/compaction.md",
    "docs/erasure.md",
    "docs/langchain.md",
    "docs/langgraph.md",
    "docs/llamaindex.md",
    "docs/operations.md",
    "docs/plugins.md",
    "docs/search.md",
    "docs/security.md",
    "docs/versions.md",
)


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


CODE = [(document, number, code) for document in DOCUMENTS for number, code in enumerate(blocks(document, "python"))]


@pytest.mark.parametrize(("document", "number", "code"), CODE, ids=[f"{document}-{number}" for document, number, _ in CODE])
def test_a_python_block_runs_as_it_stands(document: str, number: int, code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    expected = re.findall(r"# prints (.*)$", code, re.MULTILINE)
    if expected:
        assert done.stdout.splitlines() == expected


@pytest.mark.parametrize("document", ["README.md", "docs/operations.md"])
def test_the_commands_work_one_after_the_other(document: str, tmp_path: Path) -> None:
    session = [
        {"role": "user", "content": "Book HAT136 for mia_li_3668, 250 USD at the most."},
        {"role": "assistant", "content": "Booked: reservation ZFA04Y, 231 USD."},
    ]
    (tmp_path / "session.jsonl").write_text("".join(json.dumps(message) + "\n" for message in session))
    (commands,) = [block for block in blocks(document, "sh") if block.startswith("lossless import")]
    outputs = {}
    for line in commands.splitlines():
        words = shlex.split(line)
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "NO_COLOR": "1"},
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        outputs[words[1]] = done.stdout
    if document == "README.md":
        assert "HAT136" in outputs["grep"]
        assert "ZFA04Y" in outputs["expand"]
    else:
        assert [json.loads(line) for line in (tmp_path / "exported.jsonl").read_text().splitlines()] == session


def test_every_file_that_the_documentation_links_to_is_there() -> None:
    for document in ("README.md", "CONTRIBUTING.md", *(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md"))):
        text = (ROOT / document).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert ((ROOT / document).parent / target).exists(), f"{document} links to {target}"


def test_the_readme_shows_the_two_commands_and_real_output() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "python -m pip install uv && uv run lossless demo" in text
    assert "python -m pip install uv && uv run pytest" in text
    shown = re.search(r"<!-- demo output -->\n```text\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    assert "every message is stored byte for byte as it was given" in shown.group(1)
