"""A chat store: each key is a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base import BaseChatStore
from llama_index.core.storage.chat_store.loading import RECOGNIZED_CHAT_STORES

from lossless import Engine, Message, MessageRef, Shown, Thread
from lossless.twins import async_twin
from lossless_llamaindex.arguments import whole
from lossless_llamaindex.codec import FORMAT
from lossless_llamaindex.connected import Connected
from lossless_llamaindex.stores.importing import import_chat_store
from lossless_llamaindex.stores.threads import as_messages, keys_of, payloads_of, store, take, view_of

__all__ = ["LosslessChatStore"]

Seen = TypeVar("Seen")


class LosslessChatStore(Connected, BaseChatStore):
    """Keeps the messages of each key in the thread of that id, each call in one transaction.

    What is set or deleted changes what the thread shows; everything that was ever added stays in its store
    (``engine.thread(key).messages(deleted=True)``). Messages that are returned are copies. On an engine with a window,
    ``get_messages`` gives the thread's active context, else all that is shown, verbatim.

    Args:
        engine: where messages are; or its URL.
        url: instead of an engine; none of both: ``$LOSSLESS_URL``, else ``sqlite:///lossless.db``.
    """

    def __init__(self, engine: Engine | str | None = None, url: str | None = None, **address: Any) -> None:
        super().__init__(engine=engine, url=url, **address)

    @classmethod
    def class_name(cls) -> str:
        """Give the name of the class."""
        return "LosslessChatStore"

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Make a key show exactly these messages.

        Raises:
            MessageError: one of them can't be stored; then nothing is changed.
        """
        self._thread(key).replace(payloads_of(messages), format=FORMAT)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Give what a key shows, oldest first; nothing for a key that is not there."""
        return view_of(self._thread(key), self.engine)

    def add_message(self, key: str, message: ChatMessage, idx: int | None = None) -> None:
        """Add a message at the end, or before the position ``idx``, from 0, as ``list.insert`` counts it.

        Raises:
            MessageError: it can't be stored.
            ConfigError: the position is no number.
        """
        thread, (payload,) = self._thread(key), payloads_of([message])
        if idx is None:
            store(thread, [payload])
            return
        place = whole(idx, "idx")

        def decide(shown: Shown) -> list[Any]:
            wanted: list[Any] = list(shown.refs)
            wanted.insert(max(-len(wanted), min(place, len(wanted))), payload)
            return wanted

        thread.rearrange(decide, format=FORMAT)

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Clear a key and give what it showed; None if that was nothing."""
        thread = self._thread(key)
        if self.engine.budget is None:
            return as_messages(take(thread, lambda shown: shown.refs)) or None
        shown, _taken = self._take_seen(thread, lambda: view_of(thread, self.engine), lambda shown, _seen: shown.refs)
        return shown or None

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at a position, from 0, and give it; None where none is, or a summary stands there.

        Raises:
            ConfigError: the position is no number.
        """
        idx = whole(idx, "idx")
        if idx < 0:
            return None
        thread = self._thread(key)
        if self.engine.budget is None:
            found = take(thread, lambda shown: shown.refs[idx : idx + 1])
        else:

            def chosen(shown: Shown, ids: list[str | None]) -> list[MessageRef]:
                return [ref for ref in shown.refs if ids[idx : idx + 1] == [ref.id]]

            _ids_seen, found = self._take_seen(thread, lambda: _ids(thread), chosen)
        return next(iter(as_messages(found)), None)

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Delete the newest message and give it; None where none is."""
        found = as_messages(take(self._thread(key), lambda shown: shown.refs[-1:]))
        return found[-1] if found else None

    def get_keys(self) -> list[str]:
        """Give the keys that show something, in the order in which they were begun."""
        return keys_of(self.engine)

    def persist(self, persist_path: str = "chat_store.json", fs: Any = None) -> None:
        """Do nothing: what was added is in the database already."""

    @classmethod
    def from_persist_path(
        cls, persist_path: str = "chat_store.json", fs: Any = None, *, engine: Any = None, url: str | None = None
    ) -> LosslessChatStore:
        """Make a store that has what ``SimpleChatStore.persist`` wrote; importing it again adds nothing.

        Args:
            persist_path: the file; if it is not there, nothing is imported.
            fs: an fsspec file system that it is read from.
            engine: see the class.
            url: see the class.
        """
        made = cls(engine=engine, url=url)
        import_chat_store(persist_path, made.engine, fs=fs, missing_ok=True)
        return made

    aset_messages = async_twin(set_messages)  # type: ignore[arg-type]
    aget_messages = async_twin(get_messages)  # type: ignore[arg-type]
    async_add_message = async_twin(add_message)  # type: ignore[arg-type]
    adelete_messages = async_twin(delete_messages)  # type: ignore[arg-type]
    adelete_message = async_twin(delete_message)  # type: ignore[arg-type]
    adelete_last_message = async_twin(delete_last_message)  # type: ignore[arg-type]
    aget_keys = async_twin(get_keys)  # type: ignore[arg-type]

    def _thread(self, key: str) -> Thread:
        return self.engine.thread(key)

    def _take_seen(
        self, thread: Thread, look: Callable[[], Seen], choose: Callable[[Shown, Seen], Sequence[MessageRef]]
    ) -> tuple[Seen, list[Message]]:
        """Take what is chosen by looking at the active context, which is made outside the transaction: again if it was stale."""
        while True:
            before, seen = tuple(thread.refs()), look()
            stale: list[Shown] = []

            def chosen(shown: Shown, before: Any = before, seen: Seen = seen, stale: list[Shown] = stale) -> Sequence[MessageRef]:
                stale[:] = [shown] if shown.refs != before else []
                return () if stale else choose(shown, seen)

            found = take(thread, chosen)
            if not stale:
                return seen, found


def _ids(thread: Thread) -> list[str | None]:
    """Give the ids of what an active context shows, by position; None for what is no message."""
    return [item.id if item.kind in ("message", "stub") else None for item in thread.context(format=FORMAT).items]


RECOGNIZED_CHAT_STORES.setdefault(LosslessChatStore.class_name(), LosslessChatStore)  # type: ignore[arg-type]
