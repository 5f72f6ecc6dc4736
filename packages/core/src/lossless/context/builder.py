"""Building the active context: reads only; no model call, no write, no scheduling."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from lossless.context.budget import Limits
from lossless.context.entries import Place, Shown, SummaryCache, newest_messages, newest_request, pinned, raw_ranges
from lossless.context.model import ActiveContext, ContextItem
from lossless.context.rendering import omission_text
from lossless.context.selection import Entry, select
from lossless.context.squeezing import squeeze
from lossless.dag.heads import Head
from lossless.dag.segments import SummaryRef
from lossless.dag.view import View
from lossless.errors import ConfigError
from lossless.messages.formats import Format, Turn
from lossless.messages.model import Message
from lossless.messages.parts import Text
from lossless.messages.profiles import Profile
from lossless.messages.repairs import repair
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader, facts_of
from lossless.tokens.counter import TokenCounter
from lossless.tokens.parts import count_parts

__all__ = ["ContextBuilder"]

_OMISSION_ROOM = 64
"""Tokens kept for the omission line."""
_ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class _Piece:
    """One item with the turn it is shown as. ``counted``: its tokens, valid while its turn is not repaired."""

    item: ContextItem
    turn: Turn
    content: bytes


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What is to be shown, and why it is less than the whole view, if it is."""

    pieces: list[_Piece]
    represented: int
    reason: str = ""


class ContextBuilder:
    """Renders views. One for each engine; it keeps what is immutable in memory."""

    def __init__(
        self, reader: MessageReader, summaries: SummaryCache, counter: TokenCounter, formats: Callable[[], Mapping[str, Format]]
    ) -> None:
        self._reader = reader
        self._summaries = summaries
        self._counter = counter
        self._formats = formats

    def build(
        self,
        connection: Connection,
        key: ThreadKey,
        head: Head | None,
        view: View,
        *,
        limits: Limits | None,
        profile: Profile,
        format: str,
    ) -> ActiveContext:
        """Render a thread's view within its limits (None: the whole view).

        Raises:
            ConfigError: no plugin provides the format.
        """
        target = self._formats().get(format)
        if target is None:
            raise ConfigError(f"the format {format!r} is not known", hint=f"one of {', '.join(sorted(self._formats()))}")
        next_seq = head.next_seq if head is not None else 1
        total_tokens = head.total_tokens if head is not None else 0
        total = view.messages(next_seq)
        room = limits.hard if limits is not None else None
        whole = room is None or view.tokens(total_tokens) <= room
        pieces: _Chosen | None = None
        if whole:
            pieces = _Chosen(self._all(connection, key, view, next_seq, format), total)
        for _attempt in range(_ATTEMPTS):
            if pieces is None:
                assert room is not None and limits is not None
                pieces = self._some(connection, key, view, next_seq, format, room, limits.tail)
            context = self._render(pieces, target, profile, total, view, head, limits)
            if limits is None or context.tokens <= limits.hard or pieces.reason:
                return context
            # Repairs made it longer than what was counted; make room for them.
            room = (room or 0) - (context.tokens - limits.hard)
            pieces = None
        return context

    def _all(self, connection: Connection, key: ThreadKey, view: View, next_seq: int, format: str) -> list[_Piece]:
        shown = self._summaries.get(connection, key, [ref.id for ref in view.summaries])
        ranges = {number: (first, last) for number, first, last in raw_ranges(view, next_seq)}
        pieces: list[_Piece] = []
        for number, segment in enumerate(view.segments):
            if isinstance(segment, SummaryRef):
                pieces.append(_summary_piece(shown[segment.id], segment))
            elif number in ranges:
                for message in self._reader.between(connection, key, *ranges[number]):
                    pieces.append(self._message_piece(message, format))
        return pieces

    def _some(
        self, connection: Connection, key: ThreadKey, view: View, next_seq: int, format: str, room: int, tail: int
    ) -> _Chosen:
        """Choose what is shown when the whole view does not fit."""
        first = pinned(connection, key, view, next_seq)
        request = newest_request(connection, key, view, next_seq)
        must = {place for place, _fact in first} | ({request[0]} if request is not None else set())
        facts = dict(first) | ({request[0]: request[1]} if request is not None else {})
        facts |= dict(newest_messages(connection, key, view, next_seq, tokens=room))
        refs = {(n, 0): segment for n, segment in enumerate(view.segments) if isinstance(segment, SummaryRef)}
        places = sorted([*facts, *refs])
        entries = [
            Entry(number, refs[place].tokens)
            if place in refs
            else Entry(number, facts[place].tokens, facts[place].unit, place in must)
            for number, place in enumerate(places)
        ]
        chosen = select(entries, room - _OMISSION_ROOM, tail)
        shown = {places[number] for number in chosen.shown}
        unfit = [places[number] for number in chosen.unfit]
        forced = [place for place in sorted(shown | set(unfit)) if place in facts and place not in dict(first)]
        pieces = {place: piece for place, piece in self._pieces(connection, key, sorted(shown), refs, format).items()}
        reason = ""
        spent = sum(piece.item.tokens for piece in pieces.values())
        if unfit or spent > room - _OMISSION_ROOM:
            squeezed = self._squeezed(connection, key, forced, pieces, format, room - _OMISSION_ROOM)
            pieces, reason = squeezed
        missing = self._omission(connection, key, view, next_seq, set(pieces))
        represented = sum(refs[place].messages if place in refs else 1 for place in pieces)
        if missing is not None:
            place, piece = missing
            pieces[place] = piece
        return _Chosen([pieces[place] for place in sorted(pieces)], represented, reason)

    def _pieces(
        self, connection: Connection, key: ThreadKey, places: Sequence[Place], refs: Mapping[Place, SummaryRef], format: str
    ) -> dict[Place, _Piece]:
        shown = self._summaries.get(connection, key, [refs[place].id for place in places if place in refs])
        seqs = [place[1] for place in places if place not in refs]
        messages = {message.seq: message for message in self._reader.by_seq(connection, key, seqs)}
        return {
            place: _summary_piece(shown[refs[place].id], refs[place])
            if place in refs
            else self._message_piece(messages[place[1]], format)
            for place in places
        }

    def _squeezed(
        self,
        connection: Connection,
        key: ThreadKey,
        forced: Sequence[Place],
        pieces: Mapping[Place, _Piece],
        format: str,
        room: int,
    ) -> tuple[dict[Place, _Piece], str]:
        """Shorten the newest unit and the newest request until they fit beside what is pinned."""
        messages = self._reader.by_seq(connection, key, [place[1] for place in forced])
        kept = {place: piece for place, piece in pieces.items() if place not in forced}
        spare = room - sum(piece.item.tokens for piece in kept.values())
        stubs = squeeze(messages, spare, self._counter)
        by_seq = {message.seq: message for message in messages}
        for place in forced:
            stub = stubs.get(place[1])
            if stub is None:
                kept[place] = self._message_piece(by_seq[place[1]], format)
            elif stub.parts:
                kept[place] = _stub_piece(by_seq[place[1]], stub.parts, stub.tokens)
        too_big = max(messages, key=lambda message: message.tokens)
        reason = f"message {too_big.id} has {too_big.tokens} tokens, and {max(room, 0)} are left for everything"
        return kept, reason

    def _omission(
        self, connection: Connection, key: ThreadKey, view: View, next_seq: int, shown: set[Place]
    ) -> tuple[Place, _Piece] | None:
        """Make the one line that names what is not shown."""
        gaps: list[tuple[Place, int, int]] = []
        missing = 0
        unseen: list[str] = []
        ranges = {number: (first, last) for number, first, last in raw_ranges(view, next_seq)}
        for number, segment in enumerate(view.segments):
            if isinstance(segment, SummaryRef) and (number, 0) not in shown:
                summary = self._summaries.get(connection, key, [segment.id])[segment.id].summary
                gaps.append(((number, 0), summary.first_seq, summary.last_seq))
                unseen.append(segment.id)
                missing += segment.messages
            elif number in ranges:
                first, last = ranges[number]
                seen = {seq for place, seq in shown if place == number}
                missing += last - first + 1 - len(seen)
                lowest = next((seq for seq in range(first, last + 1) if seq not in seen), None)
                highest = next((seq for seq in range(last, first - 1, -1) if seq not in seen), None)
                if lowest is not None and highest is not None:
                    gaps.append(((number, lowest), lowest, highest))
        if not gaps:
            return None
        first_seq, last_seq = gaps[0][1], gaps[-1][2]
        names = {fact.seq: fact.id for fact in facts_of(connection, key, [first_seq, last_seq])}
        text = omission_text(missing, names[first_seq], names[last_seq])
        parts = (Text(text),)
        item = ContextItem(
            kind="omission",
            id="omission",
            tokens=count_parts(parts, self._counter),
            first_seq=first_seq,
            last_seq=last_seq,
            text=text,
            ids=(names[first_seq], names[last_seq], *unseen),
        )
        return gaps[0][0], _Piece(item, Turn("user", parts, "omission"), text.encode("utf-8", "surrogatepass"))

    def _render(
        self,
        chosen: _Chosen,
        target: Format,
        profile: Profile,
        total: int,
        view: View,
        head: Head | None,
        limits: Limits | None,
    ) -> ActiveContext:
        turns = [piece.turn for piece in chosen.pieces]
        fixed = repair(turns, profile)
        known = {id(piece.turn): piece.item.tokens for piece in chosen.pieces}
        tokens = sum(known[id(turn)] if id(turn) in known else count_parts(turn.parts, self._counter) for turn in fixed.turns)
        rendered = target.render(fixed.turns)
        hard = limits.hard if limits is not None else tokens
        reason = chosen.reason
        if not reason and tokens > hard:
            reason = f"what must be shown has {tokens} tokens, and {hard} are left for it"
        return ActiveContext(
            messages=rendered.messages,
            items=tuple(piece.item for piece in chosen.pieces),
            tokens=tokens,
            status="exhausted" if reason else "ok",
            reason=reason,
            represented=chosen.represented,
            total=total,
            view=_hash(view, head, chosen.pieces),
            system=rendered.system,
            repairs=fixed.repairs,
            budget=hard,
        )

    def _message_piece(self, message: Message, format: str) -> _Piece:
        payload = message.payload if message.format == format else None
        item = ContextItem(
            kind="message",
            id=message.id,
            tokens=message.tokens,
            first_seq=message.seq,
            last_seq=message.seq,
            text=message.text,
        )
        return _Piece(item, Turn(message.role, message.parts, message.id, payload), message.data)


def _summary_piece(shown: Shown, ref: SummaryRef) -> _Piece:
    summary = shown.summary
    item = ContextItem(
        kind="summary",
        id=summary.id,
        tokens=ref.tokens,
        first_seq=summary.first_seq,
        last_seq=summary.last_seq,
        text=shown.text,
    )
    # Its text holds times, and a view's hash does not: the id covers sources and text.
    return _Piece(item, Turn("user", (Text(shown.text),), summary.id), summary.id.encode())


def _stub_piece(message: Message, parts: tuple[object, ...], tokens: int) -> _Piece:
    item = ContextItem(
        kind="stub",
        id=message.id,
        tokens=tokens,
        first_seq=message.seq,
        last_seq=message.seq,
        text="\n".join(part.text for part in parts if hasattr(part, "text")),
    )
    return _Piece(item, Turn(message.role, parts, message.id), message.data)  # type: ignore[arg-type]


def _hash(view: View, head: Head | None, pieces: Sequence[_Piece]) -> str:
    running = hashlib.sha256(b"lossless context\0")
    running.update(head.view if head is not None else b"")
    for piece in pieces:
        running.update(f"{piece.item.kind}\0{piece.item.id}\0{len(piece.content)}\0".encode("utf-8", "surrogatepass"))
        running.update(piece.content)
    return running.hexdigest()
