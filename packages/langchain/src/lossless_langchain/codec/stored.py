"""Stored messages, of whatever format, as LangChain's messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from lossless.messages import LangChainFormat, Message, Turn
from lossless.messages.erased import ERASED_FORMAT, read_erased
from lossless_langchain.codec.messages import FORMAT, decode_message
from lossless_langchain.codec.placeholders import placeholder

__all__ = ["decode_erased", "decode_stored"]

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


def decode_erased(left: Mapping[str, Any]) -> BaseMessage:
    """Give what is shown in place of an erased message.

    Args:
        left: what is left of it: its ``id``, its ``role``, and the ids of its calls and results.
    """
    turn = Turn(str(left.get("role")), read_erased(left), str(left.get("id")))
    payloads = _WRITER.render([turn]).messages
    found = decode_message(payloads[0]) if payloads else placeholder(left)
    found.id = str(left.get("id"))
    return found
