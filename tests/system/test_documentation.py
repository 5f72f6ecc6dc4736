"""The readme and the guides: every block of code in them runs, as a new user would run it, in an empty folder."""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from lossless_prepared import COMMAND_LINE, Prepared, imported_by, prepared
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


@cache
def with_what_they_import() -> Prepared:
    """Give a process that has imported what any block does: what frameworks load takes seconds, and is loaded once for all."""
    return prepared(
        *sorted({name for document in DOCUMENTS for code in blocks(document, "python") for name in imported_by(code)})
    )


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if blocks(document, "python")])
def test_the_python_blocks_run_as_they_stand(document: str, tmp_path: Path) -> None:
    for number, code in enumerate(blocks(document, "python")):
        folder = tmp_path / str(number)
        folder.mkdir()
        ended = with_what_they_import().run(code, folder=folder)
        assert ended.code == 0, f"{code}\n{ended.err}"
        expected = re.findall(r"# prints (.*)$", code, re.MULTILINE)
        if expected:
            assert ended.out.splitlines() == expected, code


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
        name, command, *arguments = shlex.split(line)
        assert name == "lossless"
        ended = with_what_they_import().run(COMMAND_LINE, command, *arguments, folder=tmp_path, environment={"NO_COLOR": "1"})
        assert ended.code == 0, f"{line}\n{ended.err}"
        outputs[command] = ended.out
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
