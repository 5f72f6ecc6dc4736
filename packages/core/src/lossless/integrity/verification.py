"""Verification: deriving again what can be derived, and naming what does not match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from lossless.dag.coverage import Extents
from lossless.dag.heads import Head, read_head
from lossless.dag.lineage import find_key
from lossless.dag.view import ViewStore
from lossless.errors import LosslessError
from lossless.integrity.checkpoints import checkpoint_findings
from lossless.integrity.messages import message_findings, open_calls_of
from lossless.integrity.report import Finding, Report
from lossless.integrity.rows import row_findings
from lossless.integrity.spine import Spine
from lossless.integrity.summaries import summary_findings
from lossless.integrity.views import view_findings
from lossless.messages import Format, searchable
from lossless.messages.parts import Part
from lossless.store.analyzer import analyzed
from lossless.store.guards import guard_problems
from lossless.store.index_checks import IndexCheck, index_check
from lossless.store.integrity import database_problems
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader
from lossless.store.tables import HeadRow, SearchDocRow
from lossless.store.vault import vault_of

__all__ = ["threads_of", "verify_namespace"]

_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_DOC = SearchDocRow.__table__  # type: ignore[attr-defined]


def verify_namespace(
    connection: Connection,
    namespace: str,
    reader: MessageReader,
    formats: Mapping[str, Format],
    thread_id: str | None = None,
) -> Report:
    """Verify one thread of a namespace, or all.

    Payloads are held against digests and commitments; chains, seqs, token sums, units, places and the head's counters are derived
    again; every view that a thread had, its snapshots and its summaries are held against the messages, and so is the search
    index. For all threads, the database itself is asked, too, and rows that refer to nothing are looked for.
    """
    findings: list[Finding] = []
    if thread_id is None:
        findings += [Finding(kind="database", text=problem) for problem in database_problems(connection)]
        findings += [Finding(kind="guard", text=problem) for problem in guard_problems(connection)]
        findings += row_findings(connection, namespace)
    run = _Run(connection, reader, formats, index_check(connection))
    threads = threads_of(connection, namespace) if thread_id is None else [thread_id]
    for name in threads:
        findings += run.thread(namespace, name)
    findings += run.index_findings(whole=thread_id is None)
    findings += checkpoint_findings(connection, namespace, thread_id)
    return Report(findings=tuple(findings), threads=len(threads), messages=run.messages)


def threads_of(connection: Connection, namespace: str) -> list[str]:
    """Give the ids of all threads of a namespace."""
    statement = select(_HEAD.c.thread_id).where(_HEAD.c.namespace == namespace).order_by(_HEAD.c.thread_id)
    return list(connection.execute(statement).scalars())


@dataclass(slots=True)
class _Run:
    """One verification: views and messages are read afresh, whatever the engine keeps in memory."""

    connection: Connection
    reader: MessageReader
    formats: Mapping[str, Format]
    check: IndexCheck
    views: ViewStore = field(default_factory=ViewStore)
    messages: int = 0
    expected: int = 0

    def thread(self, namespace: str, name: str) -> list[Finding]:
        """Verify one thread; what can't be read at all is one finding more."""
        found: list[Finding] = []
        try:
            key = find_key(self.connection, namespace, name, whole=True)
            head = read_head(self.connection, key, deleted=True) if key is not None else None
            if key is None or head is None:
                return [Finding(kind="head", text="it has a head and is not in the list of threads", thread_id=name)]
            self.messages += head.next_seq - 1
            for finding in self._thread(key, head):
                found.append(finding)
        except LosslessError as error:
            found.append(Finding(kind="head", text=error.message, thread_id=name))
        return found

    def index_findings(self, *, whole: bool) -> Iterator[Finding]:
        """Compare the search index with what was expected of it; ``whole``: whether all of it was."""
        if self.expected == 0 and not whole:
            return
        for thread_id, seq in self.check.stale():
            yield Finding(
                kind="index",
                text=f"the search index has other words for seq {seq} than the message",
                thread_id=thread_id,
                seq=seq,
            )
        strays = self.check.strays() if whole else 0
        if strays:
            yield Finding(kind="index", text=f"the search index holds words of {strays} entries that are not there")
        if whole and not self.check.sums_are_right():
            yield Finding(kind="index", text="the search index ranks with other sums than its entries have")

    def _thread(self, key: ThreadKey, head: Head) -> Iterator[Finding]:
        connection = self.connection
        spine = Spine.load(connection, key)
        entries = self._entries(key)
        absent: list[Finding] = []
        sealed = vault_of(connection).encrypts

        def seen(row: Any, parts: tuple[Part, ...] | None) -> None:
            docid = entries.get(row.seq)
            if docid is None:
                text = f"message {row.id} (seq {row.seq}) is not in the search index"
                absent.append(Finding(kind="index", text=text, thread_id=key.thread_id, seq=row.seq, message_id=row.id))
            elif parts is not None:
                self.expected += 1
                self.check.expect(key, row.seq, docid, "" if sealed else analyzed(searchable(parts)))

        yield from message_findings(connection, key, head, spine, self.formats, open_calls_of(connection, key, self.reader), seen)
        yield from absent
        extents = Extents(connection, key)
        yield from view_findings(connection, key, head, self.views, spine, extents)
        yield from summary_findings(connection, key, spine, extents)

    def _entries(self, key: ThreadKey) -> dict[int, int]:
        statement = select(_DOC.c.seq, _DOC.c.docid).where(_DOC.c.namespace == key.namespace, _DOC.c.thread_id == key.thread_id)
        return {row.seq: row.docid for row in self.connection.execute(statement)}
