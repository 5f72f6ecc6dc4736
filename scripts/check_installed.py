"""Check the four packages as a user has them, installed from wheels: ``python check_installed.py VERSION``.

Needs the standard library only, and must run outside the checkout, where nothing but what was installed can be imported.
"""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import distribution
from pathlib import Path

PACKAGES = ("lossless", "lossless-langchain", "lossless-langgraph", "lossless-llamaindex")


def main(version: str) -> int:
    """Import each package and compare it with its metadata; the exit code is the number of problems."""
    problems = [f"{name}: {problem}" for name in PACKAGES for problem in check(name, version)]
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    if not problems:
        python = ".".join(map(str, sys.version_info[:3]))
        sys.stdout.write(f"{len(PACKAGES)} packages of version {version} are whole on Python {python}\n")
    return len(problems)


def check(name: str, version: str) -> list[str]:
    """List what is wrong with one installed package."""
    module = importlib.import_module(name.replace("-", "_"))
    installed = distribution(name)
    files = {path.name for path in installed.files or ()}
    problems = []
    if not Path(str(module.__file__)).is_relative_to(sys.prefix):
        problems.append(f"imported from {module.__file__}, not from where it was installed")
    if not version == installed.version == module.__version__:
        problems.append(f"version {version} is {installed.version} by its metadata and {module.__version__} by itself")
    if installed.metadata["License-Expression"] != "Apache-2.0" or "LICENSE" not in files:
        problems.append("the licence is missing")
    if "py.typed" not in files:
        problems.append("py.typed is missing")
    return problems


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
