"""What of a run's state is stored already: each message is appended once, when it is first seen."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import compress
from operator import is_not
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage

from lossless import Message, Thread
from lossless.errors import NotFoundError
from lossless.locks import ForkLock
from lossless.messages import encode
from lossless_langchain.codec import FORMAT, decode_message, encode_message

__all__ = ["Ledger", "Ledgers", "with_ids"]

_KEPT = 64
"""Threads whose messages are remembered; of others, the database is asked again."""
_KEPT_BYTES = 100_000_000
"""What their messages may take together, counted roughly; the thread that is in use stays, however long it is."""
_OBJECT = 2_000
"""Bytes that a message takes beside its payload, roughly."""
_FEW = 8
"""Ids that are asked for one by one; of more, all that the thread has are read at once."""
_AHEAD = 1_000
"""Messages that are remembered to be stored before a state showed them."""

Place = tuple[str | None, str | None]


class Ledger:
    """The messages of one thread that this process knows to be stored, by id."""

    def __init__(self) -> None:
        self.lock = ForkLock()
        """Held by whoever brings the thread up to a state and looks at it: another run's state may lack what this one's has."""
        self.bytes = 0
        self._stored: dict[str, BaseMessage] = {}
        self._of_runs: WeakValueDictionary[str, BaseMessage] = WeakValueDictionary()
        self._sent: list[BaseMessage] = []  # what the newest run was sent, should the run itself let go of it
        self._primed = False
        self._shown: dict[str, str] | None = None  # what the view shows of states: id there → id in the thread; None: not known
        self._absent: set[str] = set()  # ids that were stored again, since the thread didn't have them
        self._ahead: dict[Place, str] = {}  # where a state will have what was stored before it did: place → id
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
        with self.lock:
            if whole and not self._primed:
                self._prime(thread)
            new = self._unknown(messages)
            if not new:
                return
            if not whole and _begins_anew(new, messages) and _is_there(thread):
                self._recognise(thread, messages)
            else:
                self._append(thread, new)
            if not whole:
                self._withdraw(thread, messages, [message.id or "" for message in new])

    def store_ahead(
        self, thread: Thread, state: Sequence[BaseMessage], messages: Sequence[BaseMessage], *, whole: bool = True
    ) -> None:
        """Append what the state will have next: an answer, or the results of a tool.

        Args:
            thread: where to.
            state: the messages of the state, each with an id.
            messages: what comes after them, each with an id.
            whole: whether ids tell what the state lacks. Else it is remembered where they belong: something else that the state
                has there, since other middleware made it of them, takes their place in the view.
        """
        with self.lock:
            self._append(thread, self._unknown(messages))
            if whole:
                return
            if len(self._ahead) > _AHEAD:
                self._ahead.clear()
            coming = [*state, *messages]
            for place in range(len(state), len(coming)):
                self._ahead[_place(coming, place)] = coming[place].id or ""

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
        with self.lock:
            if self._shown is None or self._total != total:
                self._shown, self._total = _ids_of(thread.messages()), total
            shown, ids = self._shown, {message.id for message in messages}
            ids.discard(None)
            if shown.keys() == ids:
                return False
            gone = [shown[id] for id in shown.keys() - ids]
            if gone:
                thread.delete(gone, partners=False)
            back = [message for message in messages if message.id is not None and message.id not in shown]
            restored = {message.id for message in back if _restored(thread, message.id or "")}
            again = [message for message in back if message.id not in restored and message.id not in self._absent]
            changed = bool(gone or restored or again)
            if changed:
                self._shown = None
            self._store_again(thread, again)
            return changed

    def forget_view(self) -> None:
        """Look anew at what the view shows: another process has changed it."""
        with self.lock:
            self._shown = None

    def _unknown(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        stored = self._stored
        return [each for each in messages if stored.get(each.id or "") is not each and not self._is_stored(each)]

    def _append(self, thread: Thread, messages: Sequence[BaseMessage]) -> None:
        if messages:
            payloads = [encode_message(message) for message in messages]
            thread.append(payloads, format=FORMAT)
            self._added(messages, payloads)

    def _recognise(self, thread: Thread, messages: Sequence[BaseMessage]) -> None:
        """Store a conversation that is sent anew. What got an id for this run alone is known by it as long as the run has it."""
        payloads = [encode_message(message) for message in messages]
        known = self._ids_there(thread, messages)
        for message, payload in zip(messages, payloads, strict=True):
            if message.id not in known:
                payload.pop("id", None)
        thread.sync(payloads, format=FORMAT)
        there = [message.id in known for message in messages]
        self._added(list(compress(messages, there)), list(compress(payloads, there)))
        self._sent = [message for message in messages if message.id not in known]
        self._of_runs.update({message.id or "": message for message in self._sent})

    def _ids_there(self, thread: Thread, messages: Sequence[BaseMessage]) -> set[str]:
        """Give the ids among those of messages that the thread has."""
        ids = {message.id for message in messages if message.id is not None}
        if len(ids) <= _FEW:
            return {id for id in ids if _has(thread, id)}
        return ids & (self._stored.keys() | {ref.id for ref in thread.refs()})

    def _added(self, messages: Sequence[BaseMessage], payloads: Sequence[dict[str, Any]]) -> None:
        ids = {message.id for message in messages if message.id is not None}
        for message, payload in zip(messages, payloads, strict=True):
            self._keep(message, payload)
        if self._shown is not None:
            self._total += len(ids - self._shown.keys())
            self._shown.update({id: id for id in ids})

    def _store_again(self, thread: Thread, messages: Sequence[BaseMessage]) -> None:
        """Store what the thread does not have, though it was stored once: somebody deleted the thread. Tried once a message."""
        for message in messages:
            self._absent.add(message.id or "")
            self._stored.pop(message.id or "", None)
        self.store(thread, messages)

    def _withdraw(self, thread: Thread, messages: Sequence[BaseMessage], added: Iterable[str]) -> None:
        """Take out of the view what was stored ahead of the state where the state has something else: other middleware's."""
        if not self._ahead:
            return
        new, ids = set(added), {message.id for message in messages}
        for place, message in enumerate(messages):
            if message.id in new:
                ahead = self._ahead.pop(_place(messages, place), None)
                if ahead and ahead not in ids:
                    with contextlib.suppress(NotFoundError):
                        thread.delete(ahead, partners=False)

    def _prime(self, thread: Thread) -> None:
        """Learn what an earlier process stored: what a checkpointer gives back is equal, not the same bytes."""
        for stored in thread.messages(deleted=True):
            if stored.format == FORMAT:
                self._keep(decode_message(stored.payload), stored.payload)
        self._primed = True

    def _keep(self, message: BaseMessage, payload: dict[str, Any]) -> None:
        if isinstance(message.id, str):
            if message.id not in self._stored:
                self.bytes += _OBJECT + len(encode(payload))
            self._stored[message.id] = message

    def _is_stored(self, message: BaseMessage) -> bool:
        held = self._stored if message.id in self._stored else self._of_runs
        known = held.get(message.id or "")
        if known is message:
            return True
        if known is None or type(known) is not type(message) or known != message:
            return False
        held[message.id or ""] = message
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
            while len(self._recent) > 1 and (len(self._recent) > _KEPT or self._bytes() > _KEPT_BYTES):
                self._recent.popitem(last=False)
            return ledger

    def _bytes(self) -> int:
        return sum(ledger.bytes for ledger in self._recent.values())


def with_ids(messages: Iterable[object]) -> list[BaseMessage]:
    """Give the messages among values that go into a state, each with an id: the one that the state would give it otherwise."""
    given = list(messages)
    kinds = {kind for kind in set(map(type, given)) if issubclass(kind, BaseMessage) and not issubclass(kind, RemoveMessage)}
    found: list[Any] = [each for each in given if type(each) in kinds]
    for message in found:
        if message.id is None:
            message.id = str(uuid4())
    return found


def _begins_anew(new: Sequence[BaseMessage], messages: Sequence[BaseMessage]) -> bool:
    """Tell whether a run begins, or its caller sent the conversation once more: what is not known stands before what is."""
    return len(new) == len(messages) or any(map(is_not, new, messages[len(messages) - len(new) :]))


def _place(messages: Sequence[BaseMessage], place: int) -> Place:
    """Tell where a message stands by what it follows: a result by its call, anything else by the message before it."""
    message = messages[place]
    if isinstance(message, ToolMessage):
        for before in reversed(messages[:place]):
            if isinstance(before, AIMessage) and any(call["id"] == message.tool_call_id for call in before.tool_calls):
                return before.id, message.tool_call_id
    return messages[place - 1].id if place else None, None


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
