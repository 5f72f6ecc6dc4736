"""Corrections: which messages correct something, and what they are about. Operational data, noted after an append."""

from __future__ import annotations

import json

from sqlalchemy import Connection, bindparam, select

from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new
from lossless.store.tables import CorrectionRow

__all__ = ["corrections_between", "note_correction"]

_CORRECTION = CorrectionRow.__table__  # type: ignore[attr-defined]
_INSERT_NEW = Prepared(insert_new(_CORRECTION))
_BETWEEN = Prepared(
    select(_CORRECTION.c.seq, _CORRECTION.c.meant)
    .where(
        _CORRECTION.c.namespace == bindparam("namespace"),
        _CORRECTION.c.thread_id == bindparam("thread_id"),
        _CORRECTION.c.seq.between(bindparam("first"), bindparam("last")),
    )
    .order_by(_CORRECTION.c.seq)
)


def note_correction(connection: Connection, key: ThreadKey, seq: int, meant: list[int]) -> None:
    """Note that a message corrects something, and the seqs of the messages that it is about, the likeliest first."""
    row = {"namespace": key.namespace, "thread_id": key.owner(seq), "seq": seq, "meant": json.dumps(meant)}
    _INSERT_NEW.run(connection, row)


def corrections_between(connection: Connection, key: ThreadKey, first: int, last: int) -> list[tuple[int, list[int]]]:
    """Give the corrections among the messages ``first`` to ``last``, oldest first, each with what it is about."""
    found: list[tuple[int, list[int]]] = []
    for thread_id, start, stop in key.ranges(first, last):
        wanted = {"namespace": key.namespace, "thread_id": thread_id, "first": start, "last": stop}
        found.extend((row.seq, json.loads(row.meant)) for row in _BETWEEN.all(connection, wanted))
    return found
