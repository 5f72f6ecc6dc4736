"""LlamaIndex's own stores, memory and agent beside ours: what they keep (counts), and what they take (times, in one run).

``uv run python -m benchmarks.llamaindex_memory`` prints the tables; ``--write`` puts them into ``docs/llamaindex.md``;
``--counts``, ``--times`` and ``--beyond`` choose some. Counts are the same at every run; of times, the ratios matter.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import warnings
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, MessageRole, ToolCallBlock
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from llama_index.core.utils import get_tokenizer
from pydantic import Field
from sqlalchemy.ext.asyncio import create_async_engine

from lossless import Engine
from lossless_llamaindex import LosslessAsyncChatStore, LosslessFunctionAgent, LosslessMemory

__all__ = ["PAGE", "beyond", "counts", "main", "times"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "llamaindex.md"
_LIMIT = 2_000
_REQUEST = "Find the page that matters to invoice 4711."
_WORD = "word "
_NEW, _READS = 100, 7


def main(arguments: Sequence[str] = ()) -> int:
    """Print the tables, or write them into their page."""
    warnings.simplefilter("ignore")
    tables: dict[str, Callable[[], str]] = {"counts": counts, "times": times, "beyond": beyond}
    found = {name: tables[name]() for name in [name for name in tables if f"--{name}" in arguments] or tables}
    text = PAGE.read_text(encoding="utf-8") if "--write" in arguments else ""
    for name, table in found.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if text:
            before, rest = text.split(begin)
            text = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
        else:
            print(table)
    if text:
        PAGE.write_text(text, encoding="utf-8")
    return 0


# What they keep


def counts() -> str:
    """Run the same scripted agent under three memories, and give the table."""
    columns = [asyncio.run(_agent(kind)) for kind in ("ChatMemoryBuffer", "Memory", "LosslessMemory")]
    heads = ["`FunctionAgent`, `ChatMemoryBuffer`", "`FunctionAgent`, `Memory`", "`LosslessFunctionAgent`, `LosslessMemory`"]
    lines = [f"| | {' | '.join(heads)} |", "|---|---|---|---|"]
    lines += [f"| {what} | {' | '.join(str(column[what]) for column in columns)} |" for what in columns[0]]
    return "\n".join(lines)


async def _agent(kind: str) -> dict[str, int]:
    """Let an agent read eight pages of 3 000 words under a limit of 2 000 tokens."""
    llm = _Reader()
    with Engine("sqlite://", background=False) as engine:
        memory: Any = {
            "ChatMemoryBuffer": lambda: ChatMemoryBuffer.from_defaults(token_limit=_LIMIT),
            "Memory": lambda: Memory.from_defaults(token_limit=_LIMIT, chat_store=LosslessAsyncChatStore(engine)),
            "LosslessMemory": lambda: LosslessMemory(engine, token_limit=_LIMIT),
        }[kind]()
        kept_when_called: list[int] = []

        async def page(number: int) -> str:
            """Read a page."""
            kept_when_called.append(len(await memory.aget_all()))
            return f"Page {number}: {_WORD * 3_000}"

        cls = LosslessFunctionAgent if kind == "LosslessMemory" else FunctionAgent
        await cls(llm=llm, tools=[page], streaming=False).run(_REQUEST, memory=memory)
        sizes = [_tokens(seen) for seen in llm.seen]
        return {
            "model calls": len(sizes),
            f"of them with a prompt over {_LIMIT:,} tokens".replace(",", " "): sum(size > _LIMIT for size in sizes),
            "of them that see the request": sum(any(message.content == _REQUEST for message in seen) for seen in llm.seen),
            "the largest prompt, words": max(sum(len((m.content or "").split()) for m in seen) for seen in llm.seen),
            "messages in the memory while the eighth tool runs, of 16": kept_when_called[-1],
        }


def _tokens(messages: Sequence[ChatMessage]) -> int:
    count = get_tokenizer()
    return sum(len(count(message.content or "")) for message in messages)


class _Reader(MockFunctionCallingLLM):
    """Asks for one page after the other, and remembers what it was shown."""

    seen: list[list[ChatMessage]] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        """Say that it calls functions."""
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True, context_window=100_000)

    async def achat(self, messages: Sequence[ChatMessage], **_options: Any) -> ChatResponse:
        """Ask for the next page."""
        self.seen.append(list(messages))
        number = len(self.seen)
        block = ToolCallBlock(tool_call_id=f"call_{number}", tool_name="page", tool_kwargs={"number": number})
        if number > 8:
            return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content="Found."))
        return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, blocks=[block]))

    def get_tool_calls_from_response(self, response: ChatResponse, *_given: Any, **_options: Any) -> list[ToolSelection]:
        """Give the calls of an answer."""
        blocks = [block for block in response.message.blocks if isinstance(block, ToolCallBlock)]
        return [ToolSelection(tool_id=b.tool_call_id or "", tool_name=b.tool_name, tool_kwargs=b.tool_kwargs) for b in blocks]  # type: ignore[arg-type]

    def _prepare_chat_with_tools(self, *_given: Any, chat_history: Any = None, **_options: Any) -> dict[str, Any]:
        return {"messages": list(chat_history or ())}


# What they take


def times(sizes: Sequence[int] = (1_000, 10_000)) -> str:
    """Put and get messages with so many in the memory, and give the table of medians in milliseconds."""
    rows = {size: asyncio.run(_measured(size)) for size in sizes}
    heads = ("ms, p50", "messages", "`Memory`, `SQLAlchemyChatStore`", "`LosslessMemory`", "the core's append", "a bare commit")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for size, found in rows.items():
        for what, spent in found.items():
            shown = " | ".join("" if each is None else f"{1e3 * each:.2f}" for each in spent)
            lines.append(f"| {what} | {size:,} | {shown} |".replace(",", " "))
    return "\n".join(lines)


def beyond(sizes: Sequence[int] = (1_000, 10_000)) -> str:
    """Put messages where a commit waits for no disk, so that what else a put takes is seen, and give the table."""
    heads = ("ms, p50", "messages", "`LosslessMemory`", "the core's append", "a bare commit")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for size in sizes:
        spent = asyncio.run(_in_ram(size))
        lines.append(f"| `aput` | {size:,} | ".replace(",", " ") + " | ".join(f"{1e3 * each:.2f}" for each in spent) + " |")
    return "\n".join(lines)


async def _in_ram(size: int) -> list[float]:
    room = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="lossless-benchmarks-", dir=room) as folder, _ours(folder, size) as (engine, ours):
        return await _puts(folder, engine, ours)


async def _measured(size: int) -> dict[str, tuple[float | None, ...]]:
    filled = [_said(n) for n in range(size)]
    with tempfile.TemporaryDirectory(prefix="lossless-benchmarks-") as folder, _ours(folder, size) as (engine, ours):
        mine, core, commit = await _puts(folder, engine, ours)
        (my_read,) = await _in_turn(_NEW, lambda _n: ours.aget())
        # The stock one by itself: it runs for seconds, and who comes after it finds cold caches.
        async with _StockMemory(folder, filled) as stock:
            put, read = await _in_turn(_READS, lambda n: stock.aput(_said(n)), lambda _n: stock.aget())
    return {"`aput`": (put, mine, core, commit), "`aget`": (read, my_read, None, None)}


@contextmanager
def _ours(folder: str, size: int) -> Iterator[tuple[Engine, LosslessMemory]]:
    """Give a memory with so many messages in it."""
    with Engine(f"sqlite:///{folder}/ours.db") as engine:
        memory = LosslessMemory(engine, session_id="ours", token_limit=32_000)
        memory.put_messages([_said(n) for n in range(size)])
        memory.thread().compact()
        yield engine, memory


async def _puts(folder: str, engine: Engine, ours: LosslessMemory) -> list[float]:
    """Put messages into a memory, beside the core's append and a bare commit of the same text."""
    thread = engine.thread("control")
    with closing(_bare(f"{folder}/bare.db")) as bare:
        return await _in_turn(
            _NEW,
            lambda n: ours.aput(_said(n)),
            lambda n: thread.aappend({"role": "user", "content": _said(n).content}),
            lambda n: asyncio.to_thread(bare.execute, "INSERT INTO t VALUES (?)", (_said(n).content,)),
        )


def _bare(path: str) -> sqlite3.Connection:
    """Give a table that writes one row a commit, as durably as ours."""
    made = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE t (text)"):
        made.execute(statement)
    return made


class _StockMemory:
    """The stock memory over its own store, in a file; nothing of it is flushed."""

    def __init__(self, folder: str, filled: list[ChatMessage]) -> None:
        self._engine = create_async_engine(f"sqlite+aiosqlite:///{folder}/stock.db")
        self._filled = filled

    async def __aenter__(self) -> Memory:
        store = SQLAlchemyChatStore(table_name="t", async_engine=self._engine)
        for start in range(0, len(self._filled), 1_000):
            await store.add_messages("stock", self._filled[start : start + 1_000])
        return Memory.from_defaults(session_id="stock", chat_store=store, token_limit=100_000_000)

    async def __aexit__(self, *_error: object) -> None:
        await self._engine.dispose()


async def _in_turn(times: int, *calls: Callable[[int], Awaitable[Any]]) -> list[float]:
    """Make calls in turn, so that all meet the same noise, and give the median of each, in seconds."""
    spent: list[list[float]] = [[] for _ in calls]
    for n in range(times):
        for place, each in enumerate(calls):
            begun = perf_counter()
            await each(n)
            spent[place].append(perf_counter() - begun)
    return [median(each) for each in spent]


def _said(number: int) -> ChatMessage:
    role = MessageRole.ASSISTANT if number % 2 else MessageRole.USER
    return ChatMessage(role=role, content=f"Message {number}: {_WORD * 60}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
