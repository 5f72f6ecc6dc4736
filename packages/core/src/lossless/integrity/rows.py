"""Rows that refer to nothing, and rows that nothing refers to, by asking for them: a guard may have been switched off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, ForeignKeyConstraint, and_, select

from lossless.integrity.report import Finding
from lossless.store.tables import METADATA, HeadRow, MessageRow, SearchDocRow, ThreadRow

__all__ = ["row_findings"]

_HEAD = HeadRow.__table__  # type: ignore[attr-defined]
_THREAD = ThreadRow.__table__  # type: ignore[attr-defined]
_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_DOC = SearchDocRow.__table__  # type: ignore[attr-defined]
_MOST = 20
"""Rows named of each kind."""


def row_findings(connection: Connection, namespace: str) -> Iterator[Finding]:
    """Find rows of a namespace that refer to a row that is not there, threads without a head, and lost entries of the index."""
    for table in METADATA.sorted_tables:
        for constraint in sorted(table.foreign_key_constraints, key=lambda found: str(found.column_keys)):
            yield from _dangling(connection, namespace, table, constraint)
    for row in _missing(connection, namespace, _THREAD, _HEAD, ("thread_id",)):
        yield Finding(kind="head", text="it has no head", thread_id=row.thread_id)
    for row in _missing(connection, namespace, _DOC, _MESSAGE, ("thread_id", "seq")):
        text = f"the search index has an entry for seq {row.seq}, which is not there"
        yield Finding(kind="index", text=text, thread_id=row.thread_id, seq=row.seq)


def _dangling(connection: Connection, namespace: str, table: Any, constraint: ForeignKeyConstraint) -> Iterator[Finding]:
    theirs = constraint.referred_table.alias()
    pairs = [(table.c[each.parent.name], theirs.c[each.column.name]) for each in constraint.elements]
    statement = (
        select(*table.primary_key.columns, *(ours.label(f"to_{ours.name}") for ours, _other in pairs))
        .select_from(table.outerjoin(theirs, and_(*(ours == other for ours, other in pairs))))
        .where(table.c.namespace == namespace, pairs[0][1].is_(None), *(ours.is_not(None) for ours, _other in pairs))
        .limit(_MOST)
    )
    names = [column.name for column in table.primary_key.columns if column.name not in ("namespace", "thread_id")]
    for row in connection.execute(statement).mappings():
        which = ", ".join(f"{name} {_shown(row[name])}" for name in names)
        missing = ", ".join(_shown(row[f"to_{ours.name}"]) for ours, _other in pairs[1:])
        text = (
            f"a row of {table.name} ({which}) refers to a row of {constraint.referred_table.name} that is not there ({missing})"
        )
        yield Finding(kind="row", text=text, thread_id=row.get("thread_id"))


def _missing(connection: Connection, namespace: str, table: Any, other: Any, columns: tuple[str, ...]) -> Iterator[Any]:
    """Give the rows of a table that have no partner in another one."""
    joined = [table.c.namespace == other.c.namespace, *(table.c[name] == other.c[name] for name in columns)]
    statement = (
        select(table)
        .select_from(table.outerjoin(other, and_(*joined)))
        .where(table.c.namespace == namespace, other.c.namespace.is_(None))
        .limit(_MOST)
    )
    yield from connection.execute(statement)


def _shown(value: object) -> str:
    return value.hex()[:12] if isinstance(value, bytes) else str(value)
