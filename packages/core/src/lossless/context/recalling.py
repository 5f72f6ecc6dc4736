"""Recalling: when the newest request corrects something that is under a summary, its sources are shown just before it.

The sources alone: a stale conclusion that stands beside them still attracts readers. What is shown is not part of the view, and
goes when the next request comes.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from lossless.context.entries import newest_request
from lossless.context.model import ContextItem
from lossless.context.pieces import Piece, Scene, mark_of
from lossless.context.rendering import recall_text, stub_text
from lossless.dag.extents import load_extent
from lossless.dag.opening import covering
from lossless.dag.summaries import messages_under, sources_of
from lossless.messages import Message, Text, Turn
from lossless.store.corrections import corrections_between
from lossless.store.keys import ThreadKey
from lossless.store.read import facts_of
from lossless.tokens.parts import count_parts

__all__ = ["MOST_RECALLED", "recall_piece"]

MOST_RECALLED = 4_000
"""Tokens of a recall at the most; an eighth of the budget if that is less."""
_LEAST = 128
_FRAME = 40
_ENTRY = 12
"""Tokens that the frame, and what stands before each message in it, take."""
_SOURCE_ROLES = ("user", "tool")


def recall_piece(scene: Scene, room: int) -> tuple[str, Piece] | None:
    """Give what is recalled within ``room`` tokens, and the id of the message that it goes before; None if nothing is."""
    if room < _LEAST or not any(True for _ref in scene.view.summaries):
        return None
    request = newest_request(scene.connection, scene.key, scene.view, scene.next_seq)
    if request is None:
        return None
    noted = corrections_between(scene.connection, scene.key, request[1].seq, request[1].seq)
    meant = noted[0][1] if noted else []
    covers = covering(scene.connection, scene.key, scene.view, meant)
    first = next((seq for seq in meant if seq in covers), None)
    if first is None:
        return None
    leaf = _leaf_over(scene.connection, scene.key, covers[first], first)
    sources = _sources(scene, leaf)
    chosen = _chosen(scene, sources, [seq for seq in meant if seq in covers], min(room, MOST_RECALLED) - _FRAME)
    return (request[1].id, _piece(scene, leaf, len(sources), chosen)) if chosen else None


def _leaf_over(connection: Connection, key: ThreadKey, id: str, seq: int) -> str:
    """Go down from a summary to the leaf that a message is under."""
    while True:
        below = [source for source in sources_of(connection, key, id) if isinstance(source, str)]
        if not below:
            return id
        over = (child for child in below if load_extent(connection, key, child).newest_seq >= seq)
        found = next((child for child in over if seq in messages_under(connection, key, child)), None)
        if found is None:
            return id  # it stands between the summaries
        id = found


def _sources(scene: Scene, leaf: str) -> list[int]:
    seqs = messages_under(scene.connection, scene.key, leaf)
    roles = {fact.seq: fact.role for fact in facts_of(scene.connection, scene.key, seqs) if not fact.injected}
    return [seq for seq in seqs if roles.get(seq) in _SOURCE_ROLES]


def _chosen(scene: Scene, sources: Sequence[int], meant: Sequence[int], room: int) -> list[tuple[Message, str]]:
    """Choose what is shown: what is meant first, then what stands next to it, whole messages; the first one may be shortened."""
    places = {seq: place for place, seq in enumerate(sources)}
    centres = [places[seq] for seq in meant if seq in places]
    if not centres:
        centres = [sum(seq < meant[0] for seq in sources)]
    order = sorted(sources, key=lambda seq: (min(abs(places[seq] - centre) for centre in centres), seq))
    chosen: list[tuple[Message, str]] = []
    for message in scene.reader.by_seq(scene.connection, scene.key, order[:64]):
        text = message.text.strip()
        if not text:
            continue
        cost = scene.counter.count(text) + _ENTRY
        if cost > room and not chosen:
            text = stub_text(text, message_id=message.id, what="source", room=max(0, 2 * (room - 96)))
            cost = scene.counter.count(text) + _ENTRY
        if cost <= room:
            chosen.append((message, text))
            room -= cost
    return sorted(chosen, key=lambda pair: places[pair[0].seq])


def _piece(scene: Scene, leaf: str, total: int, chosen: Sequence[tuple[Message, str]]) -> Piece:
    text = recall_text(leaf, total, [(message.id, message.role, said) for message, said in chosen])
    item = ContextItem(
        kind="recall",
        id=leaf,
        tokens=count_parts((Text(text),), scene.counter),
        first_seq=chosen[0][0].seq,
        last_seq=chosen[-1][0].seq,
        text=text,
        ids=tuple(message.id for message, _said in chosen),
        messages=0,
    )
    return Piece(item, Turn("user", (Text(text),), leaf), mark_of("recall", leaf, text.encode("utf-8", "surrogatepass")))
