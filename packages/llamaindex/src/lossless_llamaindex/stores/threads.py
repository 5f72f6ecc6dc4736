"""Threads of an engine as the lists of messages that chat stores work with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage

from lossless import Engine, Message, MessageRef, Shown, Thread, ThreadInfo
from lossless.errors import MessageError
from lossless_llamaindex.codec import FORMAT, decode_message, decode_stored, encode_message

__all__ = ["as_messages", "keys_of", "payloads_of", "store", "take", "view_of"]

_PAGE = 1_000


def payloads_of(messages: Iterable[Any], **marks: Any) -> list[dict[str, Any]]:
    """Write messages as payloads, with marks of a store's own.

    Raises:
        MessageError: one of them is no LlamaIndex message; then none of them is stored.
    """
    payloads: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        if not isinstance(message, ChatMessage):
            raise MessageError(
                f"message {index}: a {type(message).__name__} is no ChatMessage",
                hint='for example ChatMessage(role="user", content="Hello")',
                index=index,
            )
        payloads.append(encode_message(message) | marks)
    return payloads


def store(thread: Thread, payloads: Sequence[dict[str, Any]]) -> None:
    """Append payloads, in one transaction; none: nothing."""
    thread.append(payloads, format=FORMAT)


def view_of(thread: Thread, engine: Engine) -> list[ChatMessage]:
    """Give what a thread shows: all of its view verbatim, or, on an engine with a window, its active context."""
    if engine.budget is None:
        return as_messages(thread.messages())
    return [decode_message(payload) for payload in thread.context(format=FORMAT).messages]


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


def keys_of(engine: Engine) -> list[str]:
    """Give the ids of threads that show something, in the order in which they were begun."""
    found: list[ThreadInfo] = []
    cursor = None
    while True:
        page = engine.threads(limit=_PAGE, cursor=cursor)
        found.extend(page.items)
        cursor = page.next_cursor
        if cursor is None:
            break
    begun = sorted({info.id: info for info in found}.values(), key=lambda info: info.created_at)
    return [info.id for info in begun if engine.thread(info.id).count()]
