"""Replacing what a thread shows by a list of messages, in one transaction: what frameworks call clearing and setting a history.

What is shown already and stands at the front of the list stays as it is. Everything else that is shown leaves the view, and the
rest of the list is appended, also what had been taken out of the view before. Nothing leaves the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as changed

from sqlalchemy import Connection

from lossless.dag.aligning import filled
from lossless.dag.editing import Remake, edit
from lossless.dag.heads import create_thread, key_at, lock_head, swing
from lossless.dag.ingest import Ingested, ingest
from lossless.dag.placing import show_newest_request
from lossless.dag.segments import Hidden, Tail
from lossless.dag.view import View, ViewStore
from lossless.messages.model import MessageRef
from lossless.store.append import Draft
from lossless.store.keys import ThreadKey
from lossless.store.shown import ShownMessage, erased_kinds, gaps_in, shown_messages

__all__ = ["replace_shown"]


def replace_shown(
    connection: Connection, key: ThreadKey, views: ViewStore, drafts: Sequence[Draft], remake: Remake, *, format: str, now: int
) -> Ingested:
    """Make a thread show exactly these messages, in this order; ``refs`` has one for each.

    A thread that is not there is created only if there is something to show. ``undo`` brings back what left the view.
    """
    head = lock_head(connection, key) or (create_thread(connection, key, views, format=format, now=now) if drafts else None)
    if head is None:
        return Ingested((), 0, 0, View((Tail(1, 0),)), 1, 0)
    key = key_at(connection, key, head)
    view = views.load(connection, key.namespace, head.view)
    shown = shown_messages(connection, key, [(gone.start, gone.stop) for gone in view.hidden()])
    kept = _kept(_told_by(connection, key, shown, drafts), drafts)
    if kept < len(shown):
        if kept:
            view = edit(connection, key, view, dict.fromkeys((each.seq for each in shown[kept:]), ()), remake, now)
            view = show_newest_request(connection, key, view, head.next_seq)
        else:
            view = View((Hidden(1, head.next_seq - 1), Tail(head.next_seq, head.total_tokens)))
        swing(
            connection, key, views, view, expected=head.generation, next_seq=head.next_seq, why="replace", now=now, by_hand=True
        )
    done = ingest(connection, key, views, drafts[kept:], remake, format=format, now=now, again=True)
    refs = tuple(MessageRef(each.id, each.seq) for each in shown[:kept])
    return done._replace(refs=refs + done.refs)


def _told_by(
    connection: Connection, key: ThreadKey, shown: Sequence[ShownMessage], drafts: Sequence[Draft]
) -> Sequence[ShownMessage]:
    """Give what is shown, erased messages with the digests of what is given in their places."""
    gaps = gaps_in([each.seq for each in shown], erased_kinds(connection, key))
    if not gaps:
        return shown
    kinds = [(draft.role, draft.tokens) for draft in drafts]
    digests = filled([each.digest for each in shown], gaps, [draft.digest for draft in drafts], kinds)
    return [changed(each, digest=digest) for each, digest in zip(shown, digests, strict=True)]


def _kept(shown: Sequence[ShownMessage], drafts: Sequence[Draft]) -> int:
    """Count the messages at the front that are shown already: the same bytes, and the same id where one is given."""
    count = 0
    for each, draft in zip(shown, drafts, strict=False):
        if each.digest != draft.digest or draft.id not in (None, each.id):
            break
        count += 1
    return count
