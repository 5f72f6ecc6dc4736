"""Appending: drafts become rows, inside the caller's write transaction.

A draft is a message made ready outside the transaction: encoded, read into parts, counted, analysed for search. In the
transaction only what depends on the thread is decided: is it there already, is it a revision, which seq, unit and chain value
does it get.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from lossless.errors import CorruptError
from lossless.messages.model import MessageRef
from lossless.messages.payload import decode
from lossless.messages.units import Shape, UnitTracker
from lossless.store.blobs import payload_of
from lossless.store.contents import Said
from lossless.store.digests import chain_link
from lossless.store.ids import ById, looks_derived
from lossless.store.index import index_of
from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.statements import batched, insert_new
from lossless.store.tables import BlobRow, HeadRow, MessageRow
from lossless.store.usual import derived_id, unless_usual, usual
from lossless.store.vault import vault_of

__all__ = ["Appended", "Draft", "Position", "append", "open_calls", "stored_calls"]

_BLOB = BlobRow.__table__  # type: ignore[attr-defined]
_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_OPEN_CALLS = 256  # calls that stay open for longer are taken for abandoned


class Draft(NamedTuple):  # like the values below: one of so many fields takes a third of a dataclass's time to make
    """A message ready to be stored.

    Attributes:
        id: as given, or None: then it is derived from the place.
        data: the encoded payload; ``digest`` addresses it within the namespace.
        blob: the row that its payload is stored as, None if it is stored; ``commitment`` commits to it with ``salt``.
        shape: its tool calls and results.
        terms: the tokens of the search analyzer, a space between.
        request: whether a person sent it.
        injected: whether the engine itself made it.
        said: its content, without what the engine wrote into it.
    """

    id: str | None
    role: str
    format: str
    data: bytes
    digest: bytes
    blob: Mapping[str, Any] | None
    salt: bytes
    commitment: bytes
    tokens: int
    exact: bool
    created_at: int
    shape: Shape
    terms: str
    request: bool
    injected: bool
    said: Said


class Position(NamedTuple):
    """Where a thread stands as far as appending is concerned (the head's columns of the same names)."""

    next_seq: int
    total_tokens: int
    chain: bytes
    open_calls: tuple[tuple[str, int], ...]
    lookalike_ids: bool


class Appended(NamedTuple):
    """What an append did: a ref for each draft, in order, and the revisions among them as (old seq, new seq)."""

    refs: tuple[MessageRef, ...]
    added: int
    revisions: tuple[tuple[int, int], ...]
    position: Position


class _Known(NamedTuple):
    """The newest message with an id."""

    seq: int
    place: int
    unit: int
    digest: bytes | None
    format: str
    erased: bool = False


def append(
    connection: Connection, key: ThreadKey, position: Position, drafts: Sequence[Draft], now: int, gone: Container[int] = ()
) -> Appended:
    """Store drafts at the end of a thread and move its head's counters on.

    Given ids make it idempotent: the same id with equal content again adds nothing; with other content it is a revision. Where
    the stored one's seq is among ``gone``, it counts for nothing, and the draft is a new message of that id. The id of an erased
    message adds nothing, whatever its content: it gives the ref of what is left of it.
    """
    known = _known(connection, key, position, drafts, gone)
    repeated = _repeated_ids(drafts, known) if known else set()
    given = {draft.id for draft in drafts}
    batch = _Batch(key, position)
    for draft in drafts:
        before = known.get(draft.id) if draft.id is not None else None
        if before is not None and (before.erased or draft.id in repeated or _same(connection, key, before, draft)):
            batch.refs.append(MessageRef(str(draft.id), before.seq))
        else:
            id = draft.id if draft.id is not None else _derived_id(connection, key, batch.seq, known, given)
            known[id] = batch.add(id, draft, before)
    after = batch.position()
    if batch.rows:
        with batched(connection):
            _insert(connection, key, batch.rows, batch.drafts)
            _advance(connection, key, after, now)
    return Appended(tuple(batch.refs), len(batch.rows), tuple(batch.revisions), after)


class _Batch:
    """Rows in the making, each from where the one before left the thread."""

    def __init__(self, key: ThreadKey, position: Position) -> None:
        self._key = key
        self._tracker = UnitTracker(position.open_calls)
        self._total = position.total_tokens
        self._chain = position.chain
        self._lookalikes = position.lookalike_ids
        self.seq = position.next_seq
        self.refs: list[MessageRef] = []
        self.rows: list[dict[str, Any]] = []
        self.drafts: list[Draft] = []
        self.revisions: list[tuple[int, int]] = []

    def add(self, id: str, draft: Draft, before: _Known | None) -> _Known:
        """Make the row of a new message, or of a revision of ``before``, which keeps its place and its unit."""
        seq = self.seq
        place = before.place if before is not None else seq
        unit = before.unit if before is not None else self._tracker.place(seq, draft.shape)
        revises = before.seq if before is not None else None
        self._chain = chain_link(
            self._chain,
            draft.commitment,
            seq=seq,
            id=id,
            role=draft.role,
            format=draft.format,
            created_at=draft.created_at,
            revises=revises,
        )
        self._total += draft.tokens
        self.rows.append(
            {
                "namespace": self._key.namespace,
                "thread_id": self._key.thread_id,
                "seq": seq,
                **unless_usual(seq=seq, id=id, role=draft.role, format=draft.format, unit=unit, place=place),
                "created_at": draft.created_at,
                "digest": draft.digest,
                "salt": draft.salt,
                "chain": self._chain,
                "tokens": draft.tokens,
                "exact": int(draft.exact),
                "total_tokens": self._total,
                "revises": revises,
                "request": int(draft.request),
                "injected": int(draft.injected),
            }
        )
        self.drafts.append(draft)
        self.refs.append(MessageRef(id, seq))
        if before is not None:
            self.revisions.append((before.seq, seq))
        self._lookalikes = self._lookalikes or (draft.id is not None and looks_derived(draft.id))
        self.seq += 1
        return _Known(seq, place, unit, draft.digest, draft.format)

    def position(self) -> Position:
        """Give where the rows leave the thread."""
        calls = tuple(self._tracker.open_calls)[-_OPEN_CALLS:]
        return Position(self.seq, self._total, self._chain, calls, self._lookalikes)


def _insert(connection: Connection, key: ThreadKey, rows: list[dict[str, Any]], drafts: list[Draft]) -> None:
    blobs = [draft.blob for draft in drafts if draft.blob is not None]
    if len(blobs) > 1:  # writers of the same contents wait for each other in one order
        blobs.sort(key=itemgetter("digest"))
    if blobs:
        _INSERT_BLOB.run(connection, *blobs)
    _INSERT_MESSAGE.run(connection, *rows)
    index_of(connection).add(connection, key, [(row["seq"], draft.terms) for row, draft in zip(rows, drafts, strict=True)])


_INSERT_BLOB = Prepared(insert_new(_BLOB))
_INSERT_MESSAGE = Prepared(insert(_MESSAGE))
_ADVANCE = Prepared(
    update(_HEAD)
    .where(_HEAD.c.namespace == bindparam("key_namespace"), _HEAD.c.thread_id == bindparam("key_thread"))
    .values(
        next_seq=bindparam("next_seq"),
        total_tokens=bindparam("total_tokens"),
        chain=bindparam("chain"),
        open_calls=bindparam("open_calls"),
        lookalike_ids=bindparam("lookalike_ids"),
        updated_at=bindparam("updated_at"),
    )
)


def _advance(connection: Connection, key: ThreadKey, position: Position, now: int) -> None:
    _ADVANCE.run(
        connection,
        {
            "key_namespace": key.namespace,
            "key_thread": key.thread_id,
            "next_seq": position.next_seq,
            "total_tokens": position.total_tokens,
            "chain": position.chain,
            "open_calls": stored_calls(connection, key, position.open_calls),
            "lookalike_ids": int(position.lookalike_ids),
            "updated_at": now,
        },
    )


def stored_calls(connection: Connection, key: ThreadKey, calls: Sequence[tuple[str, int]]) -> str:
    """Write a thread's open calls as its head stores them."""
    if not calls:
        return "[]"
    text = json.dumps([list(call) for call in calls])
    return vault_of(connection).seal_text(text, "head", key.namespace, key.thread_id)


def open_calls(connection: Connection, key: ThreadKey, stored: str) -> tuple[tuple[str, int], ...]:
    """Read what :func:`stored_calls` wrote."""
    if stored == "[]":
        return ()
    text = vault_of(connection).unseal_text(stored, "head", key.namespace, key.thread_id)
    try:
        return tuple((str(call), int(seq)) for call, seq in json.loads(text))
    except (ValueError, TypeError) as error:
        raise CorruptError("the head's open calls can't be read", hint="run `lossless doctor`") from error


def _known(
    connection: Connection, key: ThreadKey, position: Position, drafts: Sequence[Draft], gone: Container[int]
) -> dict[str, _Known]:
    """Find the newest stored message of each id that the batch may touch, derived ids included, but for those that are gone."""
    found: dict[str, _Known] = {}
    if position.next_seq == 1:
        return found
    wanted = {draft.id for draft in drafts if draft.id is not None}
    if len(wanted) < len(drafts) and (position.lookalike_ids or any(looks_derived(id) for id in wanted)):
        wanted.update(derived_id(seq) for seq in range(position.next_seq, position.next_seq + len(drafts)))
    for thread_id, first, last in key.ranges(1, position.next_seq) if wanted else ():
        within = {"namespace": key.namespace, "thread_id": thread_id, "first": first, "last": last}
        for id in wanted:
            for row in _BY_ID.all(connection, {**within, "id": id}):
                if row.salt is None or row.seq not in gone:
                    found[id] = _Known(row.seq, row.place, row.unit, row.digest, row.format, row.salt is None)
    if key.since > 1:
        found.update(_erased_before(connection, key, wanted - found.keys()))
    return found


def _erased_before(connection: Connection, key: ThreadKey, ids: AbstractSet[str]) -> dict[str, _Known]:
    """Find those ids that were erased before a thread was deleted and begun again: of all that it had, only they are known."""
    found: dict[str, _Known] = {}
    for thread_id, first, last in key._replace(since=1).ranges(1, key.since - 1):
        within = {"namespace": key.namespace, "thread_id": thread_id, "first": first, "last": last}
        for id in ids:
            for row in _BY_ID.all(connection, {**within, "id": id}):
                if row.salt is None:
                    found[id] = _Known(row.seq, row.place, row.unit, row.digest, row.format, erased=True)
    return found


_BY_ID = ById(select(_MESSAGE.c.seq, *usual("place", "unit", "digest", "format", "salt")))


def _repeated_ids(drafts: Sequence[Draft], known: dict[str, _Known]) -> set[str]:
    """Find ids given several times in one batch whose last content is stored already: a replay that contains its own
    revisions."""
    last: dict[str, Draft] = {}
    several: set[str] = set()
    for draft in drafts:
        if draft.id is None:
            continue
        if draft.id in last:
            several.add(draft.id)
        last[draft.id] = draft
    return {id for id in several if id in known and known[id].digest == last[id].digest}


def _same(connection: Connection, key: ThreadKey, known: _Known, draft: Draft) -> bool:
    """Tell whether a draft has the content of a stored message: the same bytes, or the same apart from the order of keys."""
    if known.format != draft.format or known.digest is None:
        return False
    if known.digest == draft.digest:
        return True
    statement = select(_BLOB.c.codec, _BLOB.c.size, _BLOB.c.digest, _BLOB.c.data).where(
        _BLOB.c.namespace == key.namespace, _BLOB.c.digest == known.digest
    )
    row = connection.execute(statement).first()
    if row is None or row.size != len(draft.data):
        return False
    try:
        return bool(decode(payload_of(vault_of(connection), key.namespace, row)) == decode(draft.data))
    except CorruptError:  # a damaged message keeps nobody from storing it again
        return False


def _derived_id(
    connection: Connection, key: ThreadKey, seq: int, known: Mapping[str, _Known], given: AbstractSet[str | None]
) -> str:
    """Derive an id from the place; a caller who gave such an id to another message gets the next free variant."""
    candidate, variant = derived_id(seq), 1
    while candidate in known or candidate in given or (variant > 1 and _is_stored(connection, key, seq, candidate)):
        variant += 1
        candidate = f"{derived_id(seq)}.{variant}"
    return candidate


def _is_stored(connection: Connection, key: ThreadKey, before: int, id: str) -> bool:
    within = ({"namespace": key.namespace, "thread_id": part, "first": a, "last": z} for part, a, z in key.ranges(1, before))
    return any(_BY_ID.all(connection, {**each, "id": id}) for each in within)
