"""Progress: a bar on stderr while files are read, if a person is looking at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lossless.cli.output import console, first_words, say

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

__all__ = ["Progress", "progress_on"]


class Progress:
    """The progress of a run over files; without bars it only passes on what is said."""

    def __init__(self, bars: Bars | None, tasks: dict[Path, TaskID] | None = None) -> None:
        self._bars = bars
        self._tasks = tasks or {}

    def of(self, path: Path) -> Callable[[int], None] | None:
        """Give what takes note of the bytes read of a file, or None if nobody looks."""
        if self._bars is None:
            return None
        bars, task = self._bars, self._tasks[path]
        bars.start_task(task)
        bars.update(task, visible=True)
        return lambda read: bars.update(task, completed=read)

    def finished(self, path: Path) -> None:
        """Take a file that was read off the screen."""
        if self._bars is not None:
            self._bars.update(self._tasks[path], visible=False)

    def say(self, line: str) -> None:
        """Say something above the bars."""
        if self._bars is None:
            say(line)
        else:
            self._bars.console.print(line, soft_wrap=True)


@contextmanager
def progress_on(paths: Sequence[Path]) -> Iterator[Progress]:
    """Show bars for files on stderr if it is a terminal."""
    out = console(stderr=True)
    if not out.is_terminal or out.is_dumb_terminal:
        yield Progress(None)
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Bars(*columns, console=out, transient=True) as bars:
        tasks = {
            path: bars.add_task(first_words(path.name, 30), total=path.stat().st_size, visible=False, start=False)
            for path in paths
        }
        yield Progress(bars, tasks)
