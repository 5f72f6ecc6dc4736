"""What of a run's state is stored already: each message is appended once, when it is first seen."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from uuid import uuid4

from langchain_core.messages import BaseMessage, RemoveMessage

from lossless import Message, Thread
from lossless.errors import NotFoundError
from lossless.locks import ForkLock
from lossless_langchain.codec import FORMAT, decode_message, encode_message

__all__ = ["Ledger", "Ledgers", "with_ids"]

_KEPT = 64
"""Threads whose messages are remembered; of others, the database is asked again."""


class Ledger:
    """The messages of one thread that this process knows to be stored, by id."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._stored: dict[str, BaseMessage] = {}
        self._primed = False
        self._shown: dict[str, str] | None = None  # what the view shows of states: id there → id in the thread; None: not known
        self._absent: set[str] = set()  # ids that were stored again, since the thread didn't have them
        self._total = 0  # messages that the view represented then
        self.ceiling: int | None = None
        """Tokens above which a provider refused this thread's context, whatever window was named; None: it never did."""

    def store(self, thread: Thread, messages: Sequence[BaseMessage], *, whole: bool = True) -> None:
        """Append what is new, and revise what was changed.

        Args:
            thread: where to.
            messages: of a state, in order, each with an id.
            whole: whether ids tell what is new. Else what the thread has already is recognised by its content when a run begins:
                without a checkpointer, a caller who sends the conversation anew gives it new ids.
        """
        with self._lock:
            if not self._primed:
                self._prime(thread)
            new = [message for message in messages if not self._is_stored(message)]
            if not new:
                return
            payloads = [encode_message(message) for message in new]
            if not whole and len(new) == len(messages) and _is_there(thread):
                for message, payload in zip(new, payloads, strict=True):
                    if message.id is not None and not _has(thread, message.id):
                        payload.pop("id", None)
                thread.sync(payloads, format=FORMAT)
            else:
                thread.append(payloads, format=FORMAT)
            added = {message.id: message for message in new if message.id is not None}
            self._stored.update(added)
            if self._shown is not None:
                self._total += len(added.keys() - self._shown.keys())
                self._shown.update({id: id for id in added})

    def follow(self, thread: Thread, total: int, messages: Sequence[BaseMessage]) -> bool:
        """Take out of the view what the state no longer has, and show again what it has again.

        What other ways brought into the thread (an import, an append by hand) is left alone.

        Args:
            thread: whose view.
            total: how many messages the view represents.
            messages: the state's.

        Returns:
            Whether the view was changed.
        """
        ids = [message.id for message in messages if message.id is not None]
        with self._lock:
            if self._shown is None or self._total != total:
                self._shown, self._total = _ids_of(thread.messages()), total
            if self._shown.keys() == set(ids):
                return False
            gone = [self._shown[id] for id in self._shown.keys() - set(ids)]
            if gone:
                thread.delete(gone)
            # With a call go its results, which the state may still have: they come back at the next call.
            back = [message for message in messages if message.id is not None and message.id not in self._shown]
            restored = {message.id for message in back if _restored(thread, message.id or "")}
            again = [message for message in back if message.id not in restored and message.id not in self._absent]
            changed = bool(gone or restored or again)
            if changed:
                self._shown = None
            self._store_again(thread, again)
            return changed

    def _store_again(self, thread: Thread, messages: Sequence[BaseMessage]) -> None:
        """Store what the thread does not have, though it was stored once: somebody deleted the thread. Tried once a message."""
        for message in messages:
            self._absent.add(message.id or "")
            self._stored.pop(message.id or "", None)
        self.store(thread, messages)

    def _prime(self, thread: Thread) -> None:
        """Learn what an earlier process stored: what a checkpointer gives back is equal, not the same bytes."""
        for stored in thread.messages(deleted=True):
            if stored.format == FORMAT:
                message = decode_message(stored.payload)
                if isinstance(message.id, str):
                    self._stored[message.id] = message
        self._primed = True

    def _is_stored(self, message: BaseMessage) -> bool:
        known = self._stored.get(message.id) if message.id is not None else None
        if known is None:
            return False
        if known is not message:
            if type(known) is not type(message) or known != message:
                return False
            self._stored[known.id or ""] = message
        return True


class Ledgers:
    """The ledgers of the threads that were used last."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._recent: OrderedDict[str, Ledger] = OrderedDict()

    def of(self, thread_id: str) -> Ledger:
        """Give the ledger of a thread."""
        with self._lock:
            ledger = self._recent.setdefault(thread_id, Ledger())
            self._recent.move_to_end(thread_id)
            while len(self._recent) > _KEPT:
                self._recent.popitem(last=False)
            return ledger


def with_ids(messages: Iterable[object]) -> list[BaseMessage]:
    """Give the messages among values that go into a state, each with an id: the one that the state would give it otherwise."""
    found = [each for each in messages if isinstance(each, BaseMessage) and not isinstance(each, RemoveMessage)]
    for message in found:
        if message.id is None:
            message.id = str(uuid4())
    return found


def _ids_of(messages: Iterable[Message]) -> dict[str, str]:
    found = ((message, _own_id(message)) for message in messages)
    return {id: message.id for message, id in found if id is not None}


def _own_id(message: Message) -> str | None:
    """Give the id that a message has in a state; None for one that came another way."""
    id = message.payload["data"].get("id") if message.format == FORMAT else None
    return id if isinstance(id, str) else None


def _is_there(thread: Thread) -> bool:
    return bool(thread.views(limit=1))


def _has(thread: Thread, id: str) -> bool:
    try:
        return bool(thread.describe(id))
    except NotFoundError:
        return False


def _restored(thread: Thread, id: str) -> bool:
    try:
        return thread.restore(id)
    except NotFoundError:
        return False
