"""History: the views that a thread had."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from lossless.dag.heads import moves
from lossless.store.keys import ThreadKey
from lossless.store.times import from_stored

__all__ = ["ViewRecord", "view_records"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRecord:
    """A view that a thread had: since which generation, its address, how far the thread was, why it came, and which move it
    undid."""

    generation: int
    view: str
    next_seq: int
    why: str
    by_hand: bool
    undoes: int | None
    at: datetime


def view_records(connection: Connection, key: ThreadKey, *, limit: int | None = None) -> list[ViewRecord]:
    """Give the views that a thread had, newest first."""
    return [
        ViewRecord(
            generation=move.generation,
            view=move.view.hex(),
            next_seq=move.next_seq,
            why=move.why,
            by_hand=move.by_hand,
            undoes=move.undoes,
            at=from_stored(move.at),
        )
        for move in moves(connection, key, limit=limit)
    ]
