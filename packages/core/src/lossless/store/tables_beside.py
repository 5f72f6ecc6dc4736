"""The tables beside the conversation model: removals and what is left of erased messages, spending, leases, the search index.

See ``lossless.store.tables``, which hands them out with all others.
"""

from __future__ import annotations

from sqlalchemy import ForeignKeyConstraint, Index, text
from sqlmodel import Field

from lossless.store.columns import (
    BIG,
    KEYED,
    STRICT,
    Base,
    bytes_column,
    int_column,
    key_column,
    text_column,
)

__all__ = [
    "CalibrationRow",
    "CorrectionRow",
    "ErasureRow",
    "LeaseRow",
    "SearchDocRow",
    "SpendRow",
    "TombstoneRow",
]


class SpendRow(Base, table=True):
    """What calls to summarizers took in a slot of time, for a thread. Operational: limits are counted with it, nothing else.

    ``cost`` is in millionths of a US dollar. The row of slot -1 and no thread is what writers wait for each other at.
    """

    __tablename__ = "lossless_spend"
    __table_args__ = (Index("lossless_spend_slot", "namespace", "slot"), KEYED)

    namespace: str = key_column()
    thread_id: str = key_column()
    slot: int = Field(sa_type=BIG, primary_key=True)
    calls: int = int_column()
    input_tokens: int = int_column()
    cached_tokens: int = int_column()
    output_tokens: int = int_column()
    cost: int = int_column()
    unpriced: int = int_column()


class LeaseRow(Base, table=True):
    """Who does a piece of work on a thread now, and until when (``lossless.store.leases``). Operational."""

    __tablename__ = "lossless_lease"
    __table_args__ = (KEYED,)

    namespace: str = key_column()
    thread_id: str = key_column()
    work: str = key_column()
    holder: str = text_column()
    until: int = int_column()


class CorrectionRow(Base, table=True):
    """A message in which a person corrects something. ``meant``: a JSON list of the seqs that it is about. Operational."""

    __tablename__ = "lossless_correction"
    __table_args__ = (KEYED,)

    namespace: str = key_column()
    thread_id: str = key_column()
    seq: int = Field(sa_type=BIG, primary_key=True)
    meant: str = text_column()


class CalibrationRow(Base, table=True):
    """How many tokens a model's provider reported for contexts that were counted as ``counted``. Operational."""

    __tablename__ = "lossless_calibration"
    __table_args__ = (KEYED,)

    namespace: str = key_column()
    model: str = key_column()
    counted: int = int_column()
    reported: int = int_column()


class ErasureRow(Base, table=True):
    """One removal from the store: who asked for it, why and when; ``kind`` is ``erase``, ``collect`` or
    ``delete``.

    While ``open`` is 1, in the transaction that removes, the triggers of the append-only tables let it. ``purged_at``: when
    nothing of what it removed was left in the files, as far as the database can tell.
    """

    __tablename__ = "lossless_erasure"
    __table_args__ = (
        Index(
            "lossless_erasure_pending",
            "namespace",
            sqlite_where=text("purged_at IS NULL"),
            postgresql_where=text("purged_at IS NULL"),
        ),
        KEYED,
    )

    namespace: str = key_column()
    number: int = Field(sa_type=BIG, primary_key=True)
    kind: str = text_column()
    thread_id: str | None = text_column(nullable=True)
    who: str = text_column()
    reason: str = text_column()
    rows: int = int_column()
    open: int = int_column()
    at: int = int_column()
    purged_at: int | None = int_column(nullable=True)


class TombstoneRow(Base, table=True):
    """What is left of an erased message: its id, the salted commitment that the chain runs over, and its removal."""

    __tablename__ = "lossless_tombstone"
    __table_args__ = (
        ForeignKeyConstraint(["namespace", "number"], ["lossless_erasure.namespace", "lossless_erasure.number"]),
        KEYED,
    )

    namespace: str = key_column()
    thread_id: str = key_column()
    seq: int = Field(sa_type=BIG, primary_key=True)
    id: str = text_column()
    hash: bytes = bytes_column()
    reason: str = text_column()
    erased_at: int = int_column()
    number: int = int_column()


class SearchDocRow(Base, table=True):
    """Which message a document of the search index is; derivable, made again by a repair.

    On PostgreSQL the tokens stand beside it, on SQLite in an FTS5 table.
    """

    __tablename__ = "lossless_search_doc"
    __table_args__ = (Index("lossless_search_doc_message", "namespace", "thread_id", "seq", unique=True), STRICT)

    docid: int | None = Field(default=None, sa_type=BIG, primary_key=True)
    namespace: str = text_column()
    thread_id: str = text_column()
    seq: int = int_column()
