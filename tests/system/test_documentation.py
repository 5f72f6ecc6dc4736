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


RUNNER = """
import ast, importlib, json, os, pathlib, sys, warnings
blocks = json.load(sys.stdin)
for code in blocks:
    for node in ast.parse(code).body:
        names = [node.module] if isinstance(node, ast.ImportFrom) else [each.name for each in getattr(node, "names", ())]
        for name in names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            importlib.import_module(name)  # once for all blocks: what frameworks load takes seconds
for number, code in enumerate(blocks):
    sys.stdout.flush()
    with warnings.catch_warnings(action="ignore"):  # of threads that a framework has begun
        child = os.fork()
    if not child:
        os.mkdir(str(number))
        os.chdir(str(number))
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), stream)
        main = type(sys)("__main__")
        sys.modules["__main__"] = main
        exec(compile(code, "block", "exec"), main.__dict__)
        raise SystemExit
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    written = (pathlib.Path(str(number), name).read_text(encoding="utf-8") for name in ("out", "err"))
    print(json.dumps([status, *written]))
"""
"""Runs blocks, each in a process and a folder of its own, which have nothing but the modules of all of them in common."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("document", [document for document in DOCUMENTS if blocks(document, "python")])
def test_the_python_blocks_run_as_they_stand(document: str, tmp_path: Path) -> None:
    codes = blocks(document, "python")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUNNER],
        cwd=tmp_path,
        input=json.dumps(codes),
        capture_output=True,
        text=True,
        check=False,
        timeout=880,
    )
    assert done.returncode == 0, done.stderr
    ended = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(ended) == len(codes)
    for code, (status, out, err) in zip(codes, ended, strict=True):
        assert status == 0, f"{code}\n{err}"
        expected = re.findall(r"# prints (.*)$", code, re.MULTILINE)
        if expected:
            assert out.splitlines() == expected, code


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
