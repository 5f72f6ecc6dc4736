"""Reading messages: rows become messages, checked against their digest, the recently used ones kept in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, literal_column, select

from lossless.errors import NotFoundError
from lossless.locks import ForkLock
from lossless.messages.erased import ERASED_FORMAT, read_erased
from lossless.messages.formats import Format
from lossless.messages.model import Message
from lossless.messages.parts import Opaque, Part
from lossless.store.erasures import epoch_of, read_epoch
from lossless.store.ids import ById
from lossless.store.keys import ThreadKey
from lossless.store.namespaces import Secrets
from lossless.store.payloads import verified_payload
from lossless.store.prepared import Prepared
from lossless.store.tables import BlobRow, MessageRow
from lossless.store.times import from_stored
from lossless.store.usual import usual
from lossless.store.vault import vault_of

__all__ = [
    "Fact",
    "MessageReader",
    "facts_between",
    "facts_of",
    "in_ranges",
    "known_seqs",
    "later_members",
    "newest_facts",
    "places_of",
    "requests_before",
    "seqs_of",
    "unit_members",
    "unit_partners",
]

_BLOB = BlobRow.__table__  # type: ignore[attr-defined]
_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_CACHE_BYTES = 64 * 1024 * 1024
_ANY = 2**62
"""Above every seq."""
_GAP = 4

_FULL = select(
    *usual("seq", "id", "role", "format", "digest", "salt", "tokens", "exact", "place", "revises", "injected", "created_at"),
    _BLOB.c.codec,
    _BLOB.c.size,
    _BLOB.c.data,
).join(_BLOB, (_BLOB.c.namespace == _MESSAGE.c.namespace) & (_BLOB.c.digest == _MESSAGE.c.digest), isouter=True)

_BETWEEN = Prepared(
    _FULL.where(
        _MESSAGE.c.namespace == bindparam("namespace"),
        _MESSAGE.c.thread_id == bindparam("thread_id"),
        _MESSAGE.c.seq.between(bindparam("first"), bindparam("last")),
    ).order_by(_MESSAGE.c.seq)
)

_BY_ID = ById(_FULL)

Fact = Any
"""The facts of a message that decisions are made from, without its payload: seq, id, role, tokens, unit, place, request,
injected."""

_FACTS = select(*usual("seq", "id", "role", "tokens", "total_tokens", "unit", "place", "request", "injected"))


class MessageReader:
    """Reads the messages of threads, those that were read last from memory.

    Messages change by erasures only, so what is kept in memory is used in the epoch that it was read in.
    """

    def __init__(self, formats: Callable[[], Mapping[str, Format]], secrets: Secrets) -> None:
        self._formats = formats
        self._secrets = secrets
        self._lock = ForkLock()
        self._recent: OrderedDict[tuple[int, ThreadKey, int], Message] = OrderedDict()
        self._bytes = 0

    def between(self, connection: Connection, key: ThreadKey, first: int, last: int) -> list[Message]:
        """Read the messages with seq ``first`` to ``last``, both included, in storage order."""
        epoch = epoch_of(connection)
        known = self._cached(epoch, key, range(first, last + 1))
        if len(known) == last - first + 1:
            return [known[seq] for seq in range(first, last + 1)]
        # One query for the part that is not in memory: as a rule the newest messages.
        missing = [seq for seq in range(first, last + 1) if seq not in known]
        rows = in_ranges(_BETWEEN, connection, key, missing[0], missing[-1])
        made = self._messages(connection, key, [row for row in rows if row.seq not in known], keep_in=epoch)
        known.update((message.seq, message) for message in made)
        return [known[seq] for seq in range(first, last + 1) if seq in known]

    def by_seq(self, connection: Connection, key: ThreadKey, seqs: Sequence[int], *, keep: bool = True) -> list[Message]:
        """Read messages by seq, in the order given. In a write transaction, which may yet fail, they must not be kept."""
        epoch = epoch_of(connection) if keep else read_epoch(connection, key.namespace)
        kept = epoch if keep else None
        known = self._cached(epoch, key, seqs)
        missing = {seq for seq in seqs if seq not in known}
        for first, last in _stretches(missing):
            rows = in_ranges(_BETWEEN, connection, key, first, last)
            made = self._messages(connection, key, [row for row in rows if row.seq in missing], keep_in=kept)
            known.update((message.seq, message) for message in made)
        return [known[seq] for seq in seqs if seq in known]

    def in_place_order(self, connection: Connection, key: ThreadKey, start: int, stop: int) -> list[Message]:
        """Read the messages with seq ``start`` to ``stop`` (exclusive), a revision where its predecessor stood."""
        rows = in_ranges(_BETWEEN, connection, key, start, stop - 1)
        rows.sort(key=lambda row: (row.place, row.seq))
        return self._messages(connection, key, rows)

    def by_id(self, connection: Connection, key: ThreadKey, id: str) -> Message | None:
        """Read the newest message with an id."""
        for thread_id, first, last in reversed(key.ranges(1, _ANY)):
            wanted = {"namespace": key.namespace, "thread_id": thread_id, "id": id, "first": first, "last": last}
            row = _BY_ID.newest(connection, wanted)
            if row is not None:
                return self._messages(connection, key, [row], keep_in=epoch_of(connection))[0]
        return None

    def forget(self) -> None:
        """Drop what is kept in memory."""
        with self._lock:
            self._recent.clear()
            self._bytes = 0

    def _cached(self, epoch: int, key: ThreadKey, seqs: Iterable[int]) -> dict[int, Message]:
        with self._lock:
            recent = self._recent
            return {seq: message for seq in seqs if (message := recent.get((epoch, key, seq))) is not None}

    def _messages(
        self, connection: Connection, key: ThreadKey, rows: Sequence[Any], *, keep_in: int | None = None
    ) -> list[Message]:
        """Make messages of rows, in their order, and keep them for an epoch."""
        if not rows:
            return []
        vault, secret = vault_of(connection), self._secrets.within(connection, key.namespace)
        names = {ERASED_FORMAT if row.salt is None else row.format for row in rows}
        readers = {name: self._read_by(name) for name in names}
        made: list[Message] = []
        for row in rows:
            name = ERASED_FORMAT if row.salt is None else row.format
            made.append(
                Message.stored(
                    readers[name],
                    id=row.id,
                    seq=row.seq,
                    thread_id=key.owner(row.seq),
                    role=row.role,
                    format=name,
                    data=verified_payload(vault, key, row, secret),
                    tokens=row.tokens,
                    exact=bool(row.exact),
                    created_at=from_stored(row.created_at),
                    deleted=False,
                    injected=bool(row.injected),
                    revises=row.revises,
                )
            )
        if keep_in is not None:
            self._keep(keep_in, key, made)
        return made

    def _read_by(self, format: str) -> Callable[[Any], tuple[Part, ...]]:
        reader = self._formats().get(format)
        if format == ERASED_FORMAT:
            return read_erased
        return reader.read if reader is not None else lambda payload: (Opaque(payload),)

    def _keep(self, epoch: int, key: ThreadKey, messages: Sequence[Message]) -> None:
        with self._lock:
            for message in messages:
                place = (epoch, key, message.seq)
                if place not in self._recent:
                    self._recent[place] = message
                    self._bytes += _memory(message)
            while self._bytes > _CACHE_BYTES:
                _, dropped = self._recent.popitem(last=False)
                self._bytes -= _memory(dropped)


def _memory(message: Message) -> int:
    """Estimate the bytes that a message takes in memory, as measured: its payload, its texts, and what holds them."""
    return 1_200 + 2 * len(message.data)


def facts_between(connection: Connection, key: ThreadKey, first: int, last: int) -> list[Fact]:
    """Read the facts of the messages with seq ``first`` to ``last``, both included, in storage order."""
    return in_ranges(_FACTS_BETWEEN, connection, key, first, last)


def newest_facts(connection: Connection, key: ThreadKey, first: int, last: int, *, limit: int) -> list[Fact]:
    """Read the facts of at most ``limit`` messages with seq ``first`` to ``last``, newest first."""
    return _newest(_NEWEST_FACTS, connection, key, first, last, limit)


_FACTS_RANGE = _FACTS.where(
    _MESSAGE.c.namespace == bindparam("namespace"),
    _MESSAGE.c.thread_id == bindparam("thread_id"),
    _MESSAGE.c.seq.between(bindparam("first"), bindparam("last")),
)
_FACTS_BETWEEN = Prepared(_FACTS_RANGE.order_by(_MESSAGE.c.seq))
_NEWEST_FACTS = Prepared(_FACTS_RANGE.order_by(_MESSAGE.c.seq.desc()).limit(bindparam("limit")))


def facts_of(connection: Connection, key: ThreadKey, seqs: Sequence[int]) -> list[Fact]:
    """Read the facts of single messages, in storage order."""
    wanted = set(seqs)
    stretches = _stretches(wanted)
    return [fact for first, last in stretches for fact in facts_between(connection, key, first, last) if fact.seq in wanted]


def requests_before(connection: Connection, key: ThreadKey, before: int, *, limit: int) -> list[Fact]:
    """Read the facts of the newest messages that a person sent, with a seq below ``before``, newest first."""
    return _newest(_REQUESTS_BEFORE, connection, key, 1, before - 1, limit)


_REQUESTS_BEFORE = Prepared(
    _FACTS.where(
        _MESSAGE.c.namespace == bindparam("namespace"),
        _MESSAGE.c.thread_id == bindparam("thread_id"),
        _MESSAGE.c.seq.between(bindparam("first"), bindparam("last")),
        # A bound 1 would keep SQLite from using the partial index over requests.
        _MESSAGE.c.request == literal_column("1"),
    )
    .order_by(_MESSAGE.c.seq.desc())
    .limit(bindparam("limit"))
)


def unit_members(connection: Connection, key: ThreadKey, unit: int) -> list[Fact]:
    """Read the facts of all messages of a unit, in storage order."""
    return [*facts_of(connection, key, [unit]), *unit_partners(connection, key, unit)]


def unit_partners(connection: Connection, key: ThreadKey, unit: int) -> list[Fact]:
    """Read the facts of the messages that belong to the unit begun by ``unit``, without that message itself."""
    return [
        fact
        for thread_id, first, last in key.ranges(unit + 1, _ANY)
        for fact in _UNIT_PARTNERS.all(
            connection,
            {"namespace": key.namespace, "thread_id": thread_id, "unit": unit, "first": first, "last": last},
        )
    ]


_UNIT_PARTNERS = Prepared(
    _FACTS.where(
        _MESSAGE.c.namespace == bindparam("namespace"),
        _MESSAGE.c.thread_id == bindparam("thread_id"),
        _MESSAGE.c.unit == bindparam("unit"),
        _MESSAGE.c.unit < _MESSAGE.c.seq,
        _MESSAGE.c.seq.between(bindparam("first"), bindparam("last")),
    ).order_by(_MESSAGE.c.seq)
)


def later_members(connection: Connection, key: ThreadKey, units: Iterable[int]) -> list[Fact]:
    """Read the facts of all messages of units but the first of each (whose seq is the unit's name)."""
    wanted = set(units)
    found: list[Fact] = []
    for first, last in _stretches(wanted):
        for thread_id, after, until in key.ranges(first + 1, _ANY):
            within = {"namespace": key.namespace, "thread_id": thread_id, "after": after, "until": until}
            found.extend(_LATER_MEMBERS.all(connection, {**within, "first": first, "last": last}))
    return [fact for fact in found if fact.unit in wanted]


_LATER_MEMBERS = Prepared(
    _FACTS.where(
        _MESSAGE.c.namespace == bindparam("namespace"),
        _MESSAGE.c.thread_id == bindparam("thread_id"),
        _MESSAGE.c.unit.between(bindparam("first"), bindparam("last")),
        _MESSAGE.c.unit < _MESSAGE.c.seq,
        _MESSAGE.c.seq.between(bindparam("after"), bindparam("until")),
    )
)


def places_of(connection: Connection, key: ThreadKey, next_seq: int) -> list[int]:
    """Give the seqs of all messages below ``next_seq`` in the order of their places."""
    rows = in_ranges(_PLACES, connection, key, 1, next_seq - 1)
    rows.sort(key=lambda row: (row.place, row.seq))
    return [row.seq for row in rows]


_PLACES = Prepared(
    select(*usual("seq", "place")).where(
        _MESSAGE.c.namespace == bindparam("namespace"),
        _MESSAGE.c.thread_id == bindparam("thread_id"),
        _MESSAGE.c.seq.between(bindparam("first"), bindparam("last")),
    )
)


def seqs_of(connection: Connection, key: ThreadKey, ids: Sequence[str]) -> dict[str, int]:
    """Find the newest seq of each id.

    Raises:
        NotFoundError: an id is not in the thread.
    """
    found = known_seqs(connection, key, ids)
    for id in ids:
        if id not in found:
            raise NotFoundError(f"there is no message {id} in thread {key.thread_id}", hint="list them with messages()")
    return found


def known_seqs(connection: Connection, key: ThreadKey, ids: Sequence[str]) -> dict[str, int]:
    """Find the newest seq of each id that the thread has."""
    found: dict[str, int] = {}
    for id in ids:
        for thread_id, first, last in reversed(key.ranges(1, _ANY)):
            wanted = {"namespace": key.namespace, "thread_id": thread_id, "id": id, "first": first, "last": last}
            row = _SEQ_OF.newest(connection, wanted)
            if row is not None:
                found[id] = row.seq
                break
    return found


def _stretches(seqs: Iterable[int]) -> list[tuple[int, int]]:
    """Cover seqs by few ranges (first, last); a small gap is cheaper to read across than a query of its own."""
    found: list[tuple[int, int]] = []
    for seq in sorted(seqs):
        if found and seq - found[-1][1] <= _GAP:
            found[-1] = (found[-1][0], seq)
        else:
            found.append((seq, seq))
    return found


def in_ranges(statement: Prepared, connection: Connection, key: ThreadKey, first: int, last: int) -> list[Any]:
    """Run a statement over a range of seqs, in each thread that has a part of it."""
    rows: list[Any] = []
    for thread_id, start, stop in key.ranges(first, last):
        wanted = {"namespace": key.namespace, "thread_id": thread_id, "first": start, "last": stop}
        rows.extend(statement.all(connection, wanted))
    return rows


def _newest(statement: Prepared, connection: Connection, key: ThreadKey, first: int, last: int, limit: int) -> list[Any]:
    """Run a statement that gives the newest first over a range of seqs until there are ``limit`` rows."""
    rows: list[Any] = []
    for thread_id, start, stop in reversed(key.ranges(first, last)):
        wanted = {"namespace": key.namespace, "thread_id": thread_id, "first": start, "last": stop}
        rows.extend(statement.all(connection, {**wanted, "limit": limit - len(rows)}))
        if len(rows) >= limit:
            break
    return rows


_SEQ_OF = ById(select(_MESSAGE.c.seq))
