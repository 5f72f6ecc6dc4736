"""LlamaIndex's own chat stores and ours, side by side in one run.

``uv run --with llama-index-storage-chat-store-sqlite python -m benchmarks.llamaindex_stores`` prints the table; ``--write`` puts
it into ``docs/llamaindex.md``. The stock SQLite store lives in that package, which nothing else here needs. Each pair makes the
same calls, in turn; values are medians of the rounds. All write to files with the durability that they have by default.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy.ext.asyncio import create_async_engine

from lossless import Engine
from lossless_llamaindex import LosslessAsyncChatStore, LosslessChatStore

__all__ = ["PAGE", "main", "table"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "llamaindex.md"
_BEGIN, _END = "<!-- stores: begin -->", "<!-- stores: end -->"
_ROUNDS = 3
_CALLERS, _EACH = 32, 5
_WINDOW = 8_000
Run = Callable[[Any, list[ChatMessage]], object]


def main(arguments: Sequence[str] = ()) -> int:
    """Print the table, or write it into the page."""
    warnings.simplefilter("ignore")
    found = table()
    print(found)
    if "--write" in arguments:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
        PAGE.write_text(f"{before}{_BEGIN}\n{found}\n{_END}{rest.partition(_END)[2]}", encoding="utf-8")
    return 0


def table() -> str:
    """Measure, and write the rows of the table."""
    lines = ["| | stock | ours | ratio |", "|---|---|---|---|"]
    for name, stock, ours in (("`SQLiteChatStore`", _Lite, _Ours), ("`SQLAlchemyChatStore`", _Queue, _OurQueue)):
        lines += [
            _rates(f"{name}: 1 000 messages in one call, rows/s", 1_000, stock, ours, lambda store, given: store.add_all(given)),
            _rates(f"{name}: 100 messages one at a time, rows/s", 100, stock, ours, _singly),
            _rates(
                f"{name}: {_CALLERS} callers, {_EACH} messages each, rows/s",
                _CALLERS * _EACH,
                stock,
                ours,
                lambda store, given: store.callers(given[:_EACH]),
            ),
        ]
    lines += [_persisted("`SimpleChatStore`, persisted: 300 messages one at a time, rows/s")]
    lines += [_reads(size) for size in (1_000, 4_000, 16_000)]
    return "\n".join(lines)


def _rates(what: str, count: int, stock: Any, ours: Any, run: Run) -> str:
    """Measure rows a second, and CPU time."""
    seconds: dict[str, list[float]] = {"stock": [], "ours": []}
    cpu: dict[str, list[float]] = {"stock": [], "ours": []}
    for _ in range(_ROUNDS):
        for name, make in (("stock", stock), ("ours", ours)):
            with tempfile.TemporaryDirectory() as folder, make(Path(folder)) as store:
                store.add(_messages(1)[0], "warm")  # makes tables and loads vocabularies, on both sides
                given = _messages(count)
                started, used = time.perf_counter(), time.process_time()
                run(store, given)
                seconds[name].append(time.perf_counter() - started)
                cpu[name].append(time.process_time() - used)
    rates = {name: count / median(found) for name, found in seconds.items()}
    share = median(cpu["ours"]) / median(cpu["stock"])
    ratio = f"{rates['ours'] / rates['stock']:.1f} ×, {share:.2f} × the CPU"
    return f"| {what} | {_count(rates['stock'])} | {_count(rates['ours'])} | {ratio} |"


def _persisted(what: str) -> str:
    """Measure the store in memory, which some versions of pydantic keep from writing its file."""
    try:
        return _rates(what, 300, _Simple, _Ours, _singly)
    except Exception as error:
        return f"| {what} | fails: `{type(error).__name__}` |  |  |"


def _reads(size: int) -> str:
    """Measure reads of a long chat: the stock one whole, ours within a window."""
    found: dict[str, float] = {}
    for name, make in (("stock", _Lite), ("ours", lambda folder: _Ours(folder, _WINDOW))):
        with tempfile.TemporaryDirectory() as folder, make(Path(folder)) as store:
            store.add_all(_messages(size))
            store.get()  # caches warm on both sides
            rounds = []
            for _ in range(_ROUNDS):
                used = time.process_time()
                store.get()
                rounds.append(time.process_time() - used)
            found[name] = 1e3 * median(rounds)
    what = f"`SQLiteChatStore`: CPU of one `get_messages` at {_count(size)} messages, ms"
    return f"| {what} | {found['stock']:.1f} | {found['ours']:.1f} | {found['stock'] / found['ours']:.0f} × |"


def _count(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def _singly(store: Any, given: list[ChatMessage]) -> None:
    for message in given:
        store.add(message)


def _messages(count: int) -> list[ChatMessage]:
    kinds = (MessageRole.USER, MessageRole.ASSISTANT)
    return [
        ChatMessage(role=kinds[n % 2], content=f"Message {n} about invoice {n * 7}: " + "some more words of it " * 8)
        for n in range(count)
    ]


class _Sync:
    """A chat store that is called from threads."""

    store: Any

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_error: object) -> None:
        """Leave nothing open."""

    def add(self, message: ChatMessage, key: str = "k") -> None:
        self.store.add_message(key, message)

    def add_all(self, messages: list[ChatMessage]) -> None:
        self.store.set_messages("k", messages)

    def get(self) -> list[ChatMessage]:
        found: list[ChatMessage] = self.store.get_messages("k")
        return found

    def callers(self, messages: list[ChatMessage]) -> None:
        with ThreadPoolExecutor(_CALLERS) as pool:
            list(pool.map(lambda _n: [self.add(message) for message in messages], range(_CALLERS)))


class _Lite(_Sync):
    """The stock SQLite store."""

    def __init__(self, folder: Path) -> None:
        from llama_index.storage.chat_store.sqlite import SQLiteChatStore

        self.store = SQLiteChatStore.from_params(
            "chat",
            connection_string=f"sqlite:///{folder / 'stock.db'}?timeout=120",
            async_connection_string="sqlite+aiosqlite://",
        )


class _Simple(_Sync):
    """The stock store in memory, written to its file after each message."""

    def __init__(self, folder: Path) -> None:
        self.store, self._path = SimpleChatStore(), str(folder / "stock.json")

    def add(self, message: ChatMessage, key: str = "k") -> None:
        self.store.add_message(key, message)
        self.store.persist(self._path)


class _Ours(_Sync):
    """Ours."""

    def __init__(self, folder: Path, window: int | None = None) -> None:
        self._engine = Engine(f"sqlite:///{folder / 'ours.db'}", window=window, background=False)
        self.store = LosslessChatStore(self._engine)

    def __exit__(self, *_error: object) -> None:
        self._engine.close()


class _Async:
    """A store of ``Memory``, which is called from a loop."""

    store: Any
    engine: Any

    def __enter__(self) -> Any:
        self._runner = asyncio.Runner()
        return self

    def add(self, message: ChatMessage, key: str = "k") -> None:
        self._runner.run(self.store.add_message(key, message))

    def add_all(self, messages: list[ChatMessage]) -> None:
        self._runner.run(self.store.add_messages("k", messages))

    def callers(self, messages: list[ChatMessage]) -> None:
        async def one() -> None:
            for message in messages:
                await self.store.add_message("k", message)

        async def every() -> None:
            await asyncio.gather(*(one() for _ in range(_CALLERS)))

        self._runner.run(every())


class _Queue(_Async):
    """The stock one."""

    def __init__(self, folder: Path) -> None:
        self.engine = create_async_engine(f"sqlite+aiosqlite:///{folder / 'stock.db'}", connect_args={"timeout": 120})
        self.store = SQLAlchemyChatStore(table_name="t", async_engine=self.engine)

    def __exit__(self, *_error: object) -> None:
        self._runner.run(self.engine.dispose())
        self._runner.close()


class _OurQueue(_Async):
    """Ours."""

    def __init__(self, folder: Path) -> None:
        self.engine = Engine(f"sqlite:///{folder / 'ours.db'}", background=False)
        self.store = LosslessAsyncChatStore(self.engine)

    def __exit__(self, *_error: object) -> None:
        self._runner.close()
        self.engine.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
