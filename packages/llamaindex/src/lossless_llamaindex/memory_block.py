"""A block of LlamaIndex's ``Memory`` that recalls what left its queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory.memory import BaseMemoryBlock
from pydantic import Field

from lossless import Budget, Engine, Thread
from lossless.errors import LosslessError
from lossless.store.folding import RUN, fold, run_tokens
from lossless.twins import async_twin
from lossless_llamaindex.codec import decode_stored
from lossless_llamaindex.connected import Connected
from lossless_llamaindex.stores.async_chat_store import is_archived
from lossless_llamaindex.stores.threads import checked, payloads_of, store

__all__ = ["LosslessMemoryBlock"]

_SESSION = "session_id"
"""Where Memory writes a message's session before it gives it to blocks."""
_WORDS = 24
_HITS = 8
_MEANWHILE = 256
"""Messages that others may store in a thread between the archiving of some and their flush to a block."""


class LosslessMemoryBlock(Connected, BaseMemoryBlock[str]):
    """Keeps what ``Memory`` takes out of its queue, and recalls it: the summary of it, and what the newest request is about.

    Where the memory's chat store is a ``LosslessAsyncChatStore`` of the same session, the messages are stored already, and
    are not stored again.

    Args:
        engine: where messages are; or its URL.
        url: instead of an engine; none of both: ``$LOSSLESS_URL``, else ``sqlite:///lossless.db``.
        session_id: the thread's id; None: the memory's session.
        token_limit: the most tokens that it recalls.
        name: of the block.
        priority: 0: never truncated; otherwise the order in which blocks are.
    """

    session_id: str | None = None
    token_limit: int = Field(default=1_000, gt=0)

    def __init__(
        self,
        engine: Engine | str | None = None,
        url: str | None = None,
        session_id: str | None = None,
        token_limit: int = 1_000,
        name: str = "recall",
        priority: int = 0,
        **others: Any,
    ) -> None:
        own = {"session_id": session_id, "token_limit": token_limit, "name": name, "priority": priority}
        super().__init__(engine=engine, url=url, **own, **others)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        session = self.session_id or block_kwargs.get(_SESSION)
        return await self._arecall(str(session), list(messages or ())) if session else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        by_session: dict[str, list[ChatMessage]] = {}
        for message in checked(messages):
            session = self.session_id or message.additional_kwargs.get(_SESSION) or "memory"
            by_session.setdefault(str(session), []).append(_without_session(message))
        for session, of_session in by_session.items():
            await self._akeep(session, of_session)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out lines from the front until so many tokens are saved; None if nothing is left."""
        lines, count = content.split("\n"), self.engine.counter.count
        saved = 0
        while lines and saved < tokens_to_truncate:
            saved += count(lines.pop(0)) + 1
        return "\n".join(lines) or None

    def _keep(self, session: str, messages: list[ChatMessage]) -> None:
        thread = self._thread(session)
        if not _holds(_archived_last(thread, len(messages)), messages):
            store(thread, payloads_of(messages))
        if thread.count():
            thread.compact(by_hand=False)

    def _recall(self, session: str, messages: list[ChatMessage]) -> str:
        thread = self._thread(session)
        active = {message.content or "" for message in messages}
        request = next((message.content or "" for message in reversed(messages) if message.role == MessageRole.USER), "")
        found = self._found(thread, request, active)
        items = [item for item in thread.context().items if item.kind in ("summary", "message", "stub")]
        overview = [item.text for item in items if item.text not in active and item.text not in "\n".join(found)]
        half = self.token_limit // 2 if found else self.token_limit
        count = self.engine.counter.count
        shown = _within(overview, half, count)
        return "\n".join([*shown, *_within(found, self.token_limit - sum(map(count, shown)), count)])

    _akeep = async_twin(_keep)
    _arecall = async_twin(_recall)

    def _found(self, thread: Thread, request: str, active: set[str]) -> list[str]:
        """Give the messages that share the most telling words with a request."""
        words = _telling(request)
        if not words:
            return []
        try:
            hits = list(thread.grep(" OR ".join(f'"{word}"' for word in words), mode="words", limit=_HITS).items)
        except LosslessError:  # encrypted: there is no index
            return []
        found: dict[str, str] = {}  # by id: what was archived is found as it was, too
        for hit in sorted(hits, key=lambda hit: hit.seq):
            for message in thread.expand(hit.message_id) if hit.message_id not in found else ():
                if message.text and message.text not in active:
                    found[message.id] = f"[{message.id} {message.role}] {message.text}"
        return list(found.values())

    def _thread(self, session: str) -> Thread:
        return self.engine.thread(session, budget=Budget(window=self.token_limit, reserve=0))


def _telling(request: str) -> list[str]:
    """Give the words of a request that may tell most: those with digits, then the longest; in scripts without spaces, pairs."""
    words: dict[str, None] = {}
    for run in RUN.finditer(fold(request)):
        if run.lastindex:
            words.update(dict.fromkeys(run_tokens(run[0])[:-1]))
        elif len(run[0]) >= 3 or (len(run[0]) == 2 and _numbered(run[0])):
            words[run[0]] = None
    return sorted(words, key=lambda word: (not _numbered(word), -len(word)))[:_WORDS]


def _numbered(word: str) -> bool:
    return any(map(str.isdigit, word))


def _within(lines: Sequence[str], limit: int, count: Any) -> list[str]:
    """Give as many lines as fit, the first ones first; of one that does not, nothing."""
    kept, left = [], limit
    for line in lines:
        size = count(line) + 1
        if size <= left:
            kept.append(line)
            left -= size
    return kept


def _archived_last(thread: Thread, size: int) -> list[ChatMessage]:
    """Give what was archived last: ``Memory`` has messages archived, and stored anew, before it hands them to blocks."""
    newest = max((ref.seq for ref in thread.refs()), default=0)
    last = thread.messages(start=newest - 2 * size - _MEANWHILE)
    return [each for message in last if is_archived(message) for each in decode_stored(message)]


def _holds(archived: Sequence[ChatMessage], messages: Sequence[ChatMessage]) -> bool:
    """Tell whether a run of messages is among those that were archived."""
    wanted, size = list(messages), len(messages)
    return any(list(archived[start : start + size]) == wanted for start in range(len(archived) - size, -1, -1))


def _without_session(message: ChatMessage) -> ChatMessage:
    if _SESSION not in message.additional_kwargs:
        return message
    others = {name: value for name, value in message.additional_kwargs.items() if name != _SESSION}
    return message.model_copy(update={"additional_kwargs": others})
