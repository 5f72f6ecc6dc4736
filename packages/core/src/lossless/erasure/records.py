"""Records: the removals of a namespace, who asked for them, why and when."""

from __future__ import annotations

from sqlalchemy import Connection, select

from lossless.erasure.model import Removal
from lossless.store.pages import MOST
from lossless.store.tables import ErasureRow
from lossless.store.times import from_stored
from lossless.store.vault import vault_of

__all__ = ["list_removals"]

_ERASURE = ErasureRow.__table__  # type: ignore[attr-defined]


def list_removals(connection: Connection, namespace: str, *, limit: int | None = None) -> list[Removal]:
    """Give the removals of a namespace, newest first."""
    limit = None if limit is None else min(max(0, limit), MOST)
    statement = select(_ERASURE).where(_ERASURE.c.namespace == namespace).order_by(_ERASURE.c.number.desc()).limit(limit)
    vault = vault_of(connection)
    return [
        Removal(
            number=row.number,
            kind=row.kind,
            thread_id=row.thread_id,
            who=row.who,
            reason=vault.unseal_text(row.reason, "reason of removal", namespace, str(row.number)),
            rows=row.rows,
            at=from_stored(row.at),
            purged_at=None if row.purged_at is None else from_stored(row.purged_at),
        )
        for row in connection.execute(statement)
    ]
