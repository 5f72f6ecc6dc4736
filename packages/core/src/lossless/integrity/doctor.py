"""The doctor: what is derivable is made again, and what was stored once is left as it is.

Only what may change changes: heads, the search index, the triggers that keep rows as they are, and on SQLite the indexes of the
file. A view that can't be used is followed by a new one in the head's log; nothing that is immutable is edited. What remains is
named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection, text

from lossless.dag.editing import revisions_since
from lossless.dag.heads import DELETED, Head, lock_head, moves, read_head, set_head, swing
from lossless.dag.lineage import find_key
from lossless.dag.view import View, ViewStore
from lossless.errors import LosslessError
from lossless.integrity.messages import Counters, derive_counters, open_calls_of
from lossless.integrity.rebuilding import rebuilt
from lossless.integrity.report import Finding, FindingKind, Report
from lossless.integrity.spine import Spine
from lossless.integrity.terms import terms_of
from lossless.integrity.verification import threads_of, verify_namespace
from lossless.messages import Format
from lossless.store import times
from lossless.store.database import Database
from lossless.store.guards import mend_guards
from lossless.store.index_mending import mend_entries, mend_ranking
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader

__all__ = ["Diagnosis", "Doctor", "degraded_summaries"]

_OF_HEADS: frozenset[FindingKind] = frozenset({"counter", "head", "view", "summary", "row"})
_DERIVABLE: frozenset[FindingKind] = frozenset({"counter", "head", "index", "guard"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a doctor found and did.

    Attributes:
        dry_run: whether it only looked; then ``mended`` says what it would try to mend.
        mended: what was made again, in words.
        left: what does not match and can't be made again, or was not; of a message that was damaged, each names which one.
        degraded: summaries in heads that were written without a model, as (thread id, summary id).
    """

    dry_run: bool
    mended: tuple[str, ...]
    left: tuple[Finding, ...]
    degraded: tuple[tuple[str, str], ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is left that does not match."""
        return not self.left


class Doctor:
    """Mends one namespace of a database.

    Args:
        database: the database.
        namespace: the tenant.
        reader: reads messages.
        formats: gives the readers of payloads.
        remake: tries to make the degraded summaries of a thread again.
    """

    def __init__(
        self,
        database: Database,
        namespace: str,
        reader: MessageReader,
        formats: Callable[[], Mapping[str, Format]],
        remake: Callable[[str], object],
    ) -> None:
        self._database = database
        self._namespace = namespace
        self._reader = reader
        self._formats = formats
        self._remake = remake

    def run(self, *, dry_run: bool = False) -> Diagnosis:
        """Verify, mend what can be, and verify again."""
        report = self._verify()
        degraded = self._degraded()
        if dry_run:
            tried = tuple(str(finding) for finding in report.findings if finding.kind in _DERIVABLE)
            return Diagnosis(dry_run=True, mended=tried, left=report.findings, degraded=degraded)
        mended = [
            *self._mend_file(report),
            *self._mend_threads(report),
            *self._mend_index(report),
            *self._mend_guards(report),
        ]
        for name in sorted({thread_id for thread_id, _id in degraded}):
            self._remake(name)
        if mended or degraded:
            report, before, degraded = self._verify(), degraded, self._degraded()
            mended += [f"summary {id} of thread {name}, degraded" for name, id in before if (name, id) not in degraded]
        return Diagnosis(dry_run=False, mended=tuple(mended), left=report.findings, degraded=degraded)

    def _verify(self) -> Report:
        with self._database.read() as connection:
            return verify_namespace(connection, self._namespace, self._reader, self._formats())

    def _degraded(self) -> tuple[tuple[str, str], ...]:
        with self._database.read() as connection:
            return tuple(degraded_summaries(connection, self._namespace))

    def _mend_file(self, report: Report) -> list[str]:
        if not any(finding.kind == "database" and "index" in finding.text for finding in report.findings):
            return []
        try:
            return ["the indexes of the file"] if self._database.write(_reindex) else []
        except LosslessError:
            return []  # more than an index is damaged; the verification that follows says so

    def _mend_guards(self, report: Report) -> list[str]:
        if not any(finding.kind == "guard" for finding in report.findings):
            return []
        try:
            return ["the triggers that keep rows as they are"] if self._database.write(mend_guards) else []
        except LosslessError:
            return []  # tables of another owner; the verification that follows says so

    def _mend_threads(self, report: Report) -> list[str]:
        damaged = {finding.thread_id for finding in report.findings if finding.kind in _OF_HEADS}
        mended: list[str] = []
        for name in sorted(name for name in damaged if name is not None):
            try:
                mended += self._database.write(partial(self._mend_thread, name))
            except LosslessError:
                continue  # it can't be read; the verification that follows says so
        return mended

    def _mend_thread(self, name: str, connection: Connection) -> list[str]:
        """Make a head again from its log and its messages, and a view that can't be used from what is sound of it."""
        key = find_key(connection, self._namespace, name, whole=True)
        if key is None:
            return []
        counters = derive_counters(connection, key, self._formats(), open_calls_of(connection, key, self._reader))
        if counters is None:
            return []  # messages are missing
        stored, derived = self._heads(connection, key, counters)
        if derived is None:
            return []
        mended = [f"the head of thread {name}"] if stored != derived else []
        if mended:
            set_head(connection, key, derived, deleted_at=_deleted_at(connection, key, derived))
        views = ViewStore()
        view = _readable(connection, key, derived, views)
        again = rebuilt(connection, key, view, derived.next_seq, Spine.load(connection, key))
        if views.address(again) == derived.view:
            return mended
        if _swung(connection, key, views, again, derived):
            mended.append(f"the view of thread {name}")
        return mended

    def _heads(self, connection: Connection, key: ThreadKey, counters: Counters) -> tuple[Head | None, Head | None]:
        """Give the head as it is, and as it should be; None where the newest messages are lost: no seq is given twice."""
        try:
            stored = lock_head(connection, key, deleted=True)
        except LosslessError:
            stored = None
        newest = next(iter(moves(connection, key, limit=1)), None)
        ahead = stored is not None and stored.next_seq > counters.next_seq and stored.chain != counters.chain
        if newest is None or ahead or newest.next_seq > counters.next_seq:
            return stored, None
        calls = counters.open_calls
        if calls is None:
            calls = stored.open_calls if stored is not None else ()
        return stored, Head(
            view=newest.view,
            generation=newest.generation,
            next_seq=counters.next_seq,
            total_tokens=counters.total_tokens,
            chain=counters.chain,
            open_calls=calls,
            lookalike_ids=counters.lookalike_ids or (stored is not None and stored.lookalike_ids),
            updated_at=stored.updated_at if stored is not None else newest.at,
            format=stored.format if stored is not None else "",
            since=stored.since if stored is not None else _begun_again_at(connection, key),
            parent=key.inherited[-1][0] if key.inherited else None,
            cut=key.cut,
        )

    def _mend_index(self, report: Report) -> list[str]:
        if not any(finding.kind == "index" for finding in report.findings):
            return []
        self._database.write(mend_ranking)  # sums that are too small would keep entries from being taken out
        entries = self._database.write(
            lambda connection: mend_entries(connection, self._namespace, terms_of(connection, self._reader))
        )
        self._database.write(mend_ranking)
        return [f"the search index, {entries} entries"]


def degraded_summaries(connection: Connection, namespace: str) -> list[tuple[str, str]]:
    """List the summaries in heads that were written without a model because the model failed, as (thread id, summary id)."""
    views = ViewStore()
    found: list[tuple[str, str]] = []
    for name in threads_of(connection, namespace):
        try:
            head = read_head(connection, ThreadKey(namespace, name), deleted=True)
            shown = views.load(connection, namespace, head.view).summaries if head is not None else ()
            found += [(name, ref.id) for ref in shown if ref.degraded]
        except LosslessError:
            continue
    return found


def _readable(connection: Connection, key: ThreadKey, head: Head, views: ViewStore) -> View:
    """Give the newest view of a thread that can be read and that no revision was made after; else one without segments."""
    for move in moves(connection, key):
        if move.view != head.view and revisions_since(connection, key, move.next_seq):
            break
        try:
            return views.load(connection, key.namespace, move.view)
        except LosslessError:
            continue
    return View(())


def _swung(connection: Connection, key: ThreadKey, views: ViewStore, view: View, head: Head) -> bool:
    expected, next_seq = head.generation, head.next_seq
    return swing(connection, key, views, view, expected=expected, next_seq=next_seq, why="doctor", now=times.now())


def _reindex(connection: Connection) -> bool:
    """Make the indexes of SQLite's file again; PostgreSQL's are its administrator's."""
    if connection.dialect.name != "sqlite":
        return False
    connection.execute(text("REINDEX"))
    return True


def _deleted_at(connection: Connection, key: ThreadKey, head: Head) -> int | None:
    """Give when a thread was deleted, unless something was appended to it since."""
    newest = next(iter(moves(connection, key, limit=1)), None)
    deleted = newest is not None and newest.why == DELETED and newest.next_seq == head.next_seq
    return newest.at if newest is not None and deleted else None


def _begun_again_at(connection: Connection, key: ThreadKey) -> int:
    """Give the first seq that may be seen of a thread, from the log of its head."""
    return next((move.next_seq for move in moves(connection, key) if move.why == DELETED), 1)
