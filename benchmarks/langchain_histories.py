"""Chat histories and a memory of LangChain's own, and ours, side by side in one run.

``uv run --with langchain-community --with aiosqlite python -m benchmarks.langchain_histories`` prints the table; ``--write`` puts
it into ``docs/langchain.md``. The stock histories live in that package, which nothing else here needs. Each pair runs the same
calls, in turn; values are medians of the rounds. Both write to files with the durability that they have by default.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from lossless import Engine
from lossless_langchain import LosslessChatMessageHistory, LosslessMemory

__all__ = ["PAGE", "main", "table"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "langchain.md"
_BEGIN, _END = "<!-- histories: begin -->", "<!-- histories: end -->"
_ROUNDS = 3
_CALLERS, _EACH = 32, 5


def main(arguments: Sequence[str]) -> int:
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
    lines += [
        _line("SQL history: 1 000 messages in one call, rows/s", 1_000, _batch, _Sql, _Ours),
        _line("SQL history: 200 messages one at a time, rows/s", 200, _singly, _Sql, _Ours),
        _line("SQL history, async: 1 000 messages in one call, rows/s", 1_000, _abatch, _AsyncSql, _Ours),
        _line("SQL history, async: 200 messages one at a time, rows/s", 200, _asingly, _AsyncSql, _Ours),
        _line("file history: 1 000 messages in one call, rows/s", 1_000, _batch, _File, _Ours, rounds=1),
        _line("file history: 500 messages one at a time, rows/s", 500, _singly, _File, _Ours, rounds=1),
        _line(f"SQL history: {_CALLERS} callers, {_EACH} messages each, rows/s", _CALLERS * _EACH, _callers, _Sql, _Ours),
    ]
    lines += [_loads("SQL history: CPU of one read at 4 000 messages, ms", _Sql)]
    lines += [
        _memories("summary-buffer memory: CPU of a turn, of 80, ms", turns=80, stored=False),
        _memories("summary-buffer memory over an SQL history: CPU of a turn, the last 20 of 150, ms", turns=150, stored=True),
    ]
    return "\n".join(lines)


def _line(what: str, count: int, run: Callable[[Any, int], None], stock: Any, ours: Any, *, rounds: int = _ROUNDS) -> str:
    """Measure rows a second; of single calls also the CPU time."""
    seconds: dict[str, list[float]] = {"stock": [], "ours": []}
    cpu: dict[str, list[float]] = {"stock": [], "ours": []}
    for _ in range(rounds):
        for name, make in (("stock", stock), ("ours", ours)):
            with tempfile.TemporaryDirectory() as folder, make(Path(folder), None) as get:
                warm = _abatch if make is _AsyncSql else _batch  # makes tables and loads vocabularies, on both sides
                warm(lambda: get("warm"), 1)
                started, used = time.perf_counter(), time.process_time()
                run(get, count)
                seconds[name].append(time.perf_counter() - started)
                cpu[name].append(time.process_time() - used)
    rates = {name: count / median(found) for name, found in seconds.items()}
    share = median(cpu["ours"]) / median(cpu["stock"])
    return (
        f"| {what} | {rates['stock']:,.0f} | {rates['ours']:,.0f} "
        f"| {rates['ours'] / rates['stock']:.1f} ×, {share:.2f} × the CPU |"
    )


def _loads(what: str, stock: Any) -> str:
    """Measure reads of a long history: the stock one whole, ours within a window of 8 000 tokens."""
    found: dict[str, float] = {}
    for name, make, window in (("stock", stock, None), ("ours", _Ours, 8_000)):
        with tempfile.TemporaryDirectory() as folder, make(Path(folder), window) as get:
            history = get()
            history.add_messages(_messages(4_000))
            history.messages  # noqa: B018 - caches warm on both sides
            rounds = []
            for _ in range(_ROUNDS):
                used = time.process_time()
                history.messages  # noqa: B018
                rounds.append(time.process_time() - used)
            found[name] = 1e3 * median(rounds)
    return f"| {what} | {found['stock']:.1f} | {found['ours']:.1f} | {found['stock'] / found['ours']:.0f} × |"


def _memories(what: str, *, turns: int, stored: bool) -> str:
    """Measure saving and loading a turn under a limit of 2 000 tokens, with a scripted model for the summaries.

    ``stored``: both on files, the stock memory with an SQL history; else both in memory.
    """
    from langchain_classic.memory import ConversationSummaryBufferMemory
    from langchain_core.language_models import FakeListChatModel

    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, _Sql(Path(folder), None) as get:
        url = f"sqlite:///{folder}/ours.db" if stored else "sqlite://"
        with Engine(url, background=False) as engine:

            class Model(FakeListChatModel):
                def get_num_tokens_from_messages(self, messages: Any, tools: Any = None) -> int:
                    del tools
                    return sum(4 + engine.counter.count(message.text) for message in messages)

            model = Model(responses=["The user told of invoices, one after the other."])
            kept = {"chat_memory": get()} if stored else {}
            stock: Any = ConversationSummaryBufferMemory(llm=model, max_token_limit=2_000, **kept)
            for name, memory in (("stock", stock), ("ours", LosslessMemory(engine, llm=model, max_token_limit=2_000))):
                rounds = []
                for message in _messages(2 * turns)[::2]:
                    used = time.process_time()
                    memory.save_context({"input": message.text}, {"output": "Noted."})
                    memory.load_memory_variables({})
                    rounds.append(time.process_time() - used)
                measured = rounds[-20:] if stored else rounds[20:]
                found[name] = 1e3 * sum(measured) / len(measured)
    return f"| {what} | {found['stock']:.1f} | {found['ours']:.1f} | {found['stock'] / found['ours']:.1f} × |"


def _batch(get: Callable[..., Any], count: int) -> None:
    get().add_messages(_messages(count))


def _singly(get: Callable[..., Any], count: int) -> None:
    history = get()
    for message in _messages(count):
        history.add_messages([message])


def _abatch(get: Callable[..., Any], count: int) -> None:
    asyncio.run(get().aadd_messages(_messages(count)))


def _asingly(get: Callable[..., Any], count: int) -> None:
    async def add() -> None:
        history = get()
        for message in _messages(count):
            await history.aadd_messages([message])

    asyncio.run(add())


def _callers(get: Callable[..., Any], _count: int) -> None:
    histories = [get() for _ in range(_CALLERS)]
    workers = [threading.Thread(target=_say, args=(history,)) for history in histories]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _say(history: Any) -> None:
    for message in _messages(_EACH):
        history.add_messages([message])


def _messages(count: int) -> list[BaseMessage]:
    kinds = (HumanMessage, AIMessage)
    return [kinds[n % 2](f"Message {n} about invoice {n * 7}: " + "some more words of it " * 8) for n in range(count)]


class _Sql:
    """The stock SQL history."""

    def __init__(self, folder: Path, _window: int | None) -> None:
        self._url = f"sqlite:///{folder / 'stock.db'}"

    def __enter__(self) -> Callable[..., Any]:
        from langchain_community.chat_message_histories import SQLChatMessageHistory
        from sqlalchemy import create_engine

        self._engine = create_engine(self._url, connect_args={"timeout": 120})
        return lambda session="s": SQLChatMessageHistory(session, connection=self._engine)

    def __exit__(self, *_error: object) -> None:
        self._engine.dispose()


class _AsyncSql(_Sql):
    """The stock SQL history with an asynchronous driver."""

    def __enter__(self) -> Callable[..., Any]:
        from langchain_community.chat_message_histories import SQLChatMessageHistory
        from sqlalchemy.ext.asyncio import create_async_engine
        from sqlalchemy.pool import NullPool

        url = self._url.replace("sqlite:", "sqlite+aiosqlite:")
        # Without a pool no connection outlives the event loop that opened it.
        engine = create_async_engine(url, poolclass=NullPool)
        return lambda session="s": SQLChatMessageHistory(session, connection=engine, async_mode=True)

    def __exit__(self, *_error: object) -> None:
        """Nothing is open any more."""


class _File:
    """The stock history in a JSON file."""

    def __init__(self, folder: Path, _window: int | None) -> None:
        self._path = folder / "any"

    def __enter__(self) -> Callable[..., Any]:
        from langchain_community.chat_message_histories import FileChatMessageHistory

        return lambda session="s": FileChatMessageHistory(str(self._path.with_name(session)))

    def __exit__(self, *_error: object) -> None:
        for session in ("s", "warm"):
            self._path.with_name(session).unlink(missing_ok=True)


class _Ours:
    """Ours."""

    def __init__(self, folder: Path, window: int | None) -> None:
        self._engine = Engine(f"sqlite:///{folder / 'ours.db'}", window=window, background=False)

    def __enter__(self) -> Callable[..., Any]:
        return lambda session="s": LosslessChatMessageHistory(session, self._engine)

    def __exit__(self, *_error: object) -> None:
        self._engine.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
