"""``lossless plugins``: what is plugged in."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer

from lossless.cli.options import AsJson, NamespaceOption, UrlOption
from lossless.cli.output import say, table, write_json

__all__ = ["plugins"]


def plugins(url: UrlOption = None, namespace: NamespaceOption = "default", as_json: AsJson = False) -> None:  # noqa: ARG001 - as on every command
    """List the plugins of installed packages.

    And the hooks that each implements. Exits with 1 if one of them can't be loaded.
    """
    from lossless.hooks.manager import ENTRY_POINT_GROUP

    found = [_facts(entry) for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name)]
    if as_json:
        write_json({"items": [_builtin(), *found], "next_cursor": None})
    else:
        rows = [(one["name"], one["package"], one["version"], " ".join(one["hooks"])) for one in (_builtin(), *found)]
        table(("plugin", "package", "version", "hooks"), rows)
        for one in found:
            if one["problem"]:
                say(f"{one['name']}: {one['problem']}")
    if any(one["problem"] for one in found):
        raise typer.Exit(1)


def _facts(entry: EntryPoint) -> dict[str, Any]:
    package = entry.dist
    facts: dict[str, Any] = {
        "name": entry.name,
        "package": package.name if package is not None else "",
        "version": package.version if package is not None else "",
        "hooks": [],
        "problem": None,
    }
    from lossless.errors import LosslessError
    from lossless.hooks import Plugins

    try:
        plugin = entry.load()
        Plugins([plugin], load=False)
        facts["hooks"] = _hooks(plugin)
    except LosslessError as error:
        facts["problem"] = str(error)
    except Exception as error:
        facts["problem"] = f"it can't be loaded: {type(error).__name__}: {error}"
    return facts


def _builtin() -> dict[str, Any]:
    from lossless import __version__
    from lossless.builtins import Builtins

    return {"name": "built in", "package": "lossless", "version": __version__, "hooks": _hooks(Builtins()), "problem": None}


def _hooks(plugin: object) -> list[str]:
    """Name the hooks that a plugin implements."""
    from lossless.hooks import specs

    return sorted(name for name in dir(plugin) if name.startswith("lossless_") and hasattr(specs, name))
