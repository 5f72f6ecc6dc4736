"""Fitting: choosing and, as the last resort, shortening what is shown when a budget can't hold the view."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from lossless.context.budget import Limits
from lossless.context.edits import Edited
from lossless.context.entries import Place, newest_messages, newest_request, pinned
from lossless.context.pieces import Piece, Scene, omission_piece, stub_piece, summary_piece
from lossless.context.selection import Entry, select
from lossless.context.squeezing import squeeze
from lossless.dag.segments import Raw, Tail

__all__ = ["Chosen", "everything", "fit"]

_OMISSION_ROOM = 64
"""Tokens kept for the omission line."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Pieces to be shown, in view order; how many messages they represent; why something had to be shortened, if so; and
    from where on what is shown is not what was said."""

    pieces: list[Piece]
    represented: int
    reason: str = ""
    edited: Edited = field(default_factory=Edited)


def everything(scene: Scene) -> Chosen:
    """Show the whole view."""
    refs, ranges = scene.refs(), scene.ranges()
    shown = scene.shown([ref.id for ref in refs.values()])
    pieces: list[Piece] = []
    start: int | None = None
    for number, segment in enumerate(scene.view.segments):
        if start is None and not isinstance(segment, (Raw, Tail)):
            start = len(pieces)
        if (number, 0) in refs:
            ref = refs[number, 0]
            pieces.append(summary_piece(shown[ref.id], ref))
        elif number in ranges:
            messages = scene.messages(*ranges[number])
            if start is None:
                start = next((len(pieces) + n for n, piece in enumerate(messages) if piece.erased), None)
            pieces.extend(messages)
    return Chosen(pieces, scene.view.messages(scene.next_seq), edited=Edited(start))


def fit(scene: Scene, room: int, limits: Limits) -> Chosen:
    """Show what fits into ``room`` tokens, which may be less than the limits allow where repairs need some."""
    place = (scene.connection, scene.key, scene.view, scene.next_seq)
    pins = dict(pinned(*place))
    request = newest_request(*place)
    must = pins | (dict([request]) if request is not None else {})
    facts = must | dict(newest_messages(*place, tokens=room))
    refs = scene.refs()
    places = sorted([*facts, *refs])
    entries = [
        Entry(number, refs[place].tokens)
        if place in refs
        else Entry(number, facts[place].tokens, facts[place].unit, place in must)
        for number, place in enumerate(places)
    ]
    left = room - _OMISSION_ROOM
    chosen = select(entries, left, limits.tail)
    shown = {places[number] for number in chosen.shown}
    pieces = _pieces(scene, shown)
    reason = ""
    if chosen.unfit or sum(piece.item.tokens for piece in pieces.values()) > left:
        newest = shown.union(places[number] for number in chosen.unfit)
        forced = [place for place in sorted(newest) if place in facts and place not in pins]
        pieces, whole = _squeezed(scene, forced, pieces, left)
        if sum(piece.item.tokens for piece in pieces.values()) > left:
            # Not even shortened does it fit: what is pinned and the newest request are all that must be there.
            pinned_only = {place: piece for place, piece in pieces.items() if place in pins}
            pieces, whole = _squeezed(scene, [place for place in forced if place in must], pinned_only, left)
        longest = max([*whole, *((fact.tokens, fact.id) for fact in pins.values())], default=None)
        named = f"message {longest[1]} has {longest[0]} tokens" if longest is not None else "there is no room"
        reason = f"{named}, and {limits.hard} are left for everything"
    represented = sum(refs[place].messages if place in refs else 1 for place in pieces)
    missing = omission_piece(scene, set(pieces))
    if missing is None and not reason:
        return everything(scene)
    if missing is not None:
        pieces = pieces | dict([missing])
    return Chosen([pieces[place] for place in sorted(pieces)], represented, reason, Edited(cut=True))


def _pieces(scene: Scene, places: Collection[Place]) -> dict[Place, Piece]:
    refs = {place: ref for place, ref in scene.refs().items() if place in places}
    shown = scene.shown([ref.id for ref in refs.values()])
    raw = [place for place in places if place not in refs]
    made = {place: summary_piece(shown[ref.id], ref) for place, ref in refs.items()}
    return made | dict(zip(raw, scene.pieces_at(raw), strict=True))


def _squeezed(
    scene: Scene, forced: Sequence[Place], pieces: Mapping[Place, Piece], room: int
) -> tuple[dict[Place, Piece], list[tuple[int, str]]]:
    """Shorten the newest unit and the newest request until they fit beside what is pinned; give what they cost whole, and ids."""
    messages = scene.messages_at(forced)
    kept = {place: piece for place, piece in pieces.items() if place not in forced}
    stubs = squeeze(messages, room - sum(piece.item.tokens for piece in kept.values()), scene.counter)
    for place, message in zip(forced, messages, strict=True):
        stub = stubs.get(message.seq)
        kept[place] = scene.shown_as_said([message])[0] if stub is None else stub_piece(message, stub)
    return kept, [(message.tokens, message.id) for message in messages]
