"""What the project depends on is pinned, justified and free of traces of the machine that pinned it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from lossless_sources import ROOT

WORKSPACE: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECTS: dict[str, dict[str, Any]] = {
    path.parent.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob("packages/*/pyproject.toml"))
}
OWN = {project["project"]["name"] for project in PROJECTS.values()}
PINS = [Requirement(line) for line in WORKSPACE["tool"]["uv"]["constraint-dependencies"]]
BUILD_PINS = [Requirement(line) for line in WORKSPACE["tool"]["uv"]["build-constraint-dependencies"]]
PYTHONS = ("3.11", "3.12", "3.13")


def requirements() -> Iterator[Requirement]:
    """Give every requirement that any pyproject states, extras and groups included, but for the project's own packages."""
    for project in [WORKSPACE, *PROJECTS.values()]:
        lines = list(project["project"].get("dependencies", []))
        for extra in project["project"].get("optional-dependencies", {}).values():
            lines += extra
        for group in project.get("dependency-groups", {}).values():
            lines += [line for line in group if isinstance(line, str)]
        yield from (found for found in map(Requirement, lines) if canonicalize_name(found.name) not in OWN)


def build_requirements() -> Iterator[Requirement]:
    for project in PROJECTS.values():
        yield from map(Requirement, project["build-system"]["requires"])


def pinned(name: str, pins: list[Requirement], python: str) -> list[Version]:
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    return [
        Version(str(pin.specifier).removeprefix("=="))
        for pin in pins
        if canonicalize_name(pin.name) == canonicalize_name(name) and (pin.marker is None or pin.marker.evaluate(environment))
    ]


@pytest.mark.parametrize("pin", [*PINS, *BUILD_PINS], ids=str)
def test_a_pin_names_one_released_version(pin: Requirement) -> None:
    (specifier,) = pin.specifier
    assert specifier.operator == "=="
    assert not Version(specifier.version).is_prerelease
    assert pin.url is None


@pytest.mark.parametrize("python", PYTHONS)
def test_every_dependency_has_one_pin_within_its_range(python: str) -> None:
    for found, pins in [*((one, PINS) for one in requirements()), *((one, BUILD_PINS) for one in build_requirements())]:
        versions = pinned(found.name, pins, python)
        assert len(versions) == 1, f"{found} has the pins {versions}"
        assert versions[0] in found.specifier, f"{found} excludes its pin {versions[0]}"


def test_every_package_of_the_lock_file_is_pinned() -> None:
    lock = ROOT / "uv.lock"
    if not lock.is_file():
        pytest.skip("there is no lock file; uv writes one when it is used")
    locked = {(package["name"], package["version"]) for package in tomllib.loads(lock.read_text(encoding="utf-8"))["package"]}
    pins = {(canonicalize_name(pin.name), str(pin.specifier).removeprefix("==")) for pin in PINS}
    assert {pair for pair in locked if pair[0] not in OWN and pair[0] != WORKSPACE["project"]["name"]} == pins


def test_every_dependency_is_justified_and_nothing_else() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    listed = [canonicalize_name(name) for name in re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)]
    used = {canonicalize_name(found.name) for found in [*requirements(), *build_requirements()]}
    assert len(listed) == len(set(listed)), "a dependency is listed twice"
    assert set(listed) == used


def test_all_packages_have_one_version_and_accept_each_other() -> None:
    (version,) = {project["project"]["version"] for project in PROJECTS.values()}
    for project in PROJECTS.values():
        for found in map(Requirement, project["project"]["dependencies"]):
            if found.name in OWN:
                assert version in found.specifier, f"{project['project']['name']} excludes {found.name} {version}"


@pytest.mark.parametrize("package", PROJECTS)
def test_a_package_carries_the_licence(package: str) -> None:
    assert PROJECTS[package]["project"]["license"] == "Apache-2.0"
    assert PROJECTS[package]["project"]["license-files"] == ["LICENSE"]
    assert (ROOT / "packages" / package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


# Written in pieces, so that this file does not hold what it looks for.
HOSTS = re.compile("|".join(map(re.escape, ["pypi" + ".org", "python" + "hosted.org", "files.pytho" + "n", "index" + "-url"])))
MACHINE = re.compile(r"(?<![\w.~-])/(?:work|tmp|root)" + r"(?=/\w)")


def committed_files() -> list[Path]:
    """Give the files that are, or are about to be, in the repository."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=False
    )
    if listed.returncode:
        pytest.skip("this is no git checkout")
    names = listed.stdout.decode().split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_no_committed_file_names_a_registry_or_a_path_of_a_machine() -> None:
    traces = [
        f"{path.relative_to(ROOT)}:{number}: {found.group()}"
        for path in committed_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        for found in [HOSTS.search(line) or MACHINE.search(line) or re.search(re.escape(str(ROOT)), line)]
        if found
    ]
    assert traces == []


@pytest.mark.parametrize("text", ["see https://" + "pypi" + ".org/simple", "open('/" + "tmp/x.db')", "sqlite:////" + "work/a.db"])
def test_the_search_for_traces_finds(text: str) -> None:
    assert HOSTS.search(text) or MACHINE.search(text)


@pytest.mark.parametrize(
    "text", ["src/" + "tmp/x", "https://example.com/" + "work/x", "../" + "work/x", "and/or", "tmp_path / 'x'"]
)
def test_the_search_for_traces_lets_pass(text: str) -> None:
    assert not HOSTS.search(text)
    assert not MACHINE.search(text)
