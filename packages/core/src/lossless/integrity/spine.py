"""The spine of a thread: the numbers of its messages, inherited ones included, that views and summaries are checked against."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from sqlalchemy import Connection, select

from lossless.store.keys import ThreadKey
from lossless.store.tables import MessageRow
from lossless.store.usual import usual

__all__ = ["Spine"]

_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_BATCH = 10_000
_ANY = 2**62


class Spine:
    """Token sums, places, units and times by seq, in arrays: forty bytes a message."""

    def __init__(self) -> None:
        self.seqs = array("q")
        self.tokens = array("q")
        self.totals = array("q")
        self.places = array("q")
        self.units = array("q")
        self.times = array("q")

    @classmethod
    def load(cls, connection: Connection, key: ThreadKey) -> Spine:
        """Read the numbers of a thread's messages, batch by batch."""
        spine = cls()
        for thread_id, first, last in key.ranges(1, _ANY):
            spine._read(connection, key.namespace, thread_id, first, last)
        return spine

    def index(self, seq: int) -> int | None:
        """Give where the numbers of a message are, or None if there is no such message."""
        if 1 <= seq <= len(self.seqs) and self.seqs[seq - 1] == seq:
            return seq - 1
        found = bisect_left(self.seqs, seq)
        return found if found < len(self.seqs) and self.seqs[found] == seq else None

    def total(self, seq: int) -> int | None:
        """Give the token sum up to and including a message, 0 before the first one, None if there is no such message."""
        if seq == 0:
            return 0
        index = self.index(seq)
        return None if index is None else self.totals[index]

    def place(self, seq: int) -> int:
        """Give the place of a message; its seq if it is not there."""
        index = self.index(seq)
        return seq if index is None else self.places[index]

    def moved(self) -> list[int]:
        """Give the seqs of messages that stand elsewhere than their seq says: revisions."""
        return [seq for seq, place in zip(self.seqs, self.places, strict=True) if seq != place]

    def _read(self, connection: Connection, namespace: str, thread_id: str, first: int, last: int) -> None:
        statement = (
            select(*usual("seq", "tokens", "total_tokens", "place", "unit", "created_at"))
            .where(_MESSAGE.c.namespace == namespace, _MESSAGE.c.thread_id == thread_id, _MESSAGE.c.seq <= last)
            .order_by(_MESSAGE.c.seq)
            .limit(_BATCH)
        )
        columns = (self.seqs, self.tokens, self.totals, self.places, self.units, self.times)
        while True:
            rows = connection.execute(statement.where(_MESSAGE.c.seq >= first)).all()
            for column, values in zip(columns, zip(*rows, strict=True), strict=False):
                column.extend(values)
            if len(rows) < _BATCH:
                return
            first = rows[-1].seq + 1
