"""Capturing: a thread follows a state, in the transaction that stores the state's checkpoint.

The checkpoint keeps the pair of view and seq that stood for it. One that does not follow the newest checkpoint is a fork, and
begins from the pair of the one that it does follow, so that the thread is what it was then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from lossless.capture.following import followed
from lossless.capture.model import Host, Plan, Removal, Standing, Told, Track
from lossless.capture.naming import part_name
from lossless.capture.past import Before, followed_last, held_at, newest_but, own_and_newest, stored_at, written_after
from lossless.capture.rows import refuse_erased, rows_from, without_erased
from lossless.capture.views import hidden_and_shown, restored
from lossless.checkpoints import CheckpointDraft, Pair, Place
from lossless.checkpoints.items import ERASED, MESSAGES, kept_in, message_key
from lossless.checkpoints.lines import Line
from lossless.checkpoints.parts import load_part
from lossless.checkpoints.sharing import load_messages
from lossless.dag.heads import Head, create_thread, keep_collectors_out, key_at, lock_head, read_head, swing
from lossless.dag.ingest import Ingested, ingest
from lossless.dag.lineage import find_key
from lossless.dag.view import View
from lossless.errors import CorruptError
from lossless.store.append import Draft
from lossless.store.erasures import tombstones
from lossless.store.keys import ThreadKey
from lossless.store.recent import Recent
from lossless.versions.branching import branch

__all__ = ["Capture", "Captured"]

_THREADS_KEPT = 1_024
_DRAFTED_AT_ONCE = 64
"""Up to so many messages are made ready before the transaction begins; if all of a long state is new to a process, few are."""
_WHY = "state"
"""Why a head was swung: the state has other messages."""


class Capture:
    """Captures the states of an engine's threads, whose messages are written in one format.

    Args:
        host: the engine.
        format: the format.
        removal: tells, of what was written to a channel and is no message, what it takes out of the state.
    """

    def __init__(self, host: Host, format: str, removal: Callable[[bytes], Removal | None] = lambda _item: None) -> None:
        self.host = host
        self.format = format
        self.removal = removal
        self.standing: Recent[tuple[str, str], Standing] = Recent(_THREADS_KEPT)

    def of(
        self,
        place: Place,
        parent: str | None,
        tracks: Sequence[Track],
        messages: Mapping[bytes, bytes],
        ids: Sequence[str],
    ) -> Captured:
        """Give what captures a state in the transaction that stores it.

        Args:
            place: the checkpoint's.
            parent: the id of the checkpoint that it follows.
            tracks: its captured channels.
            messages: payloads of messages that may be new, by digest.
            ids: the ids of these.
        """
        keys = self.keys_of(place)
        made = Captured(capture=self, place=place, parent=parent, tracks=tracks, messages=messages, ids=ids, keys=keys)
        if len(messages) <= _DRAFTED_AT_ONCE:
            made.prepare()
        return made

    def branch(self, source: str, target: str) -> Callable[[Connection], None]:
        """Give what makes a thread a branch of another, in the transaction that copies its checkpoints.

        Where there is no such thread, or one of the target's name is there already, it does nothing; the target's states are
        captured from the beginning then.
        """
        key = self.host.key_of(source)

        def begin(connection: Connection) -> None:
            head = lock_head(connection, key)
            if head is not None and find_key(connection, key.namespace, target) is None:
                branch(connection, key, target, None, self.host.views, self.host.reader, self.host.now())

        return begin

    def erased_in(self, connection: Connection, thread_id: str) -> dict[str, bytes]:
        """Give the ids of a thread's erased messages, each with what is left of it."""
        key = self.host.key_of(thread_id)
        return without_erased(connection, key, sorted({each.message_id for each in tombstones(connection, key)}))

    def check_writes(self, place: Place, ids: Sequence[str]) -> Callable[[Connection], None]:
        """Give what refuses writes that hold erased messages, in the transaction that stores them; as
        :func:`refuse_erased` does."""
        keys = self.keys_of(place)

        def check(connection: Connection) -> None:
            keep_collectors_out(connection)
            refuse_erased(connection, keys, ids)

        return check

    def keys_of(self, place: Place) -> tuple[ThreadKey, ...]:
        """Give the key of a graph's thread; of a graph within a graph, that of the root, too."""
        names = dict.fromkeys((part_name(place.thread_id, place.checkpoint_ns), place.thread_id))
        return tuple(self.host.key_of(name) for name in names)


@dataclass(slots=True, kw_only=True)
class Captured:
    """One state that is being captured."""

    capture: Capture
    place: Place
    parent: str | None
    tracks: Sequence[Track]
    messages: Mapping[bytes, bytes]
    ids: Sequence[str]
    keys: tuple[ThreadKey, ...]
    _done: Ingested | None = None
    _drafts: Sequence[Draft] = ()
    _drafted: dict[bytes, Draft] = field(default_factory=dict)
    _head: Head | None = None
    _own: Before | None = None
    _newest: Before | None = None
    _told: Sequence[Told] = ()
    _standing: Standing | None = None

    @property
    def key(self) -> ThreadKey:
        """The thread's."""
        return self.keys[0]

    def prepare(self) -> None:
        """Make messages ready that may be new."""
        for digest, data in self.messages.items():
            self._drafted[digest] = self._draft(data)

    def begin(self, connection: Connection) -> None:
        """Lock the thread.

        Raises:
            ErasedInStateError: the state holds messages that were erased.
        """
        keep_collectors_out(connection)
        self._done, self._drafts, self._standing = None, (), None
        self._head = lock_head(connection, self.key)
        refuse_erased(connection, self.keys, self.ids)

    def seen(self, connection: Connection, line: Line) -> Mapping[str, bytes]:
        """Look at this checkpoint and the newest other one of its graph; give their channels by their ids."""
        self._own, self._newest = own_and_newest(connection, self.capture.host.namespace, line, self.place)
        return {each.place.checkpoint_id: each.channels for each in (self._own, self._newest) if each is not None}

    def finish(self, connection: Connection, line: Line, draft: CheckpointDraft) -> Pair | None:
        """Let the thread follow the state; give the checkpoint's pair, None if there is nothing to capture.

        Raises:
            ErasedInStateError: the state holds messages that were erased.
        """
        host, namespace = self.capture.host, self.capture.host.namespace
        own, newest = self._own, self._newest
        if own is not None and own.pair is not None and own.channels == draft.channels:
            return own.pair
        self._told = [self._tell(connection, line, track) for track in self.tracks]
        kept: Sequence[Sequence[bytes]] = [told.kept for told in self._told]
        part_of = self.place.thread_id if self.place.checkpoint_ns else None
        if part_of is not None and any(kept):
            kept = self._private(connection, line, kept)
        if self._head is None and not any(kept):
            return None
        head = self._head
        known = head or read_head(connection, self.key, deleted=True)
        if known is not None and known.part_of != part_of:
            return None  # somebody else's, that happens to have this name
        if head is None:
            format, now = self.capture.format, host.now()
            head = create_thread(connection, self.key, host.views, format=format, now=now, part_of=part_of)
            _own, newest = own_and_newest(connection, namespace, line, self.place)  # others may have been waited for
        self.keys = (key_at(connection, self.key, head), *self.keys[1:])
        plan = self._plan(connection, line, head, newest, kept)
        pair = self._carry_out(connection, head, plan, kept)
        if newest is not None and newest.place.checkpoint_id > self.place.checkpoint_id:
            self._go_back(connection, newest, kept)  # to what is still the newest
        return pair

    def committed(self) -> None:
        """Remember how the thread stands, once the transaction is committed, and do what an append to it calls for."""
        if self._standing is not None:
            self.capture.standing.put((self.place.thread_id, self.place.checkpoint_ns), self._standing)
        if self._done is not None and not self.place.checkpoint_ns:  # nobody is shown a part
            self.capture.host.thread(self.key.thread_id).appended(self._drafts, self._done)

    def _tell(self, connection: Connection, line: Line, track: Track) -> Told:
        if not track.adds:
            return Told(kept=self._kept(connection, line, track))
        kept, whole, gone = list[bytes](), False, set[str]()
        for item in written_after(connection, self.capture.host.namespace, line, self.place, self.parent, track.name):
            removal = self.capture.removal(item)
            if removal is None:
                kept += [item] if item[:1] in MESSAGES else []
            elif removal.id is None:
                kept, whole = [], True
            else:
                gone.add(removal.id)
                kept = [one for one in kept if self._id_of(connection, one) != removal.id]
        return Told(kept=kept, whole=whole, gone=frozenset(gone))

    def _kept(self, connection: Connection, line: Line, track: Track) -> Sequence[bytes]:
        if track.kept is not None:
            return track.kept
        standing = self.capture.standing.get((self.place.thread_id, self.place.checkpoint_ns))
        if standing is not None and standing.checkpoint_id == self.parent and track.name in standing.kept:
            return standing.kept[track.name]  # the channel did not change
        namespace = self.capture.host.namespace
        return kept_in(track.content, lambda digest: load_part(connection, namespace, line.pool, digest))

    def _private(self, connection: Connection, line: Line, kept: Sequence[Sequence[bytes]]) -> list[list[bytes]]:
        """Leave out what the root's state holds: a graph within a graph was often given it, or has handed it on."""
        standing = self.capture.standing.get((self.place.thread_id, ""))
        names = [track.name for track in self.tracks]
        if standing is not None:
            held = [standing.kept.get(name, ()) for name in names]
        else:
            place = Place(thread_id=self.place.thread_id, checkpoint_ns="", checkpoint_id="")
            root = newest_but(connection, self.capture.host.namespace, line, place)
            held = [] if root is None else [root.kept(connection, self.capture.host.namespace, name) for name in names]
        shown = {message_key(item) for items in held for item in items}
        return [[item for item in items if message_key(item) not in shown] for items in kept]

    def _plan(
        self, connection: Connection, line: Line, head: Head, newest: Before | None, kept: Sequence[Sequence[bytes]]
    ) -> Plan:
        host, namespace = self.capture.host, self.capture.host.namespace
        view = host.views.load(connection, namespace, head.view)
        base = newest
        if self.parent is not None and newest is not None and newest.place.checkpoint_id != self.parent:
            parent = stored_at(connection, namespace, line, self.place, self.parent)
            if parent is not None and parent.pair is not None and self._leads_back(head, parent.pair):
                base, view = parent, restored(connection, self.key, host.views, head, parent.pair)
        elif newest is not None and not any(track.adds for track in self.tracks):
            grown = self._grown(connection, head, view, newest, kept)
            if grown is not None:
                return grown
        rows = rows_from(connection, self.key, 1, view.hidden()) or []
        # What was stored while there was no thread, or by a saver that captures nothing, is not what the thread shows.
        shown = followed_last(connection, namespace, line, self.place) if base is not None and base.pair is None else base
        before = [shown.kept(connection, namespace, each.name) for each in self.tracks if shown is not None and not each.adds]
        pair = base.pair if base is not None and any(track.adds for track in self.tracks) else None
        upto = pair.upto if pair is not None and self._leads_back(head, pair) else 0
        held = [0 if told.whole else upto for told in self._told]
        lost, gone = set[bytes](), {id for told in self._told for id in told.gone}
        for track, told in zip(self.tracks, self._told, strict=True):
            lost |= held_at(connection, namespace, line, base, track.name) if track.delta and told.whole else set()
        left = [row.seq for row in rows if row.shown and (row.key in lost or row.id in gone)]
        done = followed(rows, _all_keys(before), _all_keys(kept), self._id_in(connection, kept), held, left)
        return Plan(view=view, done=done, skipped=[0] * len(kept), shown=sum(row.shown for row in rows), upto=upto)

    def _grown(
        self, connection: Connection, head: Head, view: View, newest: Before, kept: Sequence[Sequence[bytes]]
    ) -> Plan | None:
        """Give what is to be done where the state has only grown since this process captured it; None where that is not so."""
        standing = self.capture.standing.get((self.place.thread_id, self.place.checkpoint_ns))
        if standing is None or not standing.whole or standing.upto < head.since - 1:
            return None
        if standing.checkpoint_id != newest.place.checkpoint_id:
            return None
        hidden = view.hidden()
        if tuple(each for each in hidden if each.start < standing.next_seq) != standing.hidden:
            return None
        before = [standing.kept.get(track.name, ()) for track in self.tracks]
        if any(list(now[: len(was)]) != list(was) for now, was in zip(kept, before, strict=True)):
            return None
        came = head.next_seq > standing.next_seq and (any(before) or any(kept))
        rows = rows_from(connection, self.key, standing.next_seq, hidden) if came else []
        if rows is None:
            return None
        skipped = [len(each) for each in before]
        new = [now[count:] for now, count in zip(kept, skipped, strict=True)]
        done = followed(rows, [], _all_keys(new), self._id_in(connection, new))
        return Plan(view=view, done=done, skipped=skipped, shown=-1, upto=standing.upto)

    def _carry_out(self, connection: Connection, head: Head, plan: Plan, kept: Sequence[Sequence[bytes]]) -> Pair:
        """Change the view, store what is new, and give the pair that stands for the state then."""
        host, key, now, done = self.capture.host, self.key, self.capture.host.now(), plan.done
        remake = host.remaker(key)
        view = hidden_and_shown(
            connection,
            key,
            plan.view,
            head,
            hide=done.hide,
            show=done.show,
            everything=len(done.hide) == plan.shown,
            remake=remake,
            now=now,
        )
        moved = False
        if view is not host.views.load(connection, key.namespace, head.view) and host.views.address(view) != head.view:
            swing(connection, key, host.views, view, expected=head.generation, next_seq=head.next_seq, why=_WHY, now=now)
            moved = True
        wanted = [kept[track][plan.skipped[track] + index] for track, index in done.stored]
        self._drafts = self._new(connection, [item for item in wanted if item[:1] != ERASED])
        if self._drafts:
            format = self.capture.format
            stands = None if moved else head
            self._done = ingest(
                connection, key, host.views, self._drafts, remake, format=format, now=now, again=True, head=stands
            )
            moved = moved or self._done.generation != head.generation
            view = self._done.view
        stored = [ref.seq for ref in self._done.refs] if self._done is not None else []
        upto = max([plan.upto, *done.stands, *stored])
        self._standing = Standing(
            checkpoint_id=self.place.checkpoint_id,
            whole=not any(track.adds for track in self.tracks),
            kept={track.name: items for track, items in zip(self.tracks, kept, strict=True)},
            hidden=tuple(each for each in view.hidden() if each.start <= upto),
            next_seq=upto + 1,  # what came another way meanwhile may be the state's next
            upto=upto,
        )
        return Pair(view=host.views.address(view) if moved else head.view, upto=upto, owner=key.owner(upto))

    def _go_back(self, connection: Connection, newest: Before, kept: Sequence[Sequence[bytes]]) -> None:
        """Let the thread be what it was after the newest checkpoint: a state was stored that is older than that."""
        host, key, namespace = self.capture.host, self.key, self.capture.host.namespace
        head = lock_head(connection, key)
        if head is None:
            return
        view = host.views.load(connection, namespace, head.view)
        if newest.pair is not None and self._leads_back(head, newest.pair):
            view, now = restored(connection, key, host.views, head, newest.pair), host.now()
            swing(connection, key, host.views, view, expected=head.generation, next_seq=head.next_seq, why=_WHY, now=now)
        else:  # it was stored before there was a thread, or before that was deleted
            held = [newest.kept(connection, namespace, track.name) for track in self.tracks]
            rows = rows_from(connection, key, 1, view.hidden()) or []
            done = followed(rows, _all_keys(kept), _all_keys(held), self._id_in(connection, held))
            shown = sum(row.shown for row in rows)
            self._carry_out(connection, head, Plan(view=view, done=done, skipped=[0] * len(held), shown=shown, upto=0), held)
        self._standing = None

    def _leads_back(self, head: Head, pair: Pair) -> bool:
        """Tell whether the thread can go back to a pair: it was not deleted since, and it is the pair's, or a branch of that."""
        return head.since - 1 <= pair.upto < head.next_seq and self.key.owner(pair.upto) == pair.owner

    def _new(self, connection: Connection, items: Sequence[bytes]) -> list[Draft]:
        """Give the drafts of messages that are to be stored; of several with one id, all but the first go without it."""
        self._load(connection, items)
        drafts, ids = list[Draft](), set[str]()
        for item in items:
            draft = self._drafted[message_key(item)]
            drafts.append(draft._replace(id=None) if draft.id in ids else draft)
            if draft.id is not None:
                ids.add(draft.id)
        refuse_erased(connection, self.keys, sorted(ids.difference(self.ids)))  # the others were looked at when it began
        return drafts

    def _id_in(self, connection: Connection, kept: Sequence[Sequence[bytes]]) -> Callable[[int, int], str | None]:
        def id_of(track: int, index: int) -> str | None:
            return self._id_of(connection, kept[track][index])

        return id_of

    def _id_of(self, connection: Connection, item: bytes) -> str | None:
        if item[:1] == ERASED:
            return None
        self._load(connection, [item])
        return self._drafted[message_key(item)].id

    def _load(self, connection: Connection, items: Sequence[bytes]) -> None:
        """Make messages ready that were not; their payloads are stored by now."""
        missing = {message_key(item) for item in items} - self._drafted.keys()
        if not missing:
            return
        found = load_messages(connection, self.capture.host.namespace, missing)
        for digest in missing:
            data = self.messages.get(digest) or found.get(digest)
            if data is None:
                raise CorruptError("a message of the state is not in the store", hint="restore a backup to get it back")
            self._drafted[digest] = self._draft(data)

    def _draft(self, data: bytes) -> Draft:
        host = self.capture.host
        return host.drafter.of_stored(data, format=self.capture.format, known=host.knows_summary(self.key))


def _all_keys(lists: Sequence[Sequence[bytes]]) -> list[list[bytes]]:
    return [[message_key(item) for item in items] for items in lists]
