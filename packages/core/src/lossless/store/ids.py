"""Ids of messages, and how messages are found by them.

An id that nobody gave is derived from the place: ``m_`` and the seq. It is not stored, and such a message is found by its place;
the index has the other ids only, which saves a derived one an entry of thirty bytes and the time to make it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, select

from lossless.store.prepared import Prepared
from lossless.store.tables import MessageRow
from lossless.store.usual import usual

__all__ = ["ById", "looks_derived", "seqs_with_ids"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_DERIVED = "m_"
_GIVEN = _MESSAGE.c.id.is_not(None)
_NONE_GIVEN = _MESSAGE.c.id.is_(None)


def looks_derived(id: str) -> bool:
    """Tell whether an id that was given could be, or become, the derived one of some message."""
    return id.startswith(_DERIVED)


class ById:
    """A question about the messages of a thread that have an id, within a range of seqs: ``select(…)`` of columns, ``seq`` among
    them."""

    def __init__(self, columns: Select[Any]) -> None:
        within = columns.where(
            _MESSAGE.c.namespace == bindparam("namespace"),
            _MESSAGE.c.thread_id == bindparam("thread_id"),
        )
        in_range = _MESSAGE.c.seq.between(bindparam("first"), bindparam("last"))
        given = within.where(_MESSAGE.c.id == bindparam("id"), _GIVEN, in_range)
        self.given = Prepared(given.order_by(_MESSAGE.c.seq))
        self.newest_given = Prepared(given.order_by(_MESSAGE.c.seq.desc()).limit(1))
        self.derived = Prepared(within.where(_MESSAGE.c.seq == bindparam("seq"), _NONE_GIVEN))

    def all(self, connection: Connection, wanted: dict[str, Any]) -> list[Any]:
        """Give the rows for ``namespace``, ``thread_id``, ``id``, ``first`` and ``last``, by seq."""
        return sorted([*self._derived(connection, wanted), *self.given.all(connection, wanted)], key=_by_seq)

    def newest(self, connection: Connection, wanted: dict[str, Any]) -> Any:
        """Give the newest of the rows, or None."""
        return max([*self._derived(connection, wanted), *self.newest_given.all(connection, wanted)], key=_by_seq, default=None)

    def _derived(self, connection: Connection, wanted: dict[str, Any]) -> list[Any]:
        seq = _seq_of(wanted["id"])
        if seq is None or not wanted["first"] <= seq <= wanted["last"]:
            return []
        named = {name: wanted[name] for name in ("namespace", "thread_id")}
        return self.derived.all(connection, {**named, "seq": seq})


def seqs_with_ids(
    connection: Connection, namespace: str, thread_id: str, ids: Collection[str], first: int, last: int
) -> list[tuple[str, int]]:
    """Give (id, seq) of the messages stored in a thread that have one of some ids, by seq; few enough for one statement."""
    seqs = [seq for id in ids if (seq := _seq_of(id)) is not None]
    found: list[tuple[str, int]] = []
    for condition in (and_(_MESSAGE.c.id.in_(ids), _GIVEN), and_(_MESSAGE.c.seq.in_(seqs), _NONE_GIVEN)):
        statement = select(*usual("id"), _MESSAGE.c.seq).where(
            _MESSAGE.c.namespace == namespace,
            _MESSAGE.c.thread_id == thread_id,
            _MESSAGE.c.seq.between(first, last),
            condition,
        )
        found += [(row.id, row.seq) for row in connection.execute(statement)]
    return sorted(found, key=lambda each: each[1])


def _seq_of(id: str) -> int | None:
    """Give the place that an id is derived from; None for one that is not."""
    digits = id.removeprefix(_DERIVED)
    if digits == id or not (digits.isascii() and digits.isdecimal() and digits[0] != "0" and len(digits) <= 18):
        return None
    return int(digits)


def _by_seq(row: Any) -> int:
    return int(row.seq)
