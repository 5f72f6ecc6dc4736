"""Programs in processes of their own that begin where all imports are done: each is forked from a process that has done them.

What a process costs is, nearly all of it, the imports and the tokenizer's vocabulary. Where a test needs the process, but not its
start, it takes one of these. What is tested of a start itself (flags, streams, an interpreter's settings) needs a real one.
"""

from __future__ import annotations

import ast
import atexit
import gc
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

__all__ = ["COMMAND_LINE", "Ended", "Prepared", "be_prepared", "imported_by", "prepared"]

COMMAND_LINE = "import runpy\nrunpy.run_module('lossless', run_name='__main__', alter_sys=True)"
"""The program that ``python -m lossless`` runs."""
BEFOREHAND = ("lossless.cli.app", "lossless.testing", "lossless.transcripts", "rich.console", "rich.table", "typer")
"""What programs import late; each of them would do it again."""
SECONDS = 120


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code, or the negative number of the signal that killed it, and what it wrote."""

    code: int
    out: str
    err: str


class Prepared:
    """A process that has imported modules and used an engine, with warnings as errors; programs are forked from it."""

    def __init__(self, modules: Iterable[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", __file__, *modules], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self,
        program: str,
        *arguments: str,
        folder: Path,
        path: Sequence[Path] = (),
        environment: Mapping[str, str] | None = None,
        encoding: str = "utf-8",
    ) -> Ended:
        """Run a program in a folder, with modules from ``path``, too; wait until it ends, or is ended after two minutes.

        Args:
            encoding: that of its streams.
        """
        with tempfile.TemporaryDirectory() as own:
            written = {name: Path(own, name) for name in ("out", "err")}
            order = {
                "program": program,
                "arguments": arguments,
                "folder": str(folder),
                "path": [str(each) for each in path],
                "environment": {**os.environ, **(environment or {})},
                "encoding": encoding,
                **{name: str(file) for name, file in written.items()},
            }
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            return Ended(code, *(file.read_bytes().decode(encoding) for file in written.values()))

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@cache
def prepared(*modules: str) -> Prepared:
    """Give the process of this test run that has imported these modules."""
    process = Prepared(modules)
    atexit.register(process.close)
    return process


def imported_by(program: str) -> set[str]:
    """Name the modules that a program imports at its top."""
    found: set[str] = set()
    for node in ast.parse(program).body:
        if isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
        elif isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
    return found


def serve(modules: Sequence[str]) -> None:
    """Import modules, use an engine, and fork a child for each line of stdin; write the exit code of each."""
    for name in (*BEFOREHAND, *modules):
        importlib.import_module(name)
    be_prepared()
    for line in sys.stdin:
        child = _fork()
        if not child:
            _become(json.loads(line))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()


def be_prepared() -> None:
    """Do what costs most the first time, in a process that is about to be forked."""
    import lossless

    with lossless.Engine("sqlite://", window=8_000) as engine:
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "What is imported late is imported now."})
        thread.context()
    gc.collect()
    gc.freeze()  # a child looks through nothing of this for garbage, and so copies none of it


def _fork() -> int:
    import warnings

    with warnings.catch_warnings(action="ignore"):  # of threads that a framework has begun
        return os.fork()


def _become(order: Mapping[str, Any]) -> NoReturn:
    signal.alarm(SECONDS)
    os.chdir(order["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT), stream)
    for writer, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        assert isinstance(writer, io.TextIOWrapper)
        writer.reconfigure(encoding=order["encoding"], errors=errors)
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.path[:1] = ["", *order["path"]]  # as `python -c` has it
    sys.argv[:] = ["-c", *order["arguments"]]
    code = _run(order["program"])
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # else hundreds of modules would be taken apart, one by one


def _run(program: str) -> int:
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    try:
        exec(compile(program, "program", "exec"), main.__dict__)
    except SystemExit as exit:
        if exit.code is None or isinstance(exit.code, int):
            return exit.code or 0
        print(exit.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve(sys.argv[1:])
