"""Pairs: what checkpoints say of threads, for who looks at all of them: the views that one can go back to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection, select, update

from lossless.store.tables import CheckpointRow

__all__ = ["forget_pairs", "replace_view", "views_of_checkpoints"]

_CHECKPOINT = CheckpointRow.__table__  # type: ignore[attr-defined]


def views_of_checkpoints(connection: Connection, namespace: str) -> Iterator[tuple[str, bytes]]:
    """Give the owners of pairs, each with the address of a view."""
    named = (_CHECKPOINT.c.namespace == namespace, _CHECKPOINT.c.view.is_not(None))
    for row in connection.execute(select(_CHECKPOINT.c.owner, _CHECKPOINT.c.view).where(*named).distinct()):
        yield row.owner, bytes(row.view)


def replace_view(connection: Connection, namespace: str, old: bytes, new: bytes) -> None:
    """Put a view in the place of another."""
    named = (_CHECKPOINT.c.namespace == namespace, _CHECKPOINT.c.view == old)
    connection.execute(update(_CHECKPOINT).where(*named).values(view=new))


def forget_pairs(connection: Connection, namespace: str, owners: Iterable[str]) -> None:
    """Let no checkpoint lead back to threads that are gone: one that is begun anew under such an id has other messages."""
    for owner in owners:
        named = (_CHECKPOINT.c.namespace == namespace, _CHECKPOINT.c.owner == owner)
        connection.execute(update(_CHECKPOINT).where(*named).values(view=None, upto=None, owner=None))
