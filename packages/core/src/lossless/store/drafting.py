"""Drafting: what a caller gives becomes drafts, outside of any transaction: encoded, read, counted and analysed once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from lossless.errors import MessageError
from lossless.messages import Format, Message, encode, is_request, looks_anthropic, searchable, shape_of
from lossless.messages.parts import Part, Text
from lossless.store.analyzer import analyze
from lossless.store.append import Draft
from lossless.store.digests import blob_digest
from lossless.store.keys import checked_name
from lossless.tokens.counter import TokenCounter
from lossless.tokens.parts import count_parts

__all__ = ["DEFAULT_FORMAT", "Drafter", "Given", "listed", "versioned"]

DEFAULT_FORMAT = "openai/1"
_OPENAI_ROLES = ("developer", "function", "tool")
Given = Message | Mapping[str, Any]
"""What can be appended: a message, or a dict in one of the known formats."""


def listed(messages: Given | Iterable[Given]) -> list[Given]:
    """Give one or many messages as a list.

    Raises:
        MessageError: it is neither a message nor a collection of messages.
    """
    if isinstance(messages, (Message, Mapping)):
        return [messages]
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Iterable):
        raise MessageError(
            f"messages must be a message, a dict or a list of them, not {type(messages).__name__}",
            hint='for example {"role": "user", "content": "Hello"}',
        )
    return list(messages)


def versioned(format: str) -> str:
    """Give a format's name with its version: ``openai`` means ``openai/1``."""
    return format if "/" in format else f"{format}/1"


class Drafter:
    """Makes drafts. One for each engine.

    Args:
        namespace: digests are made for it.
        counter: counts tokens.
        formats: gives the readers of formats by name.
        summary_of: gives the id of the summary that a text is a rendered copy of, or None.
    """

    def __init__(
        self,
        namespace: str,
        counter: TokenCounter,
        formats: Callable[[], Mapping[str, Format]],
        summary_of: Callable[[str], str | None],
    ) -> None:
        self._namespace = namespace
        self._counter = counter
        self._formats = formats
        self._summary_of = summary_of

    def format_for(self, given: Sequence[Given], format: str | None, own: str | None) -> str:
        """Choose the format of a batch: as asked for, else the thread's own, else by what only Anthropic has, else OpenAI's."""
        if format is not None:
            name = versioned(format)
            if name not in self._formats():
                raise MessageError(f"the format {format!r} is not known", hint=f"one of {', '.join(sorted(self._formats()))}")
            return name
        if own is not None:
            return own
        return "anthropic/1" if any(looks_anthropic(message) for message in given) else DEFAULT_FORMAT

    def draft(
        self, given: Sequence[Given], *, format: str, detect: bool, created_at: datetime | None, known: Callable[[str], bool]
    ) -> list[Draft]:
        """Make drafts of a batch.

        Args:
            given: the messages.
            format: of the dicts among them.
            detect: whether a dict that has what only OpenAI or only Anthropic has is read as theirs.
            created_at: when they were made; None: now.
            known: whether a summary id is known in the thread.

        Raises:
            MessageError: one of them is no message; ``index`` says which.
        """
        now = time.time_ns() // 1_000_000
        at = now if created_at is None else int(created_at.timestamp() * 1000)
        drafts: list[Draft] = []
        for index, message in enumerate(given):
            try:
                if isinstance(message, Message):
                    drafts.append(self._of_message(message, known))
                    continue
                if not isinstance(message, Mapping):
                    raise MessageError(
                        f"a {type(message).__name__} is no message", hint="give dicts; of an SDK object, its model_dump()"
                    )
                own = _own_format(message, format) if detect else format
                drafts.append(self._of_payload(dict(message), own, at, known))
            except MessageError as error:
                said = f"message {index}: {error.message}"
                raise MessageError(said, hint=error.hint, index=index) from error
        return drafts

    def _of_message(self, message: Message, known: Callable[[str], bool]) -> Draft:
        at = int(message.created_at.timestamp() * 1000)
        return self._draft(message.id, message.role, message.format, message.data, message.parts, at, known)

    def _of_payload(self, payload: dict[str, Any], format: str, at: int, known: Callable[[str], bool]) -> Draft:
        reader = self._formats()[format]
        given = payload.get("id")
        id = None if given is None else checked_name(given, "a message id")
        role, data = reader.role(payload), encode(payload)
        return self._draft(id, role, format, data, reader.read(payload), at, known)

    def _draft(
        self,
        id: str | None,
        role: str,
        format: str,
        data: bytes,
        parts: Sequence[Part],
        at: int,
        known: Callable[[str], bool],
    ) -> Draft:
        return Draft(
            id=id,
            role=role,
            format=format,
            data=data,
            digest=blob_digest(self._namespace, data),
            tokens=count_parts(parts, self._counter),
            exact=self._counter.exact,
            created_at=at,
            shape=shape_of(parts),
            terms=" ".join(analyze(searchable(parts))),
            **self._standing(role, parts, known),
        )

    def _standing(self, role: str, parts: Sequence[Part], known: Callable[[str], bool]) -> dict[str, bool]:
        """Tell a person's request from what the engine itself wrote and got back."""
        copies = [self._summary_of(part.text) for part in parts if isinstance(part, Text)] if role == "user" else []
        injected = bool(copies) and all(id is not None and known(id) for id in copies)
        return {"request": not injected and is_request(role, parts), "injected": injected}


def _own_format(message: Mapping[str, Any], format: str) -> str:
    """Find out whose dict a message is: the batch's, unless it has what only another of the two has."""
    if looks_anthropic(message):
        return "anthropic/1"
    if format == "anthropic/1" and (message.get("role") in _OPENAI_ROLES or message.get("tool_calls")):
        return DEFAULT_FORMAT
    return format
