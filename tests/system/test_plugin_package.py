"""A plugin in a package of its own: fifteen lines, found by every engine once it is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import lossless
from lossless_prepared import prepared

PLUGIN = '''"""Summaries in capitals."""

import re

import lossless


class Capitals:
    @lossless.hookimpl
    def lossless_summarize(self, request):
        exact = re.findall(r"\\S*\\d\\S*", request.text)
        return "CAPITALS: " + " ".join(exact)[: 2 * request.target_tokens]


plugin = Capitals()
'''
MISSPELT = PLUGIN.replace("lossless_summarize", "lossless_sumarise")

USE = """
import json, sys
import lossless
loads = sys.argv[1] == "load"
try:
    engine = lossless.Engine("sqlite://", window=2_000, background=False, load_plugins=loads)
except lossless.LosslessError as error:
    print(json.dumps({"error": error.code, "hint": error.hint, "message": error.message}))
    sys.exit()
with engine:
    thread = engine.thread("t")
    thread.append([{"role": "user", "content": f"{n}: the amount is {n * 7} EUR " * 4} for n in range(80)], compact=False)
    result = thread.compact()
    print(json.dumps({"names": engine.plugins.names(), "calls": result.model_calls, "changed": result.changed}))
"""


def install(folder: Path, source: str) -> Path:
    """Install a package as pip would: its module, and beside it what it says of itself."""
    (folder / "capitals.py").write_text(source, encoding="utf-8")
    information = folder / "capitals-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: capitals\nVersion: 1.0\n", encoding="utf-8")
    (information / "entry_points.txt").write_text("[lossless]\ncapitals = capitals:plugin\n", encoding="utf-8")
    return folder


def use(folder: Path, load: bool) -> dict[str, object]:
    ended = prepared().run(USE, "load" if load else "leave", folder=folder, path=[folder])
    assert ended.code == 0, ended.err
    found: dict[str, object] = json.loads(ended.out)
    return found


def test_a_plugin_has_fifteen_lines() -> None:
    assert len(PLUGIN.strip().splitlines()) <= 15


def test_an_installed_plugin_summarises_for_every_engine(tmp_path: Path) -> None:
    found = use(install(tmp_path, PLUGIN), load=True)
    assert "capitals" in str(found["names"])
    assert int(str(found["calls"])) > 0
    assert found["changed"] is True


def test_an_engine_may_leave_installed_plugins_alone(tmp_path: Path) -> None:
    found = use(install(tmp_path, PLUGIN), load=False)
    assert "capitals" not in str(found["names"])
    assert found["calls"] == 0


@pytest.mark.parametrize("source", [MISSPELT, "raise RuntimeError('it is broken')", "import a_module_that_is_not_there"])
def test_an_installed_plugin_that_does_not_fit_is_named(tmp_path: Path, source: str) -> None:
    found = use(install(tmp_path, source), load=True)
    assert found["error"] == "plugin"
    assert "load_plugins=False" in str(found["hint"])
    assert found["message"]
    assert use(tmp_path, load=False)["changed"] is True


def test_what_is_installed_while_the_process_runs_is_found_by_the_next_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    with lossless.Engine("sqlite://") as before:
        assert "capitals" not in before.plugins.names()
    install(tmp_path, PLUGIN)
    try:
        with lossless.Engine("sqlite://") as after:
            assert "capitals" in after.plugins.names()
    finally:
        sys.modules.pop("capitals", None)
