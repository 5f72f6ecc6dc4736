"""Rearranging what a thread shows: what shall be shown is decided on what is shown, in the transaction that shows it.

Whoever decides on a list that was read before would decide on what another writer has changed meanwhile. What is to stay and
stands in order already is left alone; from the first message on that does not, all are stored once more, in their new order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from lossless.dag.editing import Remake, edit
from lossless.dag.heads import create_thread, key_at, lock_head, swing
from lossless.dag.ingest import Ingested, ingest
from lossless.dag.placing import show_newest_request
from lossless.dag.segments import Hidden, Tail
from lossless.dag.view import GENESIS, View, ViewStore
from lossless.errors import NotFoundError
from lossless.messages.model import Message, MessageRef
from lossless.store.append import Draft
from lossless.store.drafting import Given
from lossless.store.keys import ThreadKey
from lossless.store.shown import ShownMessage, shown_messages

__all__ = ["Rearranged", "Shown", "Wanted", "rearrange"]

Wanted = MessageRef | Given
"""What a thread shall show: a ref of what it shows, or a message that is new or revises one."""
ReadMessages = Callable[[Connection, ThreadKey, Sequence[int]], list[Message]]
MakeDrafts = Callable[[Connection, list[Given]], list[Draft]]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a thread shows, in order, while nobody else can change it; ``read`` gives messages, in the order asked for."""

    refs: tuple[MessageRef, ...]
    read: Callable[[Iterable[MessageRef]], list[Message]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rearranged:
    """What came of it: a ref for each message that is wanted, and the drafts among them that were ingested."""

    refs: tuple[MessageRef, ...]
    drafts: tuple[Draft, ...]
    done: Ingested


def rearrange(
    connection: Connection,
    key: ThreadKey,
    views: ViewStore,
    decide: Callable[[Shown], Iterable[Wanted]],
    remake: Remake,
    *,
    read: ReadMessages,
    draft: MakeDrafts,
    format: str,
    now: int,
) -> Rearranged:
    """Make a thread show what ``decide`` gives, given what it shows.

    A thread that is not there is created only if there is something to show. ``undo`` brings back what left the view.

    Raises:
        NotFoundError: a ref is wanted that the thread does not show.
        MessageError: a message can't be stored.
    """
    head = lock_head(connection, key)
    key = key if head is None else key_at(connection, key, head)
    view = GENESIS if head is None else views.load(connection, key.namespace, head.view)
    hidden = [(gone.start, gone.stop) for gone in view.hidden()]
    shown = [] if head is None else shown_messages(connection, key, hidden)
    refs = tuple(MessageRef(each.id, each.seq) for each in shown)
    wanted = list(decide(Shown(refs, lambda which: read(connection, key, [ref.seq for ref in which]))))
    standing, drafts, ingested = _told_apart(connection, key, shown, wanted, read, draft)
    if head is None:
        if not drafts:
            return Rearranged((), (), Ingested((), 0, 0, View((Tail(1, 0),)), 1, 0))
        head = create_thread(connection, key, views, format=format, now=now)
        key = key_at(connection, key, head)
    gone = [each.seq for each in shown if each.seq not in standing]
    if gone:
        if standing:
            view = edit(connection, key, view, dict.fromkeys(gone, ()), remake, now)
            view = show_newest_request(connection, key, view, head.next_seq)
        else:
            view = View((Hidden(1, head.next_seq - 1), Tail(head.next_seq, head.total_tokens)))
        facts: dict[str, Any] = {"next_seq": head.next_seq, "why": "replace" if drafts else "delete", "now": now}
        swing(connection, key, views, view, expected=head.generation, by_hand=True, **facts)
    done = ingest(connection, key, views, drafts, remake, format=format, now=now, again=True)
    stored = iter(done.refs)
    now_shown = tuple(next(stored) if place in ingested else _ref(each) for place, each in enumerate(wanted))
    return Rearranged(now_shown, tuple(drafts), done)


def _told_apart(
    connection: Connection,
    key: ThreadKey,
    shown: Sequence[ShownMessage],
    wanted: Sequence[Wanted],
    read: ReadMessages,
    draft: MakeDrafts,
) -> tuple[set[int], list[Draft], set[int]]:
    """Tell what stands already, by seq, from what has to be ingested: drafts, and their places in what is wanted."""
    places = {each.id: place for place, each in enumerate(shown)}
    standing: set[int] = set()
    again: dict[int, MessageRef] = {}
    new: dict[int, Given] = {}
    last, in_order = -1, True
    for place, each in enumerate(wanted):
        at = places.get(_id(each), -1)
        in_order = in_order and at > last
        if in_order:
            standing.add(shown[at].seq)
            last = at
        if not isinstance(each, MessageRef):
            new[place] = each
        elif at < 0:
            raise NotFoundError(f"the thread does not show a message {each.id}", hint="decide on the refs that are given")
        elif not in_order:
            again[place] = MessageRef(each.id, shown[at].seq)
    ingested = {**new, **dict(zip(again, read(connection, key, [ref.seq for ref in again.values()]), strict=True))}
    order = sorted(ingested)
    drafts = draft(connection, [ingested[place] for place in order])
    # An erased message's own id brings nothing back: what is left of it stands anew under another one.
    erased = {place for place, each in ingested.items() if isinstance(each, Message) and each.erased}
    made = [each._replace(id=None) if place in erased else each for place, each in zip(order, drafts, strict=True)]
    return standing, made, set(ingested)


def _id(wanted: Wanted) -> str:
    """Give an id that is not empty where a message says one."""
    found = wanted.get("id") if isinstance(wanted, Mapping) else wanted.id
    return found if isinstance(found, str) else ""


def _ref(wanted: Wanted) -> MessageRef:
    assert isinstance(wanted, MessageRef), "all else is ingested"
    return wanted
