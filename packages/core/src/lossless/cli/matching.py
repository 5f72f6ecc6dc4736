"""Matching: what of a given conversation a stored thread already holds, told by digests of whole messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lossless.errors import MessageError

if TYPE_CHECKING:
    from lossless import Engine
    from lossless.messages.parts import Part

__all__ = ["Given", "Match", "compare", "digest_of", "match"]


@dataclass(frozen=True, slots=True)
class Given:
    """A message of a file: its digest, or why it is refused; whether it has an id, and whether it is a system message."""

    digest: bytes | None
    refused: str | None = None
    has_id: bool = False
    is_system: bool = False
    role: str = ""
    name: str | None = None
    parts: tuple[Part, ...] = ()

    def kind(self, engine: Engine) -> tuple[str, int]:
        """Give what can be told of it once it is erased: role and tokens, as an append counts them."""
        from lossless.tokens.parts import count_parts

        return self.role, count_parts(self.parts, engine.counter, name=None if self.role == "tool" else self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How a conversation and a thread go together.

    Attributes:
        skip: how many messages at the front of the conversation are stored or refused.
        fits: whether the conversation is the thread's, rather than another one.
    """

    skip: int
    fits: bool


def digest_of(engine: Engine, message: Any, format: str, own: str | None) -> Given:
    """Digest a message as an append to a thread would, or find out why it would be refused.

    Args:
        engine: that of the thread.
        message: as the file has it.
        format: whose message it is, or ``auto``.
        own: the thread's format, or None.
    """
    from lossless.messages import encode, looks_anthropic
    from lossless.store.contents import participant
    from lossless.store.digests import blob_digest
    from lossless.store.keys import checked_name

    found = format if format != "auto" else "anthropic" if looks_anthropic(message) else (own or "openai")
    reader = engine.plugins.formats[found if "/" in found else f"{found}/1"]
    try:
        has_id = message.get("id") is not None
        if has_id:
            checked_name(message["id"], "a message id")
        message = engine.plugins.redact(message)
        role, data = reader.role(message), encode(message)
        parts = reader.read(message)
    except MessageError as error:
        return Given(None, refused=error.message)
    digest = blob_digest(engine.secrets.make(engine.namespace), data)
    named = participant(message)
    return Given(digest, has_id=has_id, is_system=role in ("system", "developer"), role=role, name=named, parts=parts)


def match(engine: Engine, thread_id: str, given: Sequence[Given]) -> Match:
    """Compare a conversation with what a thread stores, deleted messages included.

    Where all messages have ids, storing them again adds nothing, and nothing is compared here.
    """
    from lossless.dag.aligning import filled
    from lossless.store.shown import erased_kinds, gaps_in, visible_messages

    accepted = [each for each in given if each.digest is not None]
    if all(each.has_id for each in accepted):
        return Match(skip=0, fits=True)
    with engine.database.read() as connection:
        found = visible_messages(connection, engine.key_of(thread_id), ())
        gaps = gaps_in([seq for seq, _digest in found], erased_kinds(connection, engine.key_of(thread_id)))
    stored: list[bytes | None] = [digest for _seq, digest in found]
    if gaps:
        stored = filled(stored, gaps, [each.digest for each in accepted], [each.kind(engine) for each in accepted])
    known, fits = compare(stored, [each.digest for each in accepted], _leading_systems(accepted))
    return Match(skip=_place_after(given, known), fits=fits)


def compare(stored: Sequence[bytes | None], given: Sequence[bytes | None], lead: int) -> tuple[int, bool]:
    """Give how many given messages are known, and whether both are one conversation.

    They are, if the thread holds all that is given, or what is given goes on where the thread ends: from its start, or
    overlapping in two messages at least. System messages at the front may stand apart from the rest, as in a context.
    """
    from lossless.dag.aligning import count_known

    if not stored:
        return 0, True
    known = count_known(stored, given)
    apart = 0
    if known < len(given) and lead and list(stored[:lead]) == list(given[:lead]):
        beyond = lead + count_known(stored[lead:], given[lead:])
        known, apart = (beyond, lead) if beyond > known else (known, 0)
    overlap = list(given[apart:known])
    goes_on = known == len(stored) or (len(overlap) >= 2 and list(stored[-len(overlap) :]) == overlap)
    return known, known == len(given) or goes_on


def _leading_systems(given: Sequence[Given]) -> int:
    return next((place for place, each in enumerate(given) if not each.is_system), len(given))


def _place_after(given: Sequence[Given], known: int) -> int:
    """Give the place in the file behind the known messages; refused ones right behind them don't matter."""
    place = 0
    while known:
        known -= given[place].digest is not None
        place += 1
    return place
