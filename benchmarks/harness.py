"""What benchmarks share: how much they do, clocks, and the rows that they give.

The machine is never quiet, so a row compares with a control that was measured in the same run, round by round in turn, and takes
the median of the rounds. Where nothing waits, CPU time stands beside the clock on the wall or instead of it.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

__all__ = ["Benchmark", "Options", "Reach", "Row", "Spent", "clock", "fsync_seconds", "median", "percentile"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How much is done: ``tiny`` proves that a benchmark runs, ``usual`` measures, ``full`` is what the design names.

    ``large`` adds what takes an hour.
    """

    size: Literal["tiny", "usual", "full"] = "usual"
    large: bool = False

    def pick(self, *, tiny: T, usual: T, full: T | None = None) -> T:
        """Give the value for the size; ``full`` is the usual one where it is not given."""
        if self.size == "tiny":
            return tiny
        return full if self.size == "full" and full is not None else usual


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What the design asks for: a row's ratio, or our own value, is at most or at least ``value``."""

    value: float
    of: Literal["ratio", "ours"] = "ours"
    at_least: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table.

    Attributes:
        what: what was measured.
        ours: our value, in ``unit``.
        unit: such as ``ms``; empty for a plain number, ``×`` for a ratio, ``%`` for a share of 100.
        control: the same of what we compare with, in the same unit; None where there is nothing to compare with.
        reach: what the design asks for; None where the row only informs.
        note: what the control is, or what must be known to read the row.
    """

    what: str
    ours: float
    unit: str = ""
    control: float | None = None
    reach: Reach | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Our value divided by the control's."""
        return self.ours / self.control if self.control else None

    @property
    def met(self) -> bool | None:
        """Whether the design's reach is met; None where it names none."""
        if self.reach is None:
            return None
        judged = self.ours if self.reach.of == "ours" else self.ratio
        if judged is None:
            return None
        return judged >= self.reach.value if self.reach.at_least else judged <= self.reach.value

    def to_json(self) -> dict[str, Any]:
        """Give the row as plain values."""
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Row:
        """Read what :meth:`to_json` gave."""
        reach = value["reach"]
        return Row(**{**value, "reach": None if reach is None else Reach(**reach)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark: its name on the command line, its title, and what measures; ``run`` may write into the folder given.

    ``opt_in``: it runs only when it is named.
    """

    name: str
    title: str
    run: Callable[[Options, Path], list[Row]]
    opt_in: bool = False


@dataclass(slots=True)
class Spent:
    """Seconds that a stretch took: on the wall, CPU of the process, and CPU of the measuring thread."""

    wall: float = 0.0
    cpu: float = 0.0
    thread: float = 0.0


@contextmanager
def clock() -> Iterator[Spent]:
    """Measure the block; the values are there when it has ended."""
    spent = Spent()
    wall, cpu, thread = time.perf_counter(), time.process_time(), time.thread_time()
    try:
        yield spent
    finally:
        spent.thread = time.thread_time() - thread
        spent.cpu = time.process_time() - cpu
        spent.wall = time.perf_counter() - wall


def median(values: Sequence[float]) -> float:
    """Give the median."""
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """Give the smallest value that ``share`` of the values don't exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, -(-len(ordered) * int(share * 1000) // 1000) - 1))]


def fsync_seconds(folder: Path, rounds: int) -> float:
    """Give the median time of writing 4 096 bytes to the disk of a folder and waiting until they are there, in seconds."""
    times: list[float] = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _round in range(rounds):
            file.write(b"x" * 4096)
            with clock() as spent:
                os.fsync(file.fileno())
            times.append(spent.wall)
    return median(times)
