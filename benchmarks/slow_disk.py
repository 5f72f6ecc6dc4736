"""A disk that takes longer: a preloaded library lets every fsync of a child process wait, as disks with full barriers do.

The library is made by the C compiler of the machine when it is needed. It waits before it calls the real function, so all that
was promised is on the disk all the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Unavailable", "run_slowed"]

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_for_the_disk(void) {
    const char *given = getenv("SLOW_DISK_MICROSECONDS");
    long microseconds = given ? atol(given) : 0;
    struct timespec left = {microseconds / 1000000, microseconds % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0) {}
}

int fsync(int file) {
    wait_for_the_disk();
    return ((int (*)(int)) dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
    wait_for_the_disk();
    return ((int (*)(int)) dlsym(RTLD_NEXT, "fdatasync"))(file);
}
"""
_ROOT = Path(__file__).resolve().parent.parent


class Unavailable(Exception):
    """A disk can't be slowed down here; the message says why."""


def run_slowed(module: str, arguments: Sequence[str], folder: Path, seconds: float) -> str:
    """Run a module in a child process in which every fsync takes so much longer, and give what it prints.

    Raises:
        Unavailable: no C compiler, or no way to preload a library.
    """
    if not sys.platform.startswith("linux"):
        raise Unavailable("a library can be preloaded on Linux only")
    library = _compiled(folder)
    slowed = {**os.environ, "LD_PRELOAD": str(library), "SLOW_DISK_MICROSECONDS": str(round(1e6 * seconds))}
    child = subprocess.run([sys.executable, "-m", module, *arguments], cwd=_ROOT, env=slowed, capture_output=True, text=True)
    if child.returncode:
        raise RuntimeError(f"{module} failed on a slowed disk:\n{child.stderr}")
    return child.stdout


def _compiled(folder: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise Unavailable("there is no C compiler")
    source, library = folder / "slow_disk.c", folder / "slow_disk.so"
    source.write_text(_SOURCE, encoding="utf-8")
    made = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"], capture_output=True, text=True
    )
    if made.returncode:
        raise Unavailable(f"{compiler} can't make a shared library: {made.stderr.strip()[-200:]}")
    return library
