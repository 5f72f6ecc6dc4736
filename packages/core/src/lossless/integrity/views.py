"""Views, held against what they stand for: those of the head, of its log, and of the thread's snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select

from lossless.dag.coverage import Extents, gaps_and_repeats
from lossless.dag.heads import Head, moves
from lossless.dag.opening import ref_to
from lossless.dag.segments import Raw, SummaryRef, Tail
from lossless.dag.summaries import Summary, load_summaries
from lossless.dag.view import View, ViewStore
from lossless.errors import CorruptError, LosslessError
from lossless.integrity.report import Finding, FindingKind
from lossless.integrity.spine import Spine
from lossless.store.keys import ThreadKey
from lossless.store.tables import SnapshotRow
from lossless.versions.snapshots import is_as_it_was_taken

__all__ = ["view_findings"]

_SNAPSHOT = SnapshotRow.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class _Stood:
    """A view that a thread has or had: what it is called, its address, and the seq that the next message would have got."""

    name: str
    address: bytes
    next_seq: int
    tokens: int | None = None


def view_findings(
    connection: Connection, key: ThreadKey, head: Head, views: ViewStore, spine: Spine, extents: Extents
) -> Iterator[Finding]:
    """Check every view of a thread: that it can be read, covers each message once and in order, and has the right sums."""
    yield from _log_findings(connection, key, head)
    yield from _snapshot_findings(connection, key)
    checker = _Checker(connection, key, spine, extents)
    done: set[tuple[bytes, int]] = set()
    for stood in _stood(connection, key, head):
        if (stood.address, stood.next_seq) in done and stood.tokens is None:
            continue
        done.add((stood.address, stood.next_seq))
        try:
            problems = list(checker.problems(views.load(connection, key.namespace, stood.address), stood))
        except LosslessError as error:
            problems = [f"can't be read: {error.message}"]
        kind: FindingKind = "snapshot" if stood.name.startswith("snapshot") else "view"
        yield from (Finding(kind=kind, text=f"{stood.name} {problem}", thread_id=key.thread_id) for problem in problems)


def _log_findings(connection: Connection, key: ThreadKey, head: Head) -> Iterator[Finding]:
    log = moves(connection, key)
    newest = log[0] if log else None
    if newest is None or newest.view != head.view or newest.generation != head.generation:
        yield Finding(kind="head", text="the head is not where its log says", thread_id=key.thread_id)
    generations = [move.generation for move in reversed(log)]
    if generations != list(range(len(generations))):
        yield Finding(kind="head", text="moves are missing in the head's log", thread_id=key.thread_id)
    following = [move.next_seq for move in reversed(log)]
    if following != sorted(following) or any(next_seq > head.next_seq for next_seq in following):
        yield Finding(kind="head", text="the head's log goes back in the thread", thread_id=key.thread_id)


def _snapshot_findings(connection: Connection, key: ThreadKey) -> Iterator[Finding]:
    for row in connection.execute(_snapshots(key)):
        try:
            said = "" if is_as_it_was_taken(connection, key, row) else "was changed: what it says does not match its id"
        except (LosslessError, ValueError) as error:
            said = f"can't be read: {error}"
        if said:
            yield Finding(kind="snapshot", text=f"snapshot {row.name} {said}", thread_id=key.thread_id)


def _snapshots(key: ThreadKey) -> Select[Any]:
    return select(_SNAPSHOT).where(_SNAPSHOT.c.namespace == key.namespace, _SNAPSHOT.c.thread_id == key.thread_id)


def _stood(connection: Connection, key: ThreadKey, head: Head) -> Iterator[_Stood]:
    yield _Stood("the view", head.view, head.next_seq)
    for move in moves(connection, key):
        yield _Stood(f"the view of move {move.generation} ({move.why})", move.view, move.next_seq)
    for row in connection.execute(_snapshots(key)):
        yield _Stood(f"snapshot {row.name}", row.view, row.seq + 1, row.tokens)


class _Checker:
    """Checks views of one thread; a summary that many of them show is loaded once."""

    def __init__(self, connection: Connection, key: ThreadKey, spine: Spine, extents: Extents) -> None:
        self._connection = connection
        self._key = key
        self._spine = spine
        self._extents = extents
        self._moved = spine.moved()
        self._refs: dict[str, SummaryRef] = {}

    def problems(self, view: View, stood: _Stood) -> Iterator[str]:
        """Say what is wrong with a view."""
        if not view.segments or not isinstance(view.segments[-1], Tail):
            raise CorruptError("it has no tail")
        for segment in view.segments:
            if isinstance(segment, SummaryRef) and segment != self._ref(segment.id):
                yield f"says of summary {segment.id} what is not so"
            if isinstance(segment, (Raw, Tail)) and self._spine.total(segment.first - 1) != segment.base:
                yield f"has another token sum before seq {segment.first} than the messages"
            if isinstance(segment, Raw) and self._spine.total(segment.last) != segment.end:
                yield f"has another token sum up to seq {segment.last} than the messages"
        ranges = list(self._extents.of_view(view, stood.next_seq))
        yield from gaps_and_repeats([(first, last) for first, last, _hidden in ranges], stood.next_seq)
        if self._disordered([(first, last) for first, last, hidden in ranges if not hidden]):
            yield "shows messages in another order than they stand in"
        if stood.tokens is not None and view.tokens(self._spine.total(stood.next_seq - 1) or 0) != stood.tokens:
            yield "has another size than is recorded"

    def _ref(self, id: str) -> SummaryRef:
        if id not in self._refs:
            found: Summary = load_summaries(self._connection, self._key, [id])[id]
            self._refs[id] = ref_to(found)
        return self._refs[id]

    def _disordered(self, ranges: list[tuple[int, int]]) -> bool:
        """Tell whether places go back anywhere. Only revisions stand elsewhere than their seqs say."""
        last = 0
        for first, end in ranges:
            moved = [seq for seq in self._moved if first <= seq <= end] if self._moved else []
            for place in (self._spine.place(seq) for seq in sorted({first, end, *moved})):
                if place < last:
                    return True
                last = place
        return False
