"""The past: the checkpoints that a new one is held against: the newest one of its graph, and the one that it follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, bindparam, select

from lossless.checkpoints import Pair, Place
from lossless.checkpoints.items import MESSAGES, kept_in, message_key, pieces, told_in
from lossless.checkpoints.lines import Line
from lossless.checkpoints.parts import load_part
from lossless.checkpoints.reading import writes_at
from lossless.checkpoints.rows import opened, write_body
from lossless.store.prepared import Prepared
from lossless.store.tables import CheckpointRow

__all__ = ["Before", "followed_last", "held_at", "newest_but", "own_and_newest", "stored_at", "written_after"]

_CHECKPOINT = CheckpointRow.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A checkpoint that is stored. ``channels``: joined items, three for each channel: its name, its version, its content."""

    place: Place
    parent: str | None
    pool: int
    channels: bytes
    pair: Pair | None

    def content(self, name: bytes) -> bytes | None:
        """Give the content of a channel by the item of its name."""
        found = list(pieces(self.channels))
        return dict(zip(found[::3], found[2::3], strict=True)).get(name)

    def kept(self, connection: Connection, namespace: str, name: bytes) -> list[bytes]:
        """Give the items of the messages of a captured channel, in order."""
        content = self.content(name)
        return [] if content is None else kept_in(content, lambda digest: load_part(connection, namespace, self.pool, digest))


def newest_but(connection: Connection, namespace: str, line: Line, place: Place) -> Before | None:
    """Give the newest checkpoint of a graph, leaving one out of account."""
    found = [_NEWEST.first(connection, _named(namespace, strand, place)) for strand in line.strands]
    return _before(connection, namespace, line, place, max((row for row in found if row), key=_id, default=None))


def own_and_newest(connection: Connection, namespace: str, line: Line, place: Place) -> tuple[Before | None, Before | None]:
    """Give a checkpoint, and the newest other one of its graph, each if it is stored: mostly it is new, and one look tells."""
    newest = newest_but(connection, namespace, line, replace(place, checkpoint_id=""))
    if newest is None or newest.place.checkpoint_id < place.checkpoint_id:
        return None, newest
    if newest.place.checkpoint_id == place.checkpoint_id:
        return newest, newest_but(connection, namespace, line, place)
    return stored_at(connection, namespace, line, place, place.checkpoint_id), newest


def followed_last(connection: Connection, namespace: str, line: Line, place: Place) -> Before | None:
    """Give the newest checkpoint of a graph that a thread followed, leaving one out of account."""
    found = [_FOLLOWED.first(connection, _named(namespace, strand, place)) for strand in line.strands]
    return _before(connection, namespace, line, place, max((row for row in found if row), key=_id, default=None))


def stored_at(connection: Connection, namespace: str, line: Line, place: Place, checkpoint_id: str) -> Before | None:
    """Give a checkpoint of a graph by its id."""
    for strand in line.strands:
        row = _AT.first(connection, {**_named(namespace, strand, place), "checkpoint_id": checkpoint_id})
        if row is not None:
            return _before(connection, namespace, line, place, row)
    return None


def written_after(
    connection: Connection, namespace: str, line: Line, place: Place, checkpoint_id: str | None, name: bytes
) -> list[bytes]:
    """Give what was written to a channel after a checkpoint of a graph, in order, as :func:`told_in` tells it."""
    if checkpoint_id is None:
        return []
    at = Place(thread_id=place.thread_id, checkpoint_ns=place.checkpoint_ns, checkpoint_id=checkpoint_id)
    found: list[bytes] = []
    for row in writes_at(connection, namespace, line, at):
        channel, value = pieces(write_body(connection, namespace, line.pool, at, row))
        if channel == name:
            found += told_in(value, lambda digest: load_part(connection, namespace, line.pool, digest))
    return found


def held_at(connection: Connection, namespace: str, line: Line, before: Before | None, name: bytes) -> set[bytes]:
    """Give what tells the messages that a delta channel held at a checkpoint, and those it lost since it had a value there."""
    found: set[bytes] = set()
    while before is not None:
        found.update(map(message_key, before.kept(connection, namespace, name)))
        if before.parent is None or before.content(name) is not None:
            break
        told = written_after(connection, namespace, line, before.place, before.parent, name)
        found.update(message_key(item) for item in told if item[:1] in MESSAGES)
        before = stored_at(connection, namespace, line, before.place, before.parent)
    return found


def _id(row: Any) -> str:
    return str(row.checkpoint_id)


def _named(namespace: str, strand: int, place: Place) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "strand": strand,
        "checkpoint_ns": place.checkpoint_ns,
        "checkpoint_id": place.checkpoint_id,
    }


def _before(connection: Connection, namespace: str, line: Line, place: Place, row: Any) -> Before | None:
    if row is None:
        return None
    found = Place(thread_id=place.thread_id, checkpoint_ns=place.checkpoint_ns, checkpoint_id=row.checkpoint_id)
    return Before(
        place=found,
        parent=row.parent,
        pool=line.pool,
        channels=opened(connection, namespace, line.pool, found, "channels", row.channels),
        pair=None if row.view is None else Pair(view=bytes(row.view), upto=row.upto, owner=row.owner),
    )


_COLUMNS = ("checkpoint_id", "parent", "channels", "view", "upto", "owner")
_OF_GRAPH = select(*(_CHECKPOINT.c[name] for name in _COLUMNS)).where(
    _CHECKPOINT.c.namespace == bindparam("namespace"),
    _CHECKPOINT.c.strand == bindparam("strand"),
    _CHECKPOINT.c.checkpoint_ns == bindparam("checkpoint_ns"),
)
_AT = Prepared(_OF_GRAPH.where(_CHECKPOINT.c.checkpoint_id == bindparam("checkpoint_id")))
_OTHERS = _OF_GRAPH.where(_CHECKPOINT.c.checkpoint_id != bindparam("checkpoint_id"))
_NEWEST = Prepared(_OTHERS.order_by(_CHECKPOINT.c.checkpoint_id.desc()).limit(1))
_FOLLOWED = Prepared(_OTHERS.where(_CHECKPOINT.c.view.is_not(None)).order_by(_CHECKPOINT.c.checkpoint_id.desc()).limit(1))
