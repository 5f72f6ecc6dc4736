"""What LangGraph's own conformance suite says of the saver: every capability, through async and sync methods, on both databases.

``uv run python -m benchmarks.langgraph_conformance`` prints the report; ``--write-docs`` puts it into ``docs/langgraph.md``.
PostgreSQL is a server that the tests start; ``LOSSLESS_TEST_POSTGRES_URL`` names another.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate

from lossless import Engine
from lossless_langgraph import LosslessSaver

__all__ = ["COLUMNS", "PAGE", "ThroughSyncMethods", "column", "main", "shown", "table"]

_ROOT = Path(__file__).resolve().parents[1]
PAGE = _ROOT / "docs" / "langgraph.md"
_BEGIN, _END = "<!-- conformance: begin -->", "<!-- conformance: end -->"


class ThroughSyncMethods(BaseCheckpointSaver[str]):
    """A saver whose async methods call the sync ones."""

    def __init__(self, saver: LosslessSaver) -> None:
        super().__init__()
        self.saver = saver

    async def aget_tuple(self, config: Any) -> Any:
        """Call the sync method."""
        return self.saver.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[Any]:
        """Call the sync method."""
        for one in self.saver.list(config, **options):
            yield one

    async def aput(self, *given: Any) -> Any:
        """Call the sync method."""
        return self.saver.put(*given)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        """Call the sync method."""
        self.saver.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Call the sync method."""
        self.saver.delete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Any) -> None:
        """Call the sync method."""
        self.saver.delete_for_runs(run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Call the sync method."""
        self.saver.copy_thread(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
        """Call the sync method."""
        self.saver.prune(thread_ids, strategy=strategy)


_THROUGH: dict[str, Callable[[LosslessSaver], BaseCheckpointSaver[str]]] = {
    "async": lambda saver: saver,
    "sync": ThroughSyncMethods,
}
COLUMNS = tuple(f"{database}, {through}" for database in ("SQLite", "PostgreSQL") for through in _THROUGH)


def column(saver: LosslessSaver, through: str) -> dict[str, str]:
    """Run the suite, and give by capability how many of its tests pass, as ``9 of 9``; ``none`` where it is not there."""

    @checkpointer_test(name="LosslessSaver")
    async def made() -> Any:
        yield _THROUGH[through](saver)

    results = asyncio.run(validate(made)).results
    return {
        name: f"{one.tests_passed} of {one.tests_passed + one.tests_failed}" if one.detected else "none"
        for name, one in results.items()
    }


def table(columns: Mapping[str, Mapping[str, str]]) -> str:
    """Write columns as a table."""
    names = list(next(iter(columns.values())))
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    return "\n".join([*lines, *(f"| `{name}` | {' | '.join(one[name] for one in columns.values())} |" for name in names)])


def shown(text: str) -> dict[str, dict[str, str]]:
    """Give the columns of the table that a page shows."""
    heads, _line, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in text.split(_BEGIN)[1].split(_END)[0].strip().splitlines()
    )
    return {head: {row[0].strip("`"): row[place] for row in rows} for place, head in enumerate(heads) if place}


def main(arguments: Sequence[str] = ()) -> int:
    """Print the report, or write it into its page."""
    sys.path.insert(0, str(_ROOT / "tests" / "support"))
    from lossless_postgres import shared_server

    columns = {}
    with shared_server().database() as postgres:
        for database, url in (("SQLite", "sqlite://"), ("PostgreSQL", postgres)):
            with Engine(url, load_plugins=False) as engine:
                columns |= {f"{database}, {through}": column(LosslessSaver(engine), through) for through in _THROUGH}
    found = table(columns)
    if "--write-docs" in arguments:
        before, rest = PAGE.read_text(encoding="utf-8").split(_BEGIN)
        PAGE.write_text(f"{before}{_BEGIN}\n{found}\n{_END}{rest.split(_END)[1]}", encoding="utf-8")
    else:
        print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
