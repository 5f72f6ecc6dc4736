"""Ingest: appending to a thread and giving revisions their place in the view, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from lossless.dag.editing import Remake, edit, revisions_since, shown_revision
from lossless.dag.heads import Head, create_thread, key_at, lock_existing_head, lock_head, moves, swing
from lossless.dag.matching import ReadMessages, new_drafts
from lossless.dag.placing import show_newest_request
from lossless.dag.view import View, ViewStore
from lossless.messages.model import MessageRef
from lossless.store.append import Draft, Position, append
from lossless.store.keys import ThreadKey
from lossless.store.read import facts_of, seqs_of, unit_partners

__all__ = ["Ingested", "delete", "ingest", "sync", "undo"]

_RECENT_VIEWS = 4
"""A context that comes back was rendered from one of so many: the thread may have been compacted meanwhile."""


class Ingested(NamedTuple):
    """What came of an ingest: a ref for each draft, how many were new, and where the thread stands, with the key that it has."""

    refs: tuple[MessageRef, ...]
    added: int
    generation: int
    view: View
    next_seq: int
    total_tokens: int
    key: ThreadKey | None = None


def ingest(
    connection: Connection,
    key: ThreadKey,
    views: ViewStore,
    drafts: Sequence[Draft],
    remake: Remake,
    *,
    format: str,
    now: int,
    again: bool = False,
    head: Head | None = None,
) -> Ingested:
    """Store drafts at the end of a thread, which is created if it is not there.

    Args:
        connection: a connection in a write transaction.
        key: the thread.
        views: where its views are.
        drafts: what to store.
        remake: makes a leaf again from which a message was taken.
        format: the thread's, if it is created.
        now: the time, in microseconds.
        again: whether what was taken out of the view is stored once more when it is given again with its id.
        head: where the thread stands, if the caller has locked it.
    """
    head = head or lock_head(connection, key) or create_thread(connection, key, views, format=format, now=now)
    key = key_at(connection, key, head)
    view = views.load(connection, key.namespace, head.view)
    gone = _Gone(view.hidden()) if again else ()
    # A call that left the view stays open: units follow from what is stored alone, or verify could not tell what they should be.
    position = Position(head.next_seq, head.total_tokens, head.chain, head.open_calls, head.lookalike_ids)
    done = append(connection, key, position, drafts, now, gone)
    generation = head.generation
    if done.revisions:
        next_seq = done.position.next_seq
        view = _revised(connection, key, view, done.revisions, remake, now)
        view = show_newest_request(connection, key, view, next_seq)
        swing(connection, key, views, view, expected=generation, next_seq=next_seq, why="revision", now=now)
        generation += 1
    after = done.position
    return Ingested(done.refs, done.added, generation, view, after.next_seq, after.total_tokens, key)


class _Gone:
    """The seqs that are hidden, as a container."""

    def __init__(self, hidden: Iterable[range]) -> None:
        self._hidden = tuple(hidden)

    def __contains__(self, seq: object) -> bool:
        return any(seq in each for each in self._hidden)


def sync(
    connection: Connection,
    key: ThreadKey,
    views: ViewStore,
    drafts: Sequence[Draft],
    remake: Remake,
    read: ReadMessages,
    *,
    format: str,
    now: int,
) -> Ingested:
    """Store what is new in a transcript: messages with ids by them, others by content and order; ``refs`` are of the new ones."""
    new: Sequence[Draft] = [draft for draft in drafts if not draft.injected]
    # What is new is found out under the lock, or two who bring the same transcript would both store it.
    head = lock_head(connection, key) or create_thread(connection, key, views, format=format, now=now)
    key = key_at(connection, key, head)
    if any(draft.id is None for draft in new):
        recent = [views.load(connection, key.namespace, move.view) for move in moves(connection, key, limit=_RECENT_VIEWS)]
        new = new_drafts(connection, key, recent, new, read)
    done = ingest(connection, key, views, new, remake, format=format, now=now)
    first_new = done.next_seq - done.added
    return done._replace(refs=tuple(ref for ref in done.refs if ref.seq >= first_new))


def delete(
    connection: Connection,
    key: ThreadKey,
    views: ViewStore,
    ids: Sequence[str],
    remake: Remake,
    *,
    now: int,
    partners: bool = True,
) -> tuple[str, ...]:
    """Take messages out of the view, and with a tool call its results (``partners``); give the ids of all that left it.

    Raises:
        NotFoundError: the thread or a message is not there.
    """
    head = lock_existing_head(connection, key)
    key = key_at(connection, key, head)
    view = views.load(connection, key.namespace, head.view)
    wanted = set(seqs_of(connection, key, list(ids)).values())
    for seq in sorted(wanted) if partners else ():
        # A user's text beside a result stays; validity withholds the result itself, whose call is gone.
        wanted.update(fact.seq for fact in unit_partners(connection, key, seq) if not fact.request)
    gone = {seq for hidden in view.hidden() for seq in hidden}
    changes: dict[int, Sequence[int]] = dict.fromkeys(sorted(wanted - gone), ())
    if not changes:
        return ()
    edited = edit(connection, key, view, changes, remake, now)
    edited = show_newest_request(connection, key, edited, head.next_seq)
    swing(connection, key, views, edited, expected=head.generation, next_seq=head.next_seq, why="delete", now=now, by_hand=True)
    return tuple(fact.id for fact in facts_of(connection, key, list(changes)))


def undo(connection: Connection, key: ThreadKey, views: ViewStore, remake: Remake, *, now: int) -> str | None:
    """Take back the newest move made by hand; give what it was, or None when there is none.

    Messages appended since stay, and so do revisions: they are given their places in the earlier view again.
    """
    head = lock_head(connection, key)
    if head is None:
        return None
    key = key_at(connection, key, head)
    log = moves(connection, key)
    undone = {move.undoes for move in log if move.undoes is not None}
    target = next((move for move in log if move.by_hand and move.generation not in undone), None)
    if target is None:
        return None
    before = next(move for move in log if move.generation == target.generation - 1)
    view = views.load(connection, key.namespace, before.view)
    pairs = revisions_since(connection, key, before.next_seq)
    view = _revised(connection, key, view, pairs, remake, now)
    swing(
        connection,
        key,
        views,
        view,
        expected=head.generation,
        next_seq=head.next_seq,
        why=f"undo {target.why}",
        now=now,
        undoes=target.generation,
    )
    return target.why


def _revised(
    connection: Connection, key: ThreadKey, view: View, pairs: Sequence[tuple[int, int]], remake: Remake, now: int
) -> View:
    for changes in _at_once(pairs):
        shown = {shown_revision(connection, key, view, old): after for old, after in changes.items()}
        view = edit(connection, key, view, shown, remake, now)
    return view


def _at_once(pairs: Sequence[tuple[int, int]]) -> list[dict[int, Sequence[int]]]:
    """Group revisions, in order, into edits; what revises a revision comes in a later one."""
    groups: list[dict[int, Sequence[int]]] = [{}]
    arrived: set[int] = set()
    for old, new in pairs:
        if old in arrived or old in groups[-1]:
            groups.append({})
            arrived = set()
        groups[-1][old] = (new,)
        arrived.add(new)
    return [group for group in groups if group]
