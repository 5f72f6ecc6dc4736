"""A channel of messages whose checkpoint is a pointer into a thread of the core, for graphs whose saver can't be chosen."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph.message import add_messages

from lossless import Engine, Thread
from lossless.errors import CorruptError, MessageError, NotFoundError
from lossless.messages.payload import encode
from lossless.store.recent import Recent
from lossless_langchain.codec import FORMAT, decode_stored, encode_message
from lossless_langchain.connecting import engine_for
from lossless_langchain.running import below, named_thread
from lossless_langgraph.leaves import StockLeaves

__all__ = ["LosslessMessagesChannel"]

_KIND = "lossless_messages"
_VERSION = 1
_REMEMBERED = 100_000
_UNREAD: Any = object()
_ABSENT: Any = BinaryOperatorAggregate(int | str, max).value  # type: ignore[arg-type]
"""What LangGraph takes for a channel that was never written; it has no public name."""
Runs = tuple[tuple[int, int], ...]


class LosslessMessagesChannel(BinaryOperatorAggregate[list[AnyMessage]]):
    """Messages with the reducer ``add_messages``, kept in a thread of an engine; checkpoints hold where, not what.

    ``messages: Annotated[list[AnyMessage], LosslessMessagesChannel(engine)]`` in the schema of a state. Any saver does. A
    checkpoint names the thread and the numbers of its messages, so it stays small, and each message is stored once, however many
    checkpoints hold it. The thread's view follows the state that was stored last.

    Values that are no messages, or that hold what can't be kept exactly, are left to the saver, as they are.

    Args:
        engine: an engine, or the URL of one; None: ``$LOSSLESS_URL``, else ``sqlite:///lossless.db``.
        thread: the thread, or its id. None: LangGraph does not tell a channel whose state it holds. Where a chain calls the
            graph, it is the thread that the chain's config names, in a graph within another one a thread below that one's, and
            else a thread of its own, ``channel/…``, which the checkpoints name. Later checkpoints stay with it.
    """

    def __init__(self, engine: Engine | str | None = None, thread: str | Thread | None = None) -> None:
        super().__init__(list[AnyMessage], add_messages)  # type: ignore[arg-type]
        self._shelf = engine if isinstance(engine, _Shelf) else _Shelf(engine_for(engine))
        self._thread = thread.id if isinstance(thread, Thread) else thread
        self._pointer: dict[str, Any] | None = None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LosslessMessagesChannel)
            and self._shelf.engine is other._shelf.engine
            and self._thread == other._thread
        )

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> Self:
        """Give a channel that holds the same."""
        made = self._empty()
        made.value, made._pointer = self.value, self._pointer
        return made

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """Give a channel that holds what a checkpoint says; of another kind of channel, its messages."""
        made = self._empty()
        if isinstance(checkpoint, _DeltaSnapshot):
            checkpoint = checkpoint.value
        if isinstance(checkpoint, dict) and checkpoint.get(_KIND) == _VERSION:
            made._pointer, made.value = checkpoint, _UNREAD
        elif checkpoint is not _ABSENT:
            made.value = checkpoint
        return made

    def checkpoint(self) -> Any:
        """Store what is new, and give the pointer.

        Raises:
            StoreBusyError: others held the database for too long.
        """
        if self.value is _ABSENT:
            return _ABSENT
        if self._pointer is None:
            messages = self.get()
            thread_id = self._thread or self._begun or _fresh_name()
            try:
                runs = self._shelf.store(thread_id, messages)
            except MessageError:
                return messages
            if runs is None:
                return messages
            self._begun = thread_id
            self._pointer = {_KIND: _VERSION, "thread": thread_id, "runs": [list(run) for run in runs]}
        return self._pointer

    def get(self) -> list[AnyMessage]:
        """Give the messages.

        Raises:
            EmptyChannelError: it was never written.
            CorruptError: the thread has not what the checkpoint points to.
        """
        if self.value is _UNREAD:
            assert self._pointer is not None
            self._begun = self._pointer["thread"]
            self.value = self._shelf.read(self._begun, self._pointer["runs"])
        return super().get()

    def is_available(self) -> bool:
        """Tell whether it was ever written, without reading anything."""
        return self.value is _UNREAD or super().is_available()

    def update(self, values: Sequence[Any]) -> bool:
        """Reduce what nodes wrote."""
        if not values:
            return False
        if self.is_available():
            self.get()
        self._pointer = None
        return super().update(values)

    _begun: str | None = None
    """The thread of the checkpoint that this began with."""

    def _empty(self) -> Self:
        made = self.__class__(self._shelf, self._thread)  # type: ignore[arg-type]
        made.key, made._begun = self.key, self._begun
        return made


class _Shelf:
    """The threads of an engine, as channels use them: messages go in, their numbers come out."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._leaves = StockLeaves(JsonPlusSerializer())
        self._seqs: Recent[tuple[str, bytes], int] = Recent(_REMEMBERED)
        self._shown: Recent[str, Runs] = Recent(4_096)

    def store(self, thread_id: str, messages: Sequence[Any]) -> Runs | None:
        """Store the messages that a thread has not, let it show these and no others, and give their numbers as runs.

        None: one of them is no message.

        Raises:
            MessageError: something in one of them can't be kept exactly.
        """
        if not isinstance(messages, list) or not all(isinstance(each, BaseMessage) for each in messages):
            return None
        marks = [self._mark(message) for message in messages]
        seqs = [self._seqs.get((thread_id, mark)) for mark in marks]
        new = [place for place, seq in enumerate(seqs) if seq is None]
        thread = self.engine.thread(thread_id)
        if new:
            refs = thread.append([encode_message(messages[place], strict=True) for place in new], format=FORMAT)
            for place, ref in zip(new, refs, strict=True):
                seqs[place] = ref.seq
                self._seqs.put((thread_id, marks[place]), ref.seq)
        found = [seq for seq in seqs if seq is not None]
        runs = _runs(found)
        before = self._shown.get(thread_id)
        if before is None or _runs([*_each(before), *(found[place] for place in new)]) != runs:
            self._show(thread, found)
        self._shown.put(thread_id, runs)
        return runs

    def read(self, thread_id: str, runs: Iterable[Sequence[int]]) -> list[AnyMessage]:
        """Give the messages of these numbers.

        Raises:
            CorruptError: the thread has not all of them.
        """
        wanted = list(_each(runs))
        if not wanted:
            return []
        there = self.engine.thread(thread_id).messages(min(wanted), max(wanted) + 1, deleted=True)
        by_seq = {message.seq: message for message in there}
        absent = [seq for seq in wanted if seq not in by_seq]
        if absent:
            raise CorruptError(
                f"thread {thread_id!r} lacks {len(absent)} messages that a checkpoint points to, the first of seq {absent[0]}",
                hint="give the channel the engine that it had then",
            )
        messages: list[Any] = [message for seq in wanted for message in decode_stored(by_seq[seq])]
        if len(messages) == len(wanted):
            for seq, message in zip(wanted, messages, strict=True):
                self._seqs.put((thread_id, self._mark(message)), seq)
        return messages

    def _show(self, thread: Thread, seqs: Sequence[int]) -> None:
        """Let a thread show the messages of these numbers and no others; of a revised one it goes on showing the newest."""
        shown, wanted = {ref.seq: ref.id for ref in thread.refs()}, set(seqs)
        gone = [id for seq, id in shown.items() if seq not in wanted]
        hidden = wanted - shown.keys()
        if gone:
            thread.delete(gone, partners=False)
        if hidden:
            for message in thread.messages(min(hidden), max(hidden) + 1, deleted=True):
                if message.seq in hidden:
                    try:
                        thread.restore(message.id)
                    except NotFoundError:  # a revision that is not the newest has no place of its own
                        continue

    def _mark(self, message: BaseMessage) -> bytes:
        found = self._leaves.fingerprint(message)
        return found or b"written" + hashlib.sha256(encode(encode_message(message, strict=True))).digest()


def _fresh_name() -> str:
    """Name the thread of a channel that begins: what the surrounding run says, or nothing that anybody else uses."""
    config, token = var_child_runnable_config.get() or {}, secrets.token_hex(16)
    named, within = named_thread(config), str((config.get("configurable") or {}).get("checkpoint_ns") or "")
    if named is None:
        return f"channel/{token}"
    return below(named, *(step.partition(":")[0] for step in within.split("|")), token) if within else named


def _runs(seqs: Iterable[int]) -> Runs:
    """Give numbers as runs of consecutive ones, in their order."""
    runs: list[list[int]] = []
    for seq in seqs:
        if runs and runs[-1][1] + 1 == seq:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    return tuple((first, last) for first, last in runs)


def _each(runs: Iterable[Sequence[int]]) -> Iterator[int]:
    for first, last in runs:
        yield from range(first, last + 1)
