"""Messages, derived again: digests, commitments and the chain, token sums, units and places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from lossless.dag.heads import Head, begun_at
from lossless.errors import CorruptError, LosslessError
from lossless.integrity.report import Finding
from lossless.integrity.spine import Spine
from lossless.messages import Format, UnitTracker, read_erased, shape_of
from lossless.messages.parts import Part
from lossless.messages.payload import decode
from lossless.store.blobs import payload_of
from lossless.store.digests import EMPTY_CHAIN, blob_digest, chain_link, commitment
from lossless.store.erasures import tombstones
from lossless.store.keys import ThreadKey
from lossless.store.namespaces import read_secret
from lossless.store.read import MessageReader
from lossless.store.tables import BlobRow, MessageRow
from lossless.store.usual import whole_row
from lossless.store.vault import Vault, vault_of
from lossless.versions.branching import open_calls_at

__all__ = ["Counters", "Seen", "derive_counters", "message_findings", "open_calls_of"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_BLOB = BlobRow.__table__  # type: ignore[attr-defined]
_BATCH = 1_000
_MOST_OPEN = 256
"""From so many open calls on, an append forgets the oldest, so units can't be derived again."""

Seen = Callable[[Any, "tuple[Part, ...] | None"], None]
"""Takes each message's row, and its parts unless they can't be read."""


def message_findings(
    connection: Connection,
    key: ThreadKey,
    head: Head,
    spine: Spine,
    formats: Mapping[str, Format],
    open_calls: tuple[tuple[str, int], ...] | None,
    seen: Seen,
) -> Iterator[Finding]:
    """Derive a thread's own messages and the head's counters again.

    Args:
        connection: a reading connection.
        key: the thread.
        head: where it stands.
        spine: its messages' numbers.
        formats: the readers of payloads.
        open_calls: the calls that were open where it was cut from its parent; None if that can't be told.
        seen: is given each message.
    """
    walk = _walk(connection, key, spine, open_calls)
    yield from walk.start(connection)
    for row in _rows(connection, key):
        yield from walk.step(row, formats, seen)
    yield from walk.finish(head)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What a head should say of its messages (its columns of the same names); ``open_calls``: None where that can't be told."""

    next_seq: int
    total_tokens: int
    chain: bytes
    open_calls: tuple[tuple[str, int], ...] | None
    lookalike_ids: bool


def derive_counters(
    connection: Connection,
    key: ThreadKey,
    formats: Mapping[str, Format],
    open_calls: tuple[tuple[str, int], ...] | None,
) -> Counters | None:
    """Derive a head's counters from its messages; None where messages are missing."""
    walk = _walk(connection, key, Spine.load(connection, key), open_calls)
    found = list(walk.start(connection))
    for row in _rows(connection, key):
        found += walk.step(row, formats, lambda _row, _parts: None)
    if any(finding.kind == "message" and finding.message_id is None for finding in found) or not walk.chains:
        return None
    return Counters(
        next_seq=walk.expected,
        total_tokens=walk.total,
        chain=walk.chains[0],
        open_calls=tuple(walk.tracker.open_calls) if walk.tracked else None,
        lookalike_ids=walk.lookalikes,
    )


def open_calls_of(connection: Connection, key: ThreadKey, reader: MessageReader) -> tuple[tuple[str, int], ...] | None:
    """Give the calls that were open where a branch was cut from its parent, or None if that can't be told."""
    if key.cut == 0:
        return ()
    try:
        return open_calls_at(connection, key, reader, key.cut)
    except LosslessError:
        return None


def _walk(connection: Connection, key: ThreadKey, spine: Spine, open_calls: tuple[tuple[str, int], ...] | None) -> _Walk:
    secret = read_secret(connection, key.namespace) or b""
    own = ThreadKey(key.namespace, key.thread_id)
    return _Walk(
        vault_of(connection),
        key,
        secret,
        spine,
        UnitTracker(open_calls or ()),
        tracked=open_calls is not None,
        tombstones={each.seq: bytes.fromhex(each.hash) for each in tombstones(connection, own)},
        since=begun_at(connection, own),
    )


@dataclass(slots=True)
class _Walk:
    """A walk along the messages of a thread: what the next one must go on from."""

    vault: Vault
    key: ThreadKey
    secret: bytes
    spine: Spine
    tracker: UnitTracker
    expected: int = 1
    total: int = 0
    chains: tuple[bytes, ...] = (EMPTY_CHAIN,)
    before: str = ""
    tracked: bool = True
    lookalikes: bool = False
    since: int = 1
    tombstones: dict[int, bytes] = field(default_factory=dict)

    def start(self, connection: Connection) -> Iterator[Finding]:
        """Begin where a branch was cut from its parent."""
        cut = self.key.cut
        if cut == 0:
            return
        owner = self.key.owner(cut)
        statement = select(_MESSAGE.c.chain, _MESSAGE.c.total_tokens).where(
            _MESSAGE.c.namespace == self.key.namespace, _MESSAGE.c.thread_id == owner, _MESSAGE.c.seq == cut
        )
        row = connection.execute(statement).first()
        self.expected = cut + 1
        if row is None:
            yield self._found("message", f"seq {cut} of thread {owner}, where it was branched, is missing", seq=cut)
            self.chains = ()
        else:
            self.chains, self.total = (row.chain,), row.total_tokens
        self.before = f"seq {cut} of thread {owner}"

    def step(self, row: Any, formats: Mapping[str, Format], seen: Seen) -> Iterator[Finding]:
        """Check one message."""
        yield from self._gap(row)
        self._begin_again(row.seq)
        name = f"message {row.id} (seq {row.seq})"
        data, problem = self._payload(row)
        if problem:
            yield self._found("payload", f"{name} {problem}", row)
        self.total += row.tokens
        if self.total != row.total_tokens:
            yield self._found("counter", f"{name} has another token sum than the messages up to it", row)
            self.total = row.total_tokens
        yield from self._chain(row, name, data, changed=bool(problem))
        parts, problem = _parts(row, data, formats)
        if problem:
            yield self._found("payload", f"{name} {problem}", row)
        yield from self._unit(row, name, parts)
        self.lookalikes = self.lookalikes or (row.id.startswith("m_") and row.id.partition(".")[0] != f"m_{row.seq}")
        self.before = name
        seen(row, parts)

    def finish(self, head: Head) -> Iterator[Finding]:
        """Check what the head says of the messages."""
        self._begin_again(self.expected)
        counters = (head.next_seq, head.total_tokens) == (self.expected, self.total) and (
            not self.chains or head.chain in self.chains
        )
        if not counters:
            yield self._found("counter", "the head's counters don't match the messages")
        elif self.tracked and list(head.open_calls) != self.tracker.open_calls:
            yield self._found("counter", "the head has other open calls than the messages")
        elif self.lookalikes and not head.lookalike_ids:
            yield self._found("counter", "the head does not say that ids like derived ones were given")

    def _begin_again(self, seq: int) -> None:
        """Forget the open calls where a thread was deleted and begun again."""
        if seq == self.since > 1:
            self.tracker = UnitTracker(())

    def _gap(self, row: Any) -> Iterator[Finding]:
        if row.seq != self.expected:
            missing = row.seq - self.expected
            which = f"seq {self.expected} is" if missing == 1 else f"{missing} messages from seq {self.expected} on are"
            yield self._found("message", f"{which} missing", seq=self.expected)
            self.chains, self.tracked = (), False
        self.expected = row.seq + 1

    def _payload(self, row: Any) -> tuple[bytes | None, str]:
        """Give a message's payload, or None, and what is wrong with it, if anything is."""
        if row.data is None:
            return None, "has lost its payload"
        try:
            data = payload_of(self.vault, self.key.namespace, row)
        except CorruptError as error:
            return None, f"was changed: {error.message}"
        if row.salt is None:
            kept = blob_digest(self.secret, data) == row.digest and row.seq in self.tombstones
            return data, "" if kept else "is a placeholder, and its tombstone does not match it"
        if blob_digest(self.secret, data) != row.digest:
            return data, "was changed: its payload does not match its digest"
        return data, ""

    def _chain(self, row: Any, name: str, data: bytes | None, *, changed: bool) -> Iterator[Finding]:
        """Go on along the chain, from the stored value before or the derived one: only one message may be to blame."""
        erased = row.salt is None
        committed = self.tombstones.get(row.seq) if erased else None if data is None else commitment(self.secret, row.salt, data)
        if committed is None or (changed and not erased):  # which was said; what it committed to can't be told any more
            self.chains = (row.chain,)
            return
        facts = {column: getattr(row, column) for column in ("seq", "id", "role", "format", "created_at", "revises")}
        derived = [chain_link(before, committed, **facts) for before in self.chains]
        if derived and row.chain not in derived:
            yield self._found("chain", f"the chain breaks at {name}: it was changed, or {self.before or 'the start'} was", row)
            self.chains = (row.chain, derived[0])
        else:
            self.chains = (row.chain,)

    def _unit(self, row: Any, name: str, parts: tuple[Part, ...] | None) -> Iterator[Finding]:
        unit = place = row.seq
        if row.revises is not None:
            index = self.spine.index(row.revises)
            if index is None or row.revises >= row.seq:
                yield self._found("message", f"{name} replaces seq {row.revises}, which is not before it", row)
                return
            unit, place = self.spine.units[index], self.spine.places[index]
        elif parts is None:
            self.tracked = False
        else:
            unit = self.tracker.place(row.seq, shape_of(parts))
            self.tracked = self.tracked and len(self.tracker.open_calls) < _MOST_OPEN
        if row.place != place:
            yield self._found("message", f"{name} stands in another place than it should", row)
        if row.unit != unit and (self.tracked or row.revises is not None):
            yield self._found("message", f"{name} belongs to another unit than it should", row)

    def _found(self, kind: Any, text: str, row: Any = None, *, seq: int | None = None) -> Finding:
        return Finding(
            kind=kind,
            text=text,
            thread_id=self.key.thread_id,
            seq=seq if row is None else row.seq,
            message_id=None if row is None else row.id,
        )


def _parts(row: Any, data: bytes | None, formats: Mapping[str, Format]) -> tuple[tuple[Part, ...] | None, str]:
    """Read a payload; give its parts, or None if that can't be done, and what is wrong with it, if anything is."""
    reader = formats.get(row.format)
    if data is None or (reader is None and row.salt is not None):
        return None, ""
    try:
        return tuple(reader.read(decode(data)) if reader is not None and row.salt is not None else read_erased(decode(data))), ""
    except Exception as error:  # bytes that were changed can be anything, and a format a stranger's code
        return None, f"can't be read: {error}"


def _rows(connection: Connection, key: ThreadKey) -> Iterator[Any]:
    statement = (
        select(*whole_row(), _BLOB.c.codec, _BLOB.c.size, _BLOB.c.data)
        .join(_BLOB, (_BLOB.c.namespace == _MESSAGE.c.namespace) & (_BLOB.c.digest == _MESSAGE.c.digest), isouter=True)
        .where(_MESSAGE.c.namespace == key.namespace, _MESSAGE.c.thread_id == key.thread_id)
        .order_by(_MESSAGE.c.seq)
        .limit(_BATCH)
    )
    after = key.cut
    while True:
        rows = connection.execute(statement.where(_MESSAGE.c.seq > after)).all()
        yield from rows
        if len(rows) < _BATCH:
            return
        after = rows[-1].seq
