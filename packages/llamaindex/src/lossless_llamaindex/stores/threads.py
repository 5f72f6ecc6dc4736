"""Threads of an engine as the lists of messages that chat stores work with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage

from lossless import Engine, Message, MessageRef, Shown, Thread
from lossless.dag.threads import threads_shown
from lossless.errors import MessageError
from lossless.store.keys import Reach
from lossless.store.rereading import rereads
from lossless_llamaindex.codec import FORMAT, decode_message, decode_stored, encode_message

__all__ = ["as_messages", "checked", "keys_of", "payloads_of", "store", "take", "view_of"]

_EXAMPLE = 'for example ChatMessage(role="user", content="Hello")'


def payloads_of(messages: Iterable[Any], **marks: Any) -> list[dict[str, Any]]:
    """Write messages as payloads, with marks of a store's own.

    Raises:
        MessageError: as of :func:`checked`; then none of them is stored.
    """
    return [encode_message(message) | marks for message in checked(messages)]


def checked(messages: Iterable[Any]) -> list[ChatMessage]:
    """Give messages as a list.

    Raises:
        MessageError: one of them is no LlamaIndex message, or they are no list.
    """
    if not isinstance(messages, Iterable) or isinstance(messages, (str, bytes, ChatMessage, Mapping)):
        raise MessageError(f"messages must be a list of ChatMessages, not a {type(messages).__name__}", hint=_EXAMPLE)
    found = list(messages)
    for index, message in enumerate(found):
        if not isinstance(message, ChatMessage):
            said = f"message {index}: a {type(message).__name__} is no ChatMessage"
            raise MessageError(said, hint=_EXAMPLE, index=index)
    return found


def store(thread: Thread, payloads: Sequence[dict[str, Any]]) -> None:
    """Append payloads, in one transaction; none: nothing."""
    thread.append(payloads, format=FORMAT)


def view_of(thread: Thread, engine: Engine) -> list[ChatMessage]:
    """Give what a thread shows: all of its view verbatim, or, on an engine with a window, its active context."""
    if engine.budget is None:
        return as_messages(thread.messages())
    return [decode_message(payload, restore=True) for payload in thread.context(format=FORMAT).messages]


def as_messages(messages: Iterable[Message]) -> list[ChatMessage]:
    """Give stored messages as LlamaIndex's."""
    return [each for message in messages for each in decode_stored(message)]


def take(thread: Thread, choose: Callable[[Shown], Sequence[MessageRef]]) -> list[Message]:
    """Take out of the view what is chosen of it, and nothing else of its units, in one transaction; give it verbatim."""
    taken: list[Message] = []

    def decide(shown: Shown) -> list[MessageRef]:
        chosen = choose(shown)
        taken[:] = shown.read(chosen)
        gone = set(chosen)
        return [ref for ref in shown.refs if ref not in gone]

    if thread.count():
        thread.rearrange(decide, format=FORMAT)
    return taken


@rereads
def keys_of(engine: Engine) -> list[str]:
    """Give the ids of threads that show something, in the order in which they were begun."""
    with engine.database.read() as connection:
        return threads_shown(connection, Reach(engine.namespace), engine.views)
