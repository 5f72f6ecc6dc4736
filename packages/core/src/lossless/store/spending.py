"""What calls to summarizers took, for each thread in slots of five minutes; durable, so that limits hold across processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Executable, bindparam, func, select
from sqlalchemy.dialects import postgresql, sqlite

from lossless.store.prepared import Prepared
from lossless.store.tables import SpendRow

__all__ = ["Spent", "add_spent", "lock_spending", "spent"]

_SPEND = SpendRow.__table__  # type: ignore[attr-defined]
_SLOT = 300_000_000
"""Microseconds of a slot; an hour is the slot that runs and the twelve before it."""
_HOUR_SLOTS = 12
_SUMS = ("calls", "input_tokens", "cached_tokens", "output_tokens", "cost", "unpriced")
_GATE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Sums over calls; ``cost`` in millionths of a US dollar, ``unpriced``: calls whose cost is not known."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens


def add_spent(connection: Connection, namespace: str, thread_id: str, now: int, spent: Spent) -> None:
    """Add to what a thread has spent in the slot of a moment (microseconds); what turned out less than planned is negative."""
    row = {name: getattr(spent, name) for name in _SUMS}
    _ADD.run(connection, {"namespace": namespace, "thread_id": thread_id, "slot": now // _SLOT, **row})


def lock_spending(connection: Connection, namespace: str) -> None:
    """Let nobody else add under a limit before this transaction ends."""
    _ADD.run(connection, {"namespace": namespace, "thread_id": "", "slot": _GATE, **dict.fromkeys(_SUMS, 0)})


def spent(connection: Connection, namespace: str, *, thread_id: str | None = None, hour_before: int | None = None) -> Spent:
    """Sum up what a namespace or a thread has spent, ever or in the hour before a moment (microseconds)."""
    since = 0 if hour_before is None else hour_before // _SLOT - _HOUR_SLOTS
    statement = _OF_NAMESPACE if thread_id is None else _OF_THREAD
    row = statement.first(connection, {"namespace": namespace, "thread_id": thread_id, "since": since})
    return Spent(**{name: int(value or 0) for name, value in zip(_SUMS, row, strict=True)})


def _add(dialect: str) -> Executable:
    statement = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(_SPEND)
    sums = {name: _SPEND.c[name] + statement.excluded[name] for name in _SUMS}
    return statement.on_conflict_do_update(index_elements=["namespace", "thread_id", "slot"], set_=sums)


def _sums(*where: Any) -> Prepared:
    columns = [func.sum(_SPEND.c[name]).label(name) for name in _SUMS]
    return Prepared(
        select(*columns).where(_SPEND.c.namespace == bindparam("namespace"), _SPEND.c.slot >= bindparam("since"), *where)
    )


_ADD = Prepared(_add)
_OF_NAMESPACE = _sums()
_OF_THREAD = _sums(_SPEND.c.thread_id == bindparam("thread_id"))
