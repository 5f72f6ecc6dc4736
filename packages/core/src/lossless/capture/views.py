"""Views that follow a state: as a checkpoint left them, and with messages hidden or shown again."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection

from lossless.checkpoints import Pair
from lossless.dag.editing import Remake, edit, merged
from lossless.dag.heads import Head
from lossless.dag.placing import show_instead, show_newest_request
from lossless.dag.segments import Hidden, Tail
from lossless.dag.view import View, ViewStore
from lossless.store.keys import ThreadKey
from lossless.versions.branching import cut_view, unhidden

__all__ = ["hidden_and_shown", "restored"]


def restored(connection: Connection, key: ThreadKey, views: ViewStore, head: Head, pair: Pair) -> View:
    """Give the view that a pair stands for as a view of the thread now: what came later is hidden, and stays in the store."""
    view = cut_view(connection, key, views.load(connection, key.namespace, pair.view), pair.upto)
    *segments, _tail = view.segments
    if pair.upto + 1 < head.next_seq:
        segments.append(Hidden(pair.upto + 1, head.next_seq - 1))
    return View(merged([*segments, Tail(head.next_seq, head.total_tokens)]))


def hidden_and_shown(
    connection: Connection,
    key: ThreadKey,
    view: View,
    head: Head,
    *,
    hide: Collection[int],
    show: Sequence[int],
    everything: bool,
    remake: Remake,
    now: int,
) -> View:
    """Give a view without some messages, and with others where they stood.

    Args:
        connection: a connection in a write transaction.
        key: the thread.
        view: the view to change.
        head: where the thread stands.
        hide: the seqs that leave it.
        show: the seqs that come back.
        everything: whether ``hide`` is all that it shows.
        remake: makes a leaf again over what is left under a summary.
        now: the time, in microseconds.
    """
    if everything and hide:
        view = View((Hidden(1, head.next_seq - 1), Tail(head.next_seq, head.total_tokens)))
    elif hide:
        view = edit(connection, key, view, dict.fromkeys(sorted(hide), ()), remake, now)
    for seq in show:
        view = unhidden(show_instead(connection, key, view, seq, [seq]), seq)
    return show_newest_request(connection, key, view, head.next_seq) if hide or show else view
