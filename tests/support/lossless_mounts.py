"""File systems of a test's own: small ones, and read-only ones, where this process may mount."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["read_only", "small_disk"]


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Give a folder with room for so much; skip the test where that can't be had."""
    folder.mkdir(exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        _run("umount", "-l", str(folder))


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    """Let nobody write to a file or a folder, not even root; skip the test where that can't be had."""
    _mount("--bind", str(path), str(path))
    try:
        _mount("-o", "remount,ro,bind", str(path))
        yield
    finally:
        _run("umount", "-l", str(path))


def _mount(*how: str) -> None:
    if shutil.which("mount") is None:
        pytest.skip("this system has no mount")
    done = _run("mount", *how)
    if done.returncode != 0:
        pytest.skip(f"this process may not mount: {done.stderr.strip()}")


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
