"""The chat store of LlamaIndex's ``Memory``: a queue of active messages, and those that are archived."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from pydantic import PrivateAttr

from lossless import Engine, Message, MessageRef, Shown, Thread
from lossless.locks import ForkLock
from lossless.messages import encode
from lossless.messages.erased import ERASED_FORMAT
from lossless.twins import async_twin
from lossless_llamaindex.arguments import status_of, whole
from lossless_llamaindex.codec import FORMAT
from lossless_llamaindex.connected import Connected
from lossless_llamaindex.stores.threads import as_messages, keys_of, payloads_of, store, take

__all__ = ["LosslessAsyncChatStore", "is_archived"]

_KEYS_KEPT = 1_000
"""Keys whose archived messages are remembered; of others, they are read again."""
_STATUS = "status"
"""Where a payload says that its message is archived."""


def is_archived(message: Message) -> bool:
    """Tell whether a stored message left the queue of active ones; an erased one has."""
    payload = message.payload
    if message.format == ERASED_FORMAT:
        return True
    return isinstance(payload, dict) and payload.get(_STATUS) == MessageStatus.ARCHIVED.value


class LosslessAsyncChatStore(Connected, AsyncDBChatStore):
    """Keeps the messages of each key in the thread of that id: ``Memory.from_defaults(chat_store=…)``.

    Archived messages stay in what the thread shows; archiving revises them, so that they say so. What is deleted or replaced
    leaves what is shown, and stays in the store. Positions count from 0.

    Args:
        engine: where messages are; or its URL.
        url: instead of an engine; none of both: ``$LOSSLESS_URL``, else ``sqlite:///lossless.db``.
    """

    _archived_seqs: dict[str, set[int]] = PrivateAttr(default_factory=dict)
    _lock: Any = PrivateAttr(default_factory=ForkLock)

    def __init__(self, engine: Engine | str | None = None, url: str | None = None, **address: Any) -> None:
        super().__init__(engine=engine, url=url, **address)

    @classmethod
    def class_name(cls) -> str:
        """Give the name of the class."""
        return "LosslessAsyncChatStore"

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """Give messages of a status (None: all), oldest first, ``limit`` of them at the most after ``offset``."""
        return await self._aread(key, status, limit, offset)

    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        """Count the messages of a status; None: all."""
        return await self._acount(key, status)

    async def add_message(self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE) -> None:
        """Add a message.

        Raises:
            MessageError: it can't be stored.
        """
        await self._aadd(key, [message], status)

    async def add_messages(self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE) -> None:
        """Add messages in one transaction.

        Raises:
            MessageError: one of them can't be stored; then none of them is.
        """
        await self._aadd(key, messages, status)

    async def set_messages(self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE) -> None:
        """Make a key show exactly these messages.

        Raises:
            MessageError: one of them can't be stored; then nothing is changed.
        """
        await self._aset(key, messages, status)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the active message at a position, from 0, and give it; None where none is."""
        return await self._adelete(key, idx)

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Delete the messages of a status; None: all."""
        await self._aclear(key, status)

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Delete the ``n`` oldest active messages and give them."""
        return await self._adelete_oldest(key, n)

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive the ``n`` oldest active messages and give them."""
        return await self._aarchive(key, n)

    def archive_up_to(self, key: str, count: int) -> None:
        """Archive the oldest active messages until so many are archived."""
        self._archive(key, count - self._count(key, MessageStatus.ARCHIVED))

    async def get_keys(self) -> list[str]:
        """Give the keys that show something, in the order in which they were begun."""
        return await self._akeys()

    def _read(self, key: str, status: MessageStatus | None, limit: int | None, offset: int | None) -> list[ChatMessage]:
        start = 0 if offset is None else max(0, whole(offset, "offset"))
        stop = None if limit is None else start + max(0, whole(limit, "limit"))
        return as_messages(self._stored(key, status_of(status))[start:stop])

    def _count(self, key: str, status: MessageStatus | None) -> int:
        return self._thread(key).count() if status is None else len(self._stored(key, status_of(status)))

    def _add(self, key: str, messages: list[ChatMessage], status: MessageStatus) -> None:
        store(self._thread(key), payloads_of(messages, **_mark(status)))

    def _set(self, key: str, messages: list[ChatMessage], status: MessageStatus) -> None:
        self._thread(key).replace(payloads_of(messages, **_mark(status)), format=FORMAT)

    def _delete(self, key: str, idx: int) -> ChatMessage | None:
        idx = whole(idx, "idx")
        if idx < 0:
            return None
        found = take(self._thread(key), lambda shown: self._refs(key, shown, MessageStatus.ACTIVE)[idx : idx + 1])
        return next(iter(as_messages(found)), None)

    def _clear(self, key: str, status: MessageStatus | None) -> None:
        wanted = status_of(status)
        take(self._thread(key), lambda shown: self._refs(key, shown, wanted))

    def _delete_oldest(self, key: str, n: int) -> list[ChatMessage]:
        most = max(0, whole(n, "n"))
        return as_messages(take(self._thread(key), lambda shown: self._refs(key, shown, MessageStatus.ACTIVE)[:most]))

    def _archive(self, key: str, n: int) -> list[ChatMessage]:
        thread, most = self._thread(key), whole(n, "n")
        oldest: list[Message] = []

        def decide(shown: Shown) -> list[Any]:
            oldest[:] = shown.read(self._refs(key, shown, MessageStatus.ACTIVE)[:most])
            revised = {message.seq: _archived(message) for message in oldest}
            return [revised.get(ref.seq, ref) for ref in shown.refs]

        if most > 0 and thread.count():
            thread.rearrange(decide, format=FORMAT)
        return as_messages(oldest)

    def _keys(self) -> list[str]:
        return keys_of(self.engine)

    _aread = async_twin(_read)
    _acount = async_twin(_count)
    _aadd = async_twin(_add)
    _aset = async_twin(_set)
    _adelete = async_twin(_delete)
    _aclear = async_twin(_clear)
    _adelete_oldest = async_twin(_delete_oldest)
    _aarchive = async_twin(_archive)
    _akeys = async_twin(_keys)

    def _stored(self, key: str, status: MessageStatus | None) -> list[Message]:
        thread = self._thread(key)
        if status != MessageStatus.ACTIVE:
            found = thread.messages()
            return found if status is None else [message for message in found if is_archived(message)]
        known = self._archived_in(key)
        candidates = [ref.seq for ref in thread.refs() if ref.seq not in known]
        found = thread.messages(start=min(candidates)) if candidates else []
        known.update([message.seq for message in found if is_archived(message)])
        return [message for message in found if message.seq not in known]

    def _refs(self, key: str, shown: Shown, status: MessageStatus | None) -> list[MessageRef]:
        """Give what is shown of a status. What is read in a transaction is not remembered: it may yet fail."""
        if status is None:
            return list(shown.refs)
        known = self._archived_in(key)
        unknown = [ref for ref in shown.refs if ref.seq not in known]
        active = {message.seq for message in shown.read(unknown) if not is_archived(message)}
        return [ref for ref in shown.refs if (ref.seq in active) == (status == MessageStatus.ACTIVE)]

    def _archived_in(self, key: str) -> set[int]:
        """Give the seqs of a thread that are known to be archived: what is stored does not change, so they stay it."""
        with self._lock:
            found = self._archived_seqs.pop(key, set())
            self._archived_seqs[key] = found
            while len(self._archived_seqs) > _KEYS_KEPT:
                del self._archived_seqs[next(iter(self._archived_seqs))]
        return found

    def _thread(self, key: str) -> Thread:
        return self.engine.thread(key)


def _mark(status: MessageStatus) -> dict[str, Any]:
    return {_STATUS: MessageStatus.ARCHIVED.value} if status_of(status) == MessageStatus.ARCHIVED else {}


def _archived(message: Message) -> Message | dict[str, Any]:
    """Give the revision that says that a message is archived."""
    mark = _mark(MessageStatus.ARCHIVED) | {"id": message.id}
    written = [dict(message.payload)] if message.format == FORMAT else payloads_of(as_messages([message]))
    if len(written) == 1:
        return written[0] | mark
    # What another format keeps in one message can be several of LlamaIndex's: it stays as it is.
    return replace(message, data=encode(dict(message.payload) | mark))
