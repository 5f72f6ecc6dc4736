"""Refresh the exact pins of the workspace: ``uv run python scripts/pin.py``.

The newest stable release of every third-party package, direct or not, is written between the ``pins`` markers of the root
pyproject.toml, from where uv reads it as a constraint. The lock file stays out of the repository: it holds download addresses.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Resolve everything anew, rewrite both lists and lock with them."""
    target = ROOT / "pyproject.toml"
    with tempfile.TemporaryDirectory() as folder:
        scratch = copy_without_pins(Path(folder))
        packages = resolve(scratch)
        build_tools = resolve_build_tools(scratch)
    text = target.read_text(encoding="utf-8")
    text = replace_block(text, "pins", packages)
    text = replace_block(text, "build pins", build_tools)
    target.write_text(text, encoding="utf-8")
    uv("lock", "--upgrade", cwd=ROOT)
    sys.stdout.write(f"{len(packages)} packages and {len(build_tools)} build tools pinned\n")
    return 0


def copy_without_pins(folder: Path) -> Path:
    """Copy what a resolver reads, so that a failure leaves the checkout as it was."""
    for source in [ROOT / "pyproject.toml", *sorted(ROOT.glob("packages/*/pyproject.toml"))]:
        copy = folder / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    workspace = folder / "pyproject.toml"
    text = workspace.read_text(encoding="utf-8")
    workspace.write_text(replace_block(replace_block(text, "pins", []), "build pins", []), encoding="utf-8")
    return folder


def resolve(workspace: Path) -> list[str]:
    """Give the pins of every package, extra and group, for all supported Python versions and platforms at once."""
    uv("lock", cwd=workspace)
    everything = ["--all-packages", "--all-extras", "--all-groups", "--no-emit-workspace"]
    plain = ["--no-hashes", "--no-annotate", "--no-header"]
    return as_pins(uv("export", "--frozen", *everything, *plain, cwd=workspace).splitlines())


def resolve_build_tools(workspace: Path) -> list[str]:
    """Give the pins of what builds the packages; a lock file does not cover it."""
    wanted: set[str] = set()
    for path in workspace.glob("packages/*/pyproject.toml"):
        wanted.update(tomllib.loads(path.read_text(encoding="utf-8"))["build-system"]["requires"])
    python = tomllib.loads((workspace / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    oldest = python.removeprefix(">=")
    options = ["--universal", "--python-version", oldest, "--no-annotate", "--no-header"]
    return as_pins(uv("pip", "compile", *options, "-", cwd=workspace, stdin="\n".join(sorted(wanted))).splitlines())


def as_pins(lines: Iterable[str]) -> list[str]:
    """Turn ``name==version ; marker`` lines into pins; a marker matters only where a package has more than one version."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for line in filter(None, map(str.strip, lines)):
        match = re.fullmatch(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?==(?P<version>[^\s;]+)(?P<marker>\s*;.+)?", line)
        if match is None:
            raise SystemExit(f"not an exact version: {line}")
        found[match["name"]].append((match["version"], match["marker"] or ""))
    pins = []
    for name, choices in sorted(found.items()):
        if len({version for version, _ in choices}) == 1:
            pins.append(f"{name}=={choices[0][0]}")
        else:
            pins.extend(f"{name}=={version}{marker}" for version, marker in choices)
    return pins


def replace_block(text: str, label: str, pins: Iterable[str]) -> str:
    """Put ``pins`` between the lines ``# <label>: begin`` and ``# <label>: end``."""
    body = "".join(f'  "{pin}",\n' for pin in pins)
    block = re.compile(rf"(?ms)^(  # {label}: begin\b[^\n]*\n).*?^(  # {label}: end\n)")
    replaced, count = block.subn(lambda match: match[1] + body + match[2], text)
    if count != 1:
        raise SystemExit(f"pyproject.toml has {count} blocks “{label}”, one is needed")
    return replaced


def uv(*arguments: str, cwd: Path, stdin: str | None = None) -> str:
    """Run uv and give what it wrote; its own words of failure go to the terminal."""
    done = subprocess.run(["uv", *arguments], cwd=cwd, input=stdin, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"uv {arguments[0]} failed")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
