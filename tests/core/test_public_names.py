"""Every module says what it offers, in order, and offers exactly that."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib

import pytest

from lossless_sources import PACKAGES, ROOT, Module, modules

# Alembic runs migrations as scripts, and __main__ is one.
OFFERING = [
    module
    for module in modules()
    if not any(part.startswith("_") for part in module.name.split(".")) and ".migrations" not in module.name
]


def in_order(names: list[str]) -> list[str]:
    """Sort as ruff does: constants, classes, the rest."""
    return sorted(names, key=lambda name: (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name))


def defined(module: Module) -> set[str]:
    """Name the public classes and functions that a module itself defines, under an ``if`` or ``try`` too."""
    found: set[str] = set()
    todo: list[ast.stmt] = list(module.tree.body)
    while todo:
        match todo.pop():
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.If(body=body, orelse=orelse):
                todo += body + orelse
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
                todo += body + orelse + finalbody + [statement for handler in handlers for statement in handler.body]
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize("module", OFFERING, ids=lambda module: module.name)
def test_a_module_offers_exactly_what_it_names(module: Module) -> None:
    names = getattr(importlib.import_module(module.name), "__all__", None)
    assert names is not None, "no __all__"
    assert list(names) == in_order(list(dict.fromkeys(names)))
    assert [name for name in names if not hasattr(importlib.import_module(module.name), name)] == []
    assert sorted(defined(module) - set(names)) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_knows_its_version(package: str) -> None:
    project = tomllib.loads((PACKAGES[package].parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert importlib.import_module(package).__version__ == project["version"]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_typed(package: str) -> None:
    assert (PACKAGES[package] / "py.typed").is_file()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_misspelt_name_is_no_attribute(package: str) -> None:
    assert not hasattr(importlib.import_module(package), "surely_misspelt")


def test_the_command_line_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "lossless", "--version"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert importlib.import_module("lossless").__version__ in done.stdout


def test_rooms_that_are_used_by_their_full_names_need_no_import_of_their_own() -> None:
    code = "import lossless; lossless.policies.get('source_first'); lossless.errors.LosslessError; lossless.Snapshot"
    subprocess.run([sys.executable, "-c", code], check=True)
