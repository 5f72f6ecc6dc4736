"""Keeping: which values of a captured channel are messages of the thread, and as which payloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from lossless.checkpoints import erased_item, shared_item
from lossless.errors import MessageError
from lossless.messages.payload import encode
from lossless_langgraph.leaves import SerializedLeaves

__all__ = ["Keeper"]


@dataclass(slots=True, kw_only=True)
class Keeper:
    """Keeps the messages of one checkpoint, or of some writes.

    Attributes:
        leaves: how values are written.
        digest: gives the digest of a payload.
        redact: gives a payload as it may be stored.
        erased: by the id of an erased message, what is left of it.
        messages: the payloads that were kept, by digest.
        ids: the ids of their messages.
    """

    leaves: SerializedLeaves
    digest: Callable[[bytes], bytes]
    redact: Callable[[dict[str, Any]], dict[str, Any]]
    erased: Mapping[str, bytes]
    messages: dict[bytes, bytes] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)

    def keep(self, value: Any) -> tuple[bytes, bool] | None:
        """Give the item of a message, and whether that is all there is to it; None for what is no message.

        What redaction took out of a message is not kept beside it either.
        """
        found = self.leaves.message(value)
        if found is None:
            return None
        payload, whole = found
        stored = self.redact(payload)
        try:
            data = encode(stored)
        except MessageError:
            return None
        digest = self.digest(data)
        self.messages[digest] = data
        if "id" in stored:
            self.ids.append(stored["id"])
        return shared_item(digest), whole or stored is not payload

    def instead(self, value: Any) -> bytes | None:
        """Give the item that stands for an erased message, whatever the state has of it."""
        left = self.erased.get(value.id) if isinstance(value, BaseMessage) and value.id is not None else None
        return None if left is None else erased_item(left)
