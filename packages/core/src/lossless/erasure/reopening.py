"""Reopening: views without the summaries that were made from erased messages.

Each such summary is opened down the path; its leaves are made again, without a model, from what is left. Every view that a thread
ever had is made anew like this, and its snapshots' views, so that going back brings nothing back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar

from sqlalchemy import Connection, select, update

from lossless.checkpoints.pairs import replace_view, views_of_checkpoints
from lossless.dag.editing import Remake, merged
from lossless.dag.heads import read_head, swing
from lossless.dag.opening import ref_to, runs
from lossless.dag.segments import Segment, SummaryRef
from lossless.dag.summaries import home, load_summaries, sources_of, store_summary
from lossless.dag.view import View, ViewStore
from lossless.erasure.family import Target, chunked
from lossless.store.keys import ThreadKey
from lossless.store.tables import HeadLogRow, SnapshotRow, SummaryChildRow, SummaryMessageRow

__all__ = ["Made", "Reopening", "summaries_over"]

_OVER = SummaryMessageRow.__table__  # type: ignore[attr-defined]
_CHILD = SummaryChildRow.__table__  # type: ignore[attr-defined]
_LOG = HeadLogRow.__table__  # type: ignore[attr-defined]
_SNAPSHOT = SnapshotRow.__table__  # type: ignore[attr-defined]

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Made:
    """A summary: the thread that stores it, and its id."""

    thread_id: str
    id: str


def summaries_over(connection: Connection, namespace: str, family: Collection[str], targets: Collection[Target]) -> set[Made]:
    """Give every summary that was ever made over one of the messages, at any depth."""
    level: set[Made] = set()
    for thread_id in family:
        for owner, seqs in _by_thread((target.thread_id, target.seq) for target in targets):
            for chunk in chunked(sorted(seqs)):
                statement = select(_OVER.c.summary_id).where(
                    _OVER.c.namespace == namespace,
                    _OVER.c.thread_id == thread_id,
                    _OVER.c.seq.in_(chunk),
                    _OVER.c.source_thread == owner,
                )
                level |= {Made(thread_id, id) for id in connection.execute(statement).scalars()}
    found: set[Made] = set()
    while level:
        found |= level
        above: set[Made] = set()
        for thread_id in family:
            for owner, ids in _by_thread((made.thread_id, made.id) for made in level):
                for names in chunked(sorted(ids)):
                    statement = select(_CHILD.c.summary_id).where(
                        _CHILD.c.namespace == namespace,
                        _CHILD.c.thread_id == thread_id,
                        _CHILD.c.child_id.in_(names),
                        _CHILD.c.source_thread == owner,
                    )
                    above |= {Made(thread_id, id) for id in connection.execute(statement).scalars()}
        level = above - found
    return found


@dataclass(slots=True)
class _Opened:
    """What stands for a summary that is opened: groups of messages, and summaries that are left as they are or opened, too."""

    key: ThreadKey
    parts: list[tuple[int, ...] | SummaryRef | Made]


@dataclass(slots=True)
class Reopening:
    """Makes views without certain summaries. They are looked at when it begins, and may be removed then."""

    connection: Connection
    family: Mapping[str, ThreadKey]
    affected: Collection[Made]
    remaker: Callable[[ThreadKey], Remake]
    views: ViewStore
    now: int
    left: list[bytes] = field(default_factory=list)
    """The views that were replaced."""
    _opened: dict[Made, _Opened] = field(default_factory=dict)
    _homes: dict[tuple[str, str], Made] = field(default_factory=dict)
    _made: dict[Made, tuple[Segment, ...]] = field(default_factory=dict)

    def begin(self) -> None:
        """Look at the summaries, and at where the family's views have them from."""
        for made in self.affected:
            self._opened[made] = self._look_at(made)
        ids = {made.id for made in self.affected}
        for key in self.family.values():
            for id in ids:
                found = self._home(key, id)
                if found in self._opened:
                    self._homes[key.thread_id, id] = found

    def replace_views(self) -> None:
        """Replace every view of the family that shows one of the summaries: of head logs, snapshots and checkpoints."""
        for key in self.family.values():
            self._replace_in(key, _LOG)
            self._replace_in(key, _SNAPSHOT)
        namespace = next(iter(self.family.values())).namespace
        for owner, address in list(views_of_checkpoints(self.connection, namespace)):
            if owner in self.family:
                self._replace_in_checkpoints(namespace, address)

    def swing_head(self, key: ThreadKey) -> None:
        """Give a thread's head its view without the summaries; the move is in its log, whether that changed it or not."""
        head = read_head(self.connection, key)
        if head is None:
            return
        view = self.views.load(self.connection, key.namespace, head.view)
        found = self._without(key, view) or view
        if found is not view:
            self.left.append(head.view)
        swing(
            self.connection,
            key,
            self.views,
            found,
            expected=head.generation,
            next_seq=head.next_seq,
            why="erase",
            now=self.now,
        )

    def _replace_in(self, key: ThreadKey, table: Any) -> None:
        of_thread = (table.c.namespace == key.namespace) & (table.c.thread_id == key.thread_id)
        rows = self.connection.execute(select(table.c.view).where(of_thread).distinct()).scalars().all()
        for address in rows:
            view = self.views.load(self.connection, key.namespace, bytes(address))
            found = self._without(key, view)
            if found is not None:
                self.left.append(bytes(address))
                new = self.views.store(self.connection, key.namespace, found)
                changed = update(table).where(of_thread, table.c.view == address)
                values: dict[str, Any] = {"view": new}
                if table is _SNAPSHOT:
                    values["tokens"] = table.c.tokens + found.tokens(0) - view.tokens(0)
                self.connection.execute(changed.values(**values))

    def _replace_in_checkpoints(self, namespace: str, address: bytes) -> None:
        view = self.views.load(self.connection, namespace, address)
        for key in self.family.values():  # a branch may have made the summaries of a view that ends before it begins
            found = self._without(key, view)
            if found is not None:
                self.left.append(address)
                replace_view(self.connection, namespace, address, self.views.store(self.connection, namespace, found))
                return

    def _without(self, key: ThreadKey, view: View) -> View | None:
        """Give a view without the summaries, or None if it shows none of them."""
        shown = [ref.id for ref in view.summaries if (key.thread_id, ref.id) in self._homes]
        if not shown:
            return None
        segments: list[Segment] = []
        for segment in view.segments:
            made = self._homes.get((key.thread_id, segment.id)) if isinstance(segment, SummaryRef) else None
            segments.extend([segment] if made is None else self._instead(made))
        return View(merged(segments))

    def _instead(self, made: Made) -> tuple[Segment, ...]:
        if made not in self._made:
            opened = self._opened[made]
            segments: list[Segment] = []
            for part in opened.parts:
                if isinstance(part, SummaryRef):
                    segments.append(part)
                elif isinstance(part, Made):
                    segments.extend(self._instead(part))
                else:
                    segments.extend(self._messages(opened.key, part))
            self._made[made] = tuple(segments)
        return self._made[made]

    def _messages(self, key: ThreadKey, seqs: tuple[int, ...]) -> Iterable[Segment]:
        summary = self.remaker(key)(self.connection, seqs)
        if summary is None:
            return runs(self.connection, key, seqs)
        store_summary(self.connection, key, summary, self.now)
        return [ref_to(summary)]

    def _look_at(self, made: Made) -> _Opened:
        key = self.family[made.thread_id]
        sources = sources_of(self.connection, key, made.id)
        parts: list[tuple[int, ...] | SummaryRef | Made] = []
        for is_message, group in groupby(sources, key=lambda source: isinstance(source, int)):
            if is_message:
                parts.append(tuple(source for source in group if isinstance(source, int)))
                continue
            for child in group:
                below = Made(home(self.connection, key, str(child)), str(child))
                if below in self.affected:
                    parts.append(below)
                else:
                    parts.append(ref_to(load_summaries(self.connection, key, [str(child)])[str(child)]))
        return _Opened(key, parts)

    def _home(self, key: ThreadKey, id: str) -> Made | None:
        """Give where a thread has a summary from: the first in its lineage that stores it."""
        for thread_id, until in key.lineage():
            made = Made(thread_id, id)
            if made in self._opened and (until is None or self._newest(made) <= until):
                return made
        return None

    def _newest(self, made: Made) -> int:
        found = load_summaries(self.connection, self.family[made.thread_id], [made.id])[made.id]
        return found.newest_seq


def _by_thread(pairs: Iterable[tuple[str, V]]) -> Iterable[tuple[str, set[V]]]:
    found: dict[str, set[V]] = {}
    for thread_id, value in pairs:
        found.setdefault(thread_id, set()).add(value)
    return found.items()
