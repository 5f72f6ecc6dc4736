"""Stored messages, of whatever format, as LlamaIndex's messages."""

from __future__ import annotations

from llama_index.core.base.llms.types import ChatMessage

from lossless.messages import LlamaIndexFormat, Message, Turn
from lossless_llamaindex.codec.messages import FORMAT, decode_message

__all__ = ["decode_stored"]

_WRITER = LlamaIndexFormat()


def decode_stored(message: Message) -> list[ChatMessage]:
    """Give a stored message as LlamaIndex's: the very message if it was one, else what says the same.

    A block whose file is no longer at its path holds what was kept of it.

    Returns:
        One message, as a rule; several where another format keeps several results in one, none where it says nothing.
    """
    if message.format == FORMAT:
        return [decode_message(message.payload, restore=True)]
    turn = Turn(message.role, message.parts, message.id)
    return [decode_message(payload) for payload in _WRITER.render([turn]).messages]
