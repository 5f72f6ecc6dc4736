"""What an import costs, in fresh interpreters."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

from benchmarks.harness import Benchmark, Options, Reach, Row, clock, median

__all__ = ["BENCHMARK"]

_PROBE = """
import json, sys
touched = []
sys.addaudithook(lambda event, _: touched.append(event) if event.startswith(("socket.", "sqlite3.", "subprocess.")) else None)
import lossless
loaded = sorted({name.split(".")[0] for name in sys.modules})
print(json.dumps([loaded, touched]))
"""
_HEAVY = {
    "alembic", "langchain", "langchain_core", "langgraph", "llama_index", "pydantic", "requests", "rich", "sqlalchemy",
    "sqlmodel", "tiktoken", "typer",
}  # fmt: skip


def run(options: Options, folder: Path) -> list[Row]:
    """Start interpreters that do nothing, import, or print help, in turn."""
    commands = {
        "nothing": ["-c", "pass"],
        "import": ["-c", "import lossless"],
        "engine": ["-c", "from lossless import Engine"],
        "help": ["-m", "lossless", "--help"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    walls: dict[str, list[float]] = {name: [] for name in commands}
    for _round in range(options.pick(tiny=1, usual=15)):
        for name, arguments in commands.items():
            cpu, wall = _started([sys.executable, *arguments], folder)
            times[name].append(1e3 * cpu)
            walls[name].append(1e3 * wall)
    nothing = median(times["nothing"])
    loaded, touched = _seen(folder)
    over = median([a - b for a, b in zip(walls["import"], walls["nothing"], strict=True)])
    return [
        Row(
            what="import lossless, CPU",
            ours=median([a - b for a, b in zip(times["import"], times["nothing"], strict=True)]),
            unit="ms",
            reach=Reach(value=150),
            note=f"over an interpreter that does nothing; on the wall {over:.0f} ms",
        ),
        Row(
            what="python -c 'import lossless', CPU",
            ours=median(times["import"]),
            control=nothing,
            unit="ms",
            note="control: python -c pass",
        ),
        Row(what="frameworks and databases that it loads", ours=len(loaded & _HEAVY), reach=Reach(value=0)),
        Row(what="connections and databases that it opens", ours=len(touched), reach=Reach(value=0)),
        Row(what="python -c 'from lossless import Engine', CPU", ours=median(times["engine"]), control=nothing, unit="ms"),
        Row(what="lossless --help, CPU", ours=median(times["help"]), control=nothing, unit="ms"),
    ]


def _started(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a command; give its CPU time and its time on the wall, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with clock() as spent:
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, spent.wall


def _seen(folder: Path) -> tuple[set[str], list[str]]:
    done = subprocess.run([sys.executable, "-c", _PROBE], cwd=folder, capture_output=True, text=True, check=True)
    loaded, touched = json.loads(done.stdout)
    return set(loaded), touched


BENCHMARK = Benchmark(name="import", title="Import", run=run)
