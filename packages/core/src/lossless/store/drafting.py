"""Drafting: what a caller gives becomes drafts, outside of any transaction: encoded, read, counted and analysed once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from lossless.errors import MessageError
from lossless.messages import Format, Message, decode, encode, is_request, looks_anthropic, searchable, shape_of
from lossless.messages.parts import Opaque, Part, Result, Text
from lossless.store.analyzer import analyzed
from lossless.store.append import Draft
from lossless.store.blobs import stored_blob
from lossless.store.contents import Said, is_invented, participant
from lossless.store.digests import blob_digest, commitment
from lossless.store.keys import checked_name
from lossless.store.times import now, to_stored
from lossless.store.usual import DEFAULT_FORMAT
from lossless.store.vault import Vault
from lossless.tokens.counter import TokenCounter
from lossless.tokens.media import is_measured
from lossless.tokens.parts import count_parts

__all__ = ["DEFAULT_FORMAT", "Drafter", "Given", "listed", "versioned"]

_OPENAI_ROLES = ("developer", "function", "tool")
Given = Message | Mapping[str, Any]
"""What can be appended: a message, or a dict in one of the known formats."""


def listed(messages: Given | Iterable[Given]) -> list[Given]:
    """Give one or many messages as a list.

    Raises:
        MessageError: it is neither a message nor a collection of messages.
    """
    if type(messages) is dict or isinstance(messages, (Message, Mapping)):
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
        namespace: what drafts are made for.
        secret: gives what digests are keyed with.
        counter: counts tokens.
        formats: gives the readers of formats by name.
        is_engines_own: tells of a text whether the engine wrote it, given what tells whether a summary id is known.
        vault: seals payloads; where there is a cipher, nothing is analysed for the search index.
        redact: gives a payload as it may be stored.
    """

    def __init__(
        self,
        namespace: str,
        secret: Callable[[], bytes],
        counter: TokenCounter,
        formats: Callable[[], Mapping[str, Format]],
        is_engines_own: Callable[[str, Callable[[str], bool]], bool],
        vault: Vault,
        redact: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        self._namespace = namespace
        self._vault = vault
        self._redact = redact
        self._secret = secret
        self._counter = counter
        self._formats = formats
        self._is_engines_own = is_engines_own

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
        at = now() if created_at is None else to_stored(created_at)
        drafts: list[Draft] = []
        for index, message in enumerate(given):
            try:
                if isinstance(message, Message):
                    drafts.append(self._of_message(message, known))
                    continue
                if type(message) is not dict and not isinstance(message, Mapping):
                    raise MessageError(
                        f"a {type(message).__name__} is no message", hint="give dicts; of an SDK object, its model_dump()"
                    )
                own = _own_format(message, format) if detect else format
                drafts.append(self._of_payload(dict(message), own, at, known))
            except MessageError as error:
                said = f"message {index}: {error.message}"
                raise MessageError(said, hint=error.hint, index=index) from error
        return drafts

    def of_stored(self, data: bytes, *, format: str, known: Callable[[str], bool]) -> Draft:
        """Make a draft of an encoded payload that is stored when the draft is.

        Raises:
            CorruptError: it can't be read.
            MessageError: it is no message of the format.
        """
        payload, reader = decode(data), self._formats()[format]
        id = payload.get("id")
        said = Said(id, reader.role(payload), participant(payload), reader.read(payload))
        return self._draft(said, format, data, now(), known, stored=True)

    def _of_message(self, message: Message, known: Callable[[str], bool]) -> Draft:
        at, payload = to_stored(message.created_at), message.payload
        redacted = self._redact(payload) if isinstance(payload, dict) else payload
        if redacted is not payload:
            return self._of_redacted(message, redacted, at, known)
        said = Said(message.id, message.role, participant(payload), message.parts)
        return self._draft(said, message.format, message.data, at, known)

    def _of_redacted(self, message: Message, payload: dict[str, Any], at: int, known: Callable[[str], bool]) -> Draft:
        reader = self._formats().get(message.format)
        parts = reader.read(payload) if reader is not None else (Opaque(payload),)
        said = Said(message.id, message.role, participant(payload), parts)
        return self._draft(said, message.format, encode(payload), at, known)

    def _of_payload(self, payload: dict[str, Any], format: str, at: int, known: Callable[[str], bool]) -> Draft:
        reader = self._formats()[format]
        given = payload.get("id")
        id = None if given is None else checked_name(given, "a message id")
        payload = self._redact(payload)
        role, data = reader.role(payload), encode(payload)
        return self._draft(Said(id, role, participant(payload), reader.read(payload)), format, data, at, known)

    def _draft(
        self, said: Said, format: str, data: bytes, at: int, known: Callable[[str], bool], *, stored: bool = False
    ) -> Draft:
        own = self._own_words(said, known)
        secret, salt = self._secret(), os.urandom(16)
        digest = blob_digest(secret, data)
        return Draft(
            id=said.id,
            role=said.role,
            format=format,
            data=data,
            digest=digest,
            blob=None if stored else stored_blob(self._vault, self._namespace, digest, data),
            salt=salt,
            commitment=commitment(secret, salt, data),
            tokens=count_parts(said.parts, self._counter, name=None if said.role == "tool" else said.name),
            exact=self._counter.exact and is_measured(said.parts),
            created_at=at,
            shape=shape_of(said.parts),
            terms="" if self._vault.encrypts else analyzed(searchable(said.parts)),
            request=is_request(said.role, own.parts),
            injected=len(own.parts) < len(said.parts) and not own.parts,
            said=own,
        )

    def _own_words(self, said: Said, known: Callable[[str], bool]) -> Said:
        """Leave out what the engine itself wrote and got back."""
        if said.role not in ("user", "tool"):
            return said
        own = [part for part in said.parts if not self._is_own(part, said.role, known)]
        return said if len(own) == len(said.parts) else replace(said, parts=own)

    def _is_own(self, part: Part, role: str, known: Callable[[str], bool]) -> bool:
        if isinstance(part, Text):
            return role == "user" and self._is_engines_own(part.text, known)
        return isinstance(part, Result) and is_invented(part)


def _own_format(message: Mapping[str, Any], format: str) -> str:
    """Find out whose dict a message is: the batch's, unless it has what only another of the two has."""
    if looks_anthropic(message):
        return "anthropic/1"
    if format == "langchain/1" and "role" in message and "data" not in message:
        return DEFAULT_FORMAT
    if format == "anthropic/1" and (message.get("role") in _OPENAI_ROLES or message.get("tool_calls")):
        return DEFAULT_FORMAT
    return format
