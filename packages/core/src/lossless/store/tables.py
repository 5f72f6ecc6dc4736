"""The tables, as SQLModel classes in a registry of their own (they never show up in a user's ``SQLModel.metadata``).

Everything but :class:`Head` is append-only; triggers made by the migrations enforce it. Every key is led by namespace and thread
id, and ids are made here rather than by the database, so that the same tables work on a distributed PostgreSQL.

Times are integers: microseconds since the epoch, UTC (see ``lossless.store.times``). Digests are bytes (see
``lossless.store.digests``).
"""

from __future__ import annotations

from sqlalchemy import ForeignKeyConstraint, Index, text
from sqlmodel import Field

from lossless.store.columns import (
    BIG,
    KEYED,
    METADATA,
    STRICT,
    TO_THREAD,
    Base,
    bytes_column,
    int_column,
    key_column,
    references,
    text_column,
)
from lossless.store.tables_beside import (
    CalibrationRow,
    CorrectionRow,
    ErasureRow,
    LeaseRow,
    SearchDocRow,
    SpendRow,
    TombstoneRow,
)
from lossless.store.tables_checkpoints import (
    CheckpointInheritedRow,
    CheckpointPartRow,
    CheckpointPoolRow,
    CheckpointRow,
    CheckpointShareRow,
    CheckpointWriteRow,
)

__all__ = [
    "METADATA",
    "BlobRow",
    "CalibrationRow",
    "CheckpointInheritedRow",
    "CheckpointPartRow",
    "CheckpointPoolRow",
    "CheckpointRow",
    "CheckpointShareRow",
    "CheckpointWriteRow",
    "CorrectionRow",
    "ErasureRow",
    "HeadLogRow",
    "HeadRow",
    "LeaseRow",
    "MessageRow",
    "NamespaceRow",
    "NodeRow",
    "SearchDocRow",
    "SnapshotRow",
    "SpendRow",
    "SummaryChildRow",
    "SummaryMessageRow",
    "SummaryRow",
    "ThreadRow",
    "TombstoneRow",
]


class NamespaceRow(Base, table=True):
    """A tenant: what keys its digests (``lossless.store.namespaces``), and which key seals that, None without a cipher."""

    __tablename__ = "lossless_namespace"
    __table_args__ = (KEYED,)

    namespace: str = key_column()
    secret: bytes = bytes_column()
    sealed_by: str | None = text_column(nullable=True)


class ThreadRow(Base, table=True):
    """One conversation. ``format``: the serialisation of its payloads unless an append says otherwise.

    A branch names the thread it was cut from (``parent``) and the last seq it has from there (``cut``). A thread that belongs to
    another one names that (``part_of``).
    """

    __tablename__ = "lossless_thread"
    __table_args__ = (
        ForeignKeyConstraint(["namespace", "parent"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        Index(
            "lossless_thread_part",
            "namespace",
            "part_of",
            sqlite_where=text("part_of IS NOT NULL"),
            postgresql_where=text("part_of IS NOT NULL"),
        ),
        KEYED,
    )

    namespace: str = key_column()
    thread_id: str = key_column()
    format: str = text_column()
    parent: str | None = text_column(nullable=True)
    part_of: str | None = text_column(nullable=True)
    cut: int = int_column()
    created_at: int = int_column()


class BlobRow(Base, table=True):
    """Verbatim bytes, shared within a namespace by everything that holds the same content.

    ``data`` holds ``size`` bytes in the form that ``codec`` names (see ``lossless.store.blobs``).
    """

    __tablename__ = "lossless_blob"
    __table_args__ = (STRICT,)

    namespace: str = key_column()
    digest: bytes = bytes_column(primary_key=True)
    size: int = int_column()
    codec: str = text_column()
    data: bytes = bytes_column()


class MessageRow(Base, table=True):
    """One immutable entry of a thread.

    ``chain`` runs over the thread's commitments, which are hashes of the payload and ``salt``, ``total_tokens`` is the sum of
    ``tokens`` up to here (so that the size of a range is one subtraction), ``unit`` names its unit by the seq of that unit's
    first message (a revision keeps its predecessor's), ``place`` the seq of the message that it stands for after revisions,
    ``request`` whether a person sent it. ``digest`` names its blob without a foreign key: removing a blob would look through
    all messages. A message without a salt is erased; its blob is a placeholder. NULL in ``id``, ``role``, ``format``, ``unit``
    and ``place`` stands for what is usual there (``lossless.store.usual``).
    """

    __tablename__ = "lossless_message"
    __table_args__ = (
        references("thread", TO_THREAD),
        Index(
            "lossless_message_id",
            "namespace",
            "thread_id",
            "id",
            "seq",
            unique=True,
            sqlite_where=text("id IS NOT NULL"),
            postgresql_where=text("id IS NOT NULL"),
        ),
        Index(
            "lossless_message_request",
            "namespace",
            "thread_id",
            "seq",
            sqlite_where=text("request = 1"),
            postgresql_where=text("request = 1"),
        ),
        Index(
            "lossless_message_unit",
            "namespace",
            "thread_id",
            "unit",
            "seq",
            sqlite_where=text("unit < seq"),
            postgresql_where=text("unit < seq"),
        ),
        Index(
            "lossless_message_revises",
            "namespace",
            "thread_id",
            "revises",
            sqlite_where=text("revises IS NOT NULL"),
            postgresql_where=text("revises IS NOT NULL"),
        ),
        KEYED,
    )

    namespace: str = key_column()
    thread_id: str = key_column()
    seq: int = Field(sa_type=BIG, primary_key=True)
    id: str | None = text_column(nullable=True)
    role: str | None = text_column(nullable=True)
    format: str | None = text_column(nullable=True)
    digest: bytes | None = bytes_column(nullable=True)
    salt: bytes | None = bytes_column(nullable=True)
    chain: bytes = bytes_column()
    tokens: int = int_column()
    exact: int = int_column()
    total_tokens: int = int_column()
    unit: int | None = int_column(nullable=True)
    place: int | None = int_column(nullable=True)
    revises: int | None = int_column(nullable=True)
    request: int = int_column()
    injected: int = int_column()
    created_at: int = int_column()


class NodeRow(Base, table=True):
    """A node of a persistent vector (``lossless.dag.vector``): views are made of them and share them."""

    __tablename__ = "lossless_node"
    __table_args__ = (KEYED,)

    namespace: str = key_column()
    digest: bytes = bytes_column(primary_key=True)
    data: bytes = bytes_column()


class HeadRow(Base, table=True):
    """The only mutable row of the conversation model: which view stands for the thread, and where the next message goes.

    A deleted thread keeps it, with ``deleted_at``; ``since`` is the first seq that may be seen of it, should it be begun again.
    """

    __tablename__ = "lossless_head"
    __table_args__ = (references("thread", TO_THREAD), references("node", ("view", "digest")), KEYED)

    namespace: str = key_column()
    thread_id: str = key_column()
    view: bytes = bytes_column()
    generation: int = int_column()
    next_seq: int = int_column()
    total_tokens: int = int_column()
    chain: bytes = bytes_column()
    open_calls: str = text_column()
    lookalike_ids: int = int_column()
    updated_at: int = int_column()
    since: int = int_column()
    deleted_at: int | None = int_column(nullable=True)


class HeadLogRow(Base, table=True):
    """Every view that a thread ever had: when it was swung in, why, by hand or not, and which earlier move it undoes."""

    __tablename__ = "lossless_head_log"
    __table_args__ = (
        references("thread", TO_THREAD),
        references("node", ("view", "digest")),
        Index("lossless_head_log_view", "namespace", "view"),
        KEYED,
    )

    namespace: str = key_column()
    thread_id: str = key_column()
    generation: int = Field(sa_type=BIG, primary_key=True)
    view: bytes = bytes_column()
    next_seq: int = int_column()
    why: str = text_column()
    by_hand: int = int_column()
    undoes: int | None = int_column(nullable=True)
    at: int = int_column()


class SnapshotRow(Base, table=True):
    """A frozen head: a view and how far the thread was, under a name that never moves. ``tags``: a JSON list."""

    __tablename__ = "lossless_snapshot"
    __table_args__ = (
        references("thread", TO_THREAD),
        references("node", ("view", "digest")),
        Index("lossless_snapshot_view", "namespace", "view"),
        KEYED,
    )

    namespace: str = key_column()
    thread_id: str = key_column()
    name: str = key_column()
    id: str = text_column()
    description: str = text_column()
    tags: str = text_column()
    view: bytes = bytes_column()
    seq: int = int_column()
    tokens: int = int_column()
    parent: str | None = text_column(nullable=True)
    created_at: int = int_column()


class SummaryRow(Base, table=True):
    """A node of the DAG. ``note`` holds its kept source items and decisions (``lossless.dag.notes``); ``span_key`` names sources
    and policy, ``newest_seq`` is the highest seq under it: a branch that was cut below it can't have it; ``usage`` is JSON, what
    the model that wrote it took, or empty. What is long stands last: SQLite reads a row up to the last column that is wanted."""

    __tablename__ = "lossless_summary"
    __table_args__ = (
        references("thread", TO_THREAD),
        Index("lossless_summary_span", "namespace", "thread_id", "span_key"),
        KEYED,
    )

    namespace: str = key_column()
    thread_id: str = key_column()
    id: str = key_column()
    kind: str = text_column()
    depth: int = int_column()
    kept: int = int_column()
    total: int = int_column()
    regime: str = text_column()
    tokens: int = int_column()
    source_tokens: int = int_column()
    messages: int = int_column()
    first_seq: int = int_column()
    last_seq: int = int_column()
    newest_seq: int = int_column()
    earliest_at: int = int_column()
    latest_at: int = int_column()
    policy: str = text_column()
    level: int = int_column()
    degraded: int = int_column()
    usage: str = text_column()
    span_key: bytes = bytes_column()
    created_at: int = int_column()
    text: str = text_column()
    note: bytes = bytes_column()


class SummaryMessageRow(Base, table=True):
    """The messages right under a summary, in order; ``source_thread`` is where each is stored."""

    __tablename__ = "lossless_summary_message"
    __table_args__ = (
        references("summary", TO_THREAD, ("summary_id", "id")),
        references("message", ("source_thread", "thread_id"), ("seq", "seq")),
        Index("lossless_summary_message_seq", "namespace", "thread_id", "seq", "summary_id"),
        KEYED,
    )

    namespace: str = key_column()
    thread_id: str = key_column()
    summary_id: str = key_column()
    ordinal: int = Field(sa_type=BIG, primary_key=True)
    source_thread: str = text_column()
    seq: int = int_column()


class SummaryChildRow(Base, table=True):
    """The summaries right under a condensed one, in order; ``source_thread`` is where each is stored."""

    __tablename__ = "lossless_summary_child"
    __table_args__ = (
        references("summary", TO_THREAD, ("summary_id", "id")),
        references("summary", ("source_thread", "thread_id"), ("child_id", "id")),
        Index("lossless_summary_child_child", "namespace", "thread_id", "child_id", "summary_id"),
        KEYED,
    )

    namespace: str = key_column()
    thread_id: str = key_column()
    summary_id: str = key_column()
    ordinal: int = Field(sa_type=BIG, primary_key=True)
    source_thread: str = text_column()
    child_id: str = text_column()
