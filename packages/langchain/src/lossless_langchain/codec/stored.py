"""Stored messages, of whatever format, as LangChain's messages."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from lossless.messages import LangChainFormat, Message, Turn
from lossless.messages.erased import ERASED_FORMAT
from lossless_langchain.codec.messages import FORMAT, decode_message

__all__ = ["decode_stored"]

_WRITER = LangChainFormat()


def decode_stored(message: Message) -> list[BaseMessage]:
    """Give a stored message as LangChain's: the very message if it was one, else what says the same.

    Returns:
        One message, as a rule (of an erased one the placeholder, with its id); several where another format keeps several
        results in one, none where it says nothing.
    """
    if message.format == FORMAT:
        return [decode_message(message.payload)]
    turn = Turn(message.role, message.parts, message.id)
    found = [decode_message(payload) for payload in _WRITER.render([turn]).messages]
    if message.format == ERASED_FORMAT:
        for placeholder in found:
            placeholder.id = message.id
    return found
