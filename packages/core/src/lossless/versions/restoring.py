"""Restoring: showing again what a view no longer shows, and going back to a snapshot.

Moves by hand, which ``undo`` takes back.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from lossless.dag.heads import Head, key_at, lock_existing_head, swing
from lossless.dag.opening import covering, open_paths, runs
from lossless.dag.placing import is_hidden, show_instead
from lossless.dag.segments import Hidden, Segment, SummaryRef, Tail
from lossless.dag.summaries import messages_under
from lossless.dag.view import View, ViewStore
from lossless.errors import NotFoundError
from lossless.store.keys import ThreadKey
from lossless.store.read import seqs_of
from lossless.versions.branching import closed_at, unhidden
from lossless.versions.snapshots import Snapshot, find_snapshot

__all__ = ["restore"]


def restore(connection: Connection, key: ThreadKey, views: ViewStore, what: str, now: int) -> bool:
    """Go back to a snapshot, or show a message or all under a summary verbatim; give whether that changed the view.

    Raises:
        NotFoundError: there is no such thread, snapshot, message, or no such summary in the view.
    """
    head = lock_existing_head(connection, key)
    key = key_at(connection, key, head)
    view = views.load(connection, key.namespace, head.view)
    snapshot = find_snapshot(connection, key, what)
    if snapshot is not None:
        found = _restored(connection, key, head, views, snapshot)
    else:
        found = _shown_verbatim(connection, key, view, what)
    if found == view:
        return False
    return swing(
        connection,
        key,
        views,
        found,
        expected=head.generation,
        next_seq=head.next_seq,
        why="restore",
        now=now,
        by_hand=True,
    )


def _restored(connection: Connection, key: ThreadKey, head: Head, views: ViewStore, snapshot: Snapshot) -> View:
    """Give the view of a snapshot as a view of the thread now: newer messages are hidden, and stay in the store."""
    then = closed_at(connection, key, views.load(connection, key.namespace, bytes.fromhex(snapshot.view)), snapshot.seq)
    if snapshot.seq + 1 >= head.next_seq:
        return then
    *before, _tail = then.segments
    newer = Hidden(snapshot.seq + 1, head.next_seq - 1)
    return View((*before, newer, Tail(head.next_seq, head.total_tokens)))


def _shown_verbatim(connection: Connection, key: ThreadKey, view: View, id: str) -> View:
    """Give a view in which a message, or all messages under a summary, stand as themselves.

    Raises:
        NotFoundError: there is no such message in the thread, or no such summary in the view.
    """
    for number, segment in enumerate(view.segments):
        if isinstance(segment, SummaryRef) and segment.id == id:
            return view.replaced(number, number + 1, runs(connection, key, messages_under(connection, key, id)))
    if id.startswith("sum_"):
        raise NotFoundError(f"the view of thread {key.thread_id} does not show {id}", hint="see the items of context()")
    seq = seqs_of(connection, key, [id])[id]
    if is_hidden(view, seq):
        return unhidden(show_instead(connection, key, view, seq, [seq]), seq)
    if not covering(connection, key, view, [seq]):
        return view

    def as_themselves(seqs: tuple[int, ...]) -> Iterable[Segment]:
        return runs(connection, key, seqs)

    return open_paths(connection, key, view, [seq], as_themselves)
