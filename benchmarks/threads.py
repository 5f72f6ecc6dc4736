"""Long threads to measure on: written once a run, in a process of its own that reports what it cost, then copied.

``python -m benchmarks.threads FILE COUNT`` writes one.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from benchmarks.data import stream
from benchmarks.harness import clock
from lossless import Engine

__all__ = ["RARE", "THREAD", "Filled", "copy_of", "filled"]

THREAD = "long"
RARE = "xylograph"
"""A word that stands in one message of every filled thread, near its beginning."""
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A database with one thread that was never compacted, and what writing it cost.

    ``text_bytes``: UTF-8 of what was said and called; ``payload_bytes``: of the payloads as given, as JSON; ``memory_start``: the
    process's peak in bytes after a tenth of the messages, ``memory_end`` after all.
    """

    path: str
    messages: int
    text_bytes: int
    payload_bytes: int
    file_bytes: int
    memory_start: int
    memory_end: int
    cpu: float
    wall: float


def filled(folder: Path, count: int) -> Filled:
    """Give a thread of so many messages, written now unless it is there."""
    path, report = folder / f"filled-{count}.db", folder / f"filled-{count}.json"
    if not report.is_file():
        command = [sys.executable, "-m", "benchmarks.threads", str(path), str(count)]
        root = Path(__file__).resolve().parents[1]
        done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
        report.write_text(done.stdout, encoding="utf-8")
    return Filled(**json.loads(report.read_text(encoding="utf-8")))


def copy_of(found: Filled, path: Path) -> str:
    """Copy a filled database and give its URL."""
    shutil.copyfile(found.path, path)
    return f"sqlite:///{path}"


def fill(path: Path, count: int) -> Filled:
    """Write the thread, in batches, without compacting it."""
    text_bytes = payload_bytes = memory_start = 0
    source = stream(seed=count)
    with clock() as spent, Engine(f"sqlite:///{path}", load_plugins=False, durability="normal") as engine:
        thread = engine.thread(THREAD)
        for start in range(0, count, _BATCH):
            batch = list(islice(source, min(_BATCH, count - start)))
            if start == 0:
                said = next(message for message in reversed(batch) if message["role"] == "user")
                said["content"] += f" The word of the day is {RARE}."
            for message in batch:
                payload_bytes += len(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode())
                calls = "".join(
                    call["function"]["name"] + call["function"]["arguments"] for call in message.get("tool_calls", ())
                )
                text_bytes += len((message["content"] + calls).encode())
            thread.append(batch)
            if start + _BATCH >= count // 10 and not memory_start:
                memory_start = _peak()
    return Filled(
        path=str(path),
        messages=count,
        text_bytes=text_bytes,
        payload_bytes=payload_bytes,
        file_bytes=path.stat().st_size,
        memory_start=memory_start,
        memory_end=_peak(),
        cpu=spent.cpu,
        wall=spent.wall,
    )


def _peak() -> int:
    """Give the most memory that this process ever held, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    print(json.dumps(asdict(fill(Path(sys.argv[1]), int(sys.argv[2])))))
