"""The project's own source files, read as syntax trees: what the tests of layout and public names look at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["PACKAGES", "ROOT", "Import", "Module", "imports", "modules"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {path.name: path for path in sorted(ROOT.glob("packages/*/src/*")) if (path / "__init__.py").is_file()}


@dataclass(frozen=True, slots=True)
class Import:
    """One import that happens at run time: of a module, or of ``name`` out of it."""

    module: str
    name: str | None
    line: int


@dataclass(frozen=True)
class Module:
    """One source file of a package."""

    name: str
    path: Path

    @cached_property
    def source(self) -> str:
        """Its text."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.source, str(self.path))

    @property
    def is_package(self) -> bool:
        """Whether it is the ``__init__`` of a folder."""
        return self.path.name == "__init__.py"


def modules(*packages: str) -> list[Module]:
    """Give every module of the packages (all of them if none is named), ``__init__`` as the package itself."""
    found = []
    for package in packages or PACKAGES:
        folder = PACKAGES[package]
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            found.append(Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def imports(module: str, tree: ast.AST, *, is_package: bool = False) -> Iterator[Import]:
    """Find the imports that happen at run time, inside functions too; those for type checkers only don't count."""
    for node in _at_run_time(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(alias.name, None, node.lineno)
            case ast.ImportFrom(names=names, module=source, level=level):
                for alias in names:
                    yield Import(_absolute(module, source, level, is_package), alias.name, node.lineno)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(target)), *_],
            ):
                yield Import(target, None, node.lineno)


def _at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    children: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.If):
        if _is_type_checking(node.test):
            children = list(node.orelse)
        elif isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not) and _is_type_checking(node.test.operand):
            children = list(node.body)
    for child in children:
        yield from _at_run_time(child)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _absolute(module: str, source: str | None, level: int, is_package: bool) -> str:
    if level == 0:
        return source or ""
    parts = module.split(".")
    base = parts[: len(parts) - level + (1 if is_package else 0)]
    return ".".join([*base, *([source] if source else [])])
