"""The tables, as SQLModel classes in a registry of their own (they never show up in a user's ``SQLModel.metadata``).

Everything but :class:`Head` is append-only; triggers made by the migrations enforce it. Every key is led by namespace and thread
id, and ids are made here rather than by the database, so that the same tables work on a distributed PostgreSQL.

Times are integers: microseconds since the epoch, UTC (see ``lossless.store.times``). Digests are 32 bytes (see
``lossless.store.digests``).
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import BigInteger, ForeignKeyConstraint, Index, Integer, LargeBinary, Text, text
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

__all__ = [
    "METADATA",
    "BlobRow",
    "CalibrationRow",
    "CorrectionRow",
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
]

_Big = BigInteger().with_variant(Integer(), "sqlite")
_Text = Text().with_variant(Text(collation="C"), "postgresql")  # ordered by code points everywhere
_STRICT: dict[str, Any] = {"sqlite_strict": True}
_KEYED: dict[str, Any] = {"sqlite_strict": True, "sqlite_with_rowid": False}


class _Base(SQLModel, registry=registry()):
    """Root of our tables, with our own registry and metadata."""

    __abstract__: ClassVar[bool] = True


METADATA = _Base.metadata


def _key() -> Any:
    return Field(sa_type=_Text, primary_key=True)


def _text(**options: Any) -> Any:
    return Field(sa_type=_Text, **options)


def _int(**options: Any) -> Any:
    return Field(sa_type=_Big, **options)


def _bytes(**options: Any) -> Any:
    return Field(sa_type=LargeBinary, **options)


def _to(table: str, *pairs: tuple[str, str]) -> ForeignKeyConstraint:
    """A foreign key within one namespace: pairs of (our column, their column)."""
    ours, theirs = zip(("namespace", "namespace"), *pairs, strict=True)
    return ForeignKeyConstraint(ours, [f"lossless_{table}.{column}" for column in theirs])


_TO_THREAD = ("thread_id", "thread_id")


class NamespaceRow(_Base, table=True):
    """A tenant: what keys its digests (``lossless.store.namespaces``), and which key seals that, None without a cipher."""

    __tablename__ = "lossless_namespace"
    __table_args__ = (_KEYED,)

    namespace: str = _key()
    secret: bytes = _bytes()
    sealed_by: str | None = _text(nullable=True)


class ThreadRow(_Base, table=True):
    """One conversation. ``format``: the serialisation of its payloads unless an append says otherwise.

    A branch names the thread it was cut from (``parent``) and the last seq it has from there (``cut``).
    """

    __tablename__ = "lossless_thread"
    __table_args__ = (
        ForeignKeyConstraint(["namespace", "parent"], ["lossless_thread.namespace", "lossless_thread.thread_id"]),
        _KEYED,
    )

    namespace: str = _key()
    thread_id: str = _key()
    format: str = _text()
    parent: str | None = _text(nullable=True)
    cut: int = _int()
    created_at: int = _int()


class BlobRow(_Base, table=True):
    """Verbatim bytes, shared within a namespace by everything that holds the same content.

    ``data`` holds ``size`` bytes in the form that ``codec`` names (see ``lossless.store.blobs``).
    """

    __tablename__ = "lossless_blob"
    __table_args__ = (_STRICT,)

    namespace: str = _key()
    digest: bytes = _bytes(primary_key=True)
    size: int = _int()
    codec: str = _text()
    data: bytes = _bytes()


class MessageRow(_Base, table=True):
    """One immutable entry of a thread.

    ``commitment`` is a salted hash of the payload, ``chain`` runs over the thread's commitments, ``total_tokens`` is the sum of
    ``tokens`` up to here (so that the size of a range is one subtraction), ``unit`` names its unit by the seq of that unit's
    first message (a revision keeps its predecessor's), ``place`` the seq of the message that it stands for after revisions,
    ``request`` whether a person sent it.
    """

    __tablename__ = "lossless_message"
    __table_args__ = (
        _to("thread", _TO_THREAD),
        _to("blob", ("digest", "digest")),
        Index("lossless_message_id", "namespace", "thread_id", "id", "seq", unique=True),
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
        _KEYED,
    )

    namespace: str = _key()
    thread_id: str = _key()
    seq: int = Field(sa_type=_Big, primary_key=True)
    id: str = _text()
    role: str = _text()
    format: str = _text()
    digest: bytes | None = _bytes(nullable=True)
    salt: bytes | None = _bytes(nullable=True)
    commitment: bytes = _bytes()
    chain: bytes = _bytes()
    tokens: int = _int()
    exact: int = _int()
    total_tokens: int = _int()
    unit: int = _int()
    place: int = _int()
    revises: int | None = _int(nullable=True)
    request: int = _int()
    injected: int = _int()
    created_at: int = _int()


class NodeRow(_Base, table=True):
    """A node of a persistent vector (``lossless.dag.vector``): views are made of them and share them."""

    __tablename__ = "lossless_node"
    __table_args__ = (_KEYED,)

    namespace: str = _key()
    digest: bytes = _bytes(primary_key=True)
    data: bytes = _bytes()


class HeadRow(_Base, table=True):
    """The only mutable row of the conversation model: which view stands for the thread, and where the next message goes."""

    __tablename__ = "lossless_head"
    __table_args__ = (_to("thread", _TO_THREAD), _to("node", ("view", "digest")), _KEYED)

    namespace: str = _key()
    thread_id: str = _key()
    view: bytes = _bytes()
    generation: int = _int()
    next_seq: int = _int()
    total_tokens: int = _int()
    chain: bytes = _bytes()
    open_calls: str = _text()
    lookalike_ids: int = _int()
    updated_at: int = _int()


class HeadLogRow(_Base, table=True):
    """Every view that a thread ever had: when it was swung in, why, by hand or not, and which earlier move it undoes."""

    __tablename__ = "lossless_head_log"
    __table_args__ = (_to("thread", _TO_THREAD), _to("node", ("view", "digest")), _KEYED)

    namespace: str = _key()
    thread_id: str = _key()
    generation: int = Field(sa_type=_Big, primary_key=True)
    view: bytes = _bytes()
    next_seq: int = _int()
    why: str = _text()
    by_hand: int = _int()
    undoes: int | None = _int(nullable=True)
    at: int = _int()


class SnapshotRow(_Base, table=True):
    """A frozen head: a view and how far the thread was, under a name that never moves. ``tags``: a JSON list."""

    __tablename__ = "lossless_snapshot"
    __table_args__ = (_to("thread", _TO_THREAD), _to("node", ("view", "digest")), _KEYED)

    namespace: str = _key()
    thread_id: str = _key()
    name: str = _key()
    id: str = _text()
    description: str = _text()
    tags: str = _text()
    view: bytes = _bytes()
    seq: int = _int()
    tokens: int = _int()
    parent: str | None = _text(nullable=True)
    created_at: int = _int()


class SummaryRow(_Base, table=True):
    """A node of the DAG. ``note`` holds its kept source items and decisions as JSON; ``span_key`` names sources and policy,
    ``newest_seq`` is the highest seq under it: a branch that was cut below it can't have it; ``usage`` is JSON, what the model
    that wrote it took, or empty. What is long stands last: SQLite reads a row up to the last column that is asked for."""

    __tablename__ = "lossless_summary"
    __table_args__ = (
        _to("thread", _TO_THREAD),
        Index("lossless_summary_span", "namespace", "thread_id", "span_key"),
        _KEYED,
    )

    namespace: str = _key()
    thread_id: str = _key()
    id: str = _key()
    kind: str = _text()
    depth: int = _int()
    kept: int = _int()
    total: int = _int()
    regime: str = _text()
    tokens: int = _int()
    source_tokens: int = _int()
    messages: int = _int()
    first_seq: int = _int()
    last_seq: int = _int()
    newest_seq: int = _int()
    earliest_at: int = _int()
    latest_at: int = _int()
    policy: str = _text()
    level: int = _int()
    degraded: int = _int()
    usage: str = _text()
    span_key: bytes = _bytes()
    created_at: int = _int()
    text: str = _text()
    note: str = _text()


class SummaryMessageRow(_Base, table=True):
    """The messages right under a summary, in order; ``source_thread`` is where each is stored."""

    __tablename__ = "lossless_summary_message"
    __table_args__ = (
        _to("summary", _TO_THREAD, ("summary_id", "id")),
        _to("message", ("source_thread", "thread_id"), ("seq", "seq")),
        Index("lossless_summary_message_seq", "namespace", "thread_id", "seq", "summary_id"),
        _KEYED,
    )

    namespace: str = _key()
    thread_id: str = _key()
    summary_id: str = _key()
    ordinal: int = Field(sa_type=_Big, primary_key=True)
    source_thread: str = _text()
    seq: int = _int()


class SummaryChildRow(_Base, table=True):
    """The summaries right under a condensed one, in order; ``source_thread`` is where each is stored."""

    __tablename__ = "lossless_summary_child"
    __table_args__ = (
        _to("summary", _TO_THREAD, ("summary_id", "id")),
        _to("summary", ("source_thread", "thread_id"), ("child_id", "id")),
        Index("lossless_summary_child_child", "namespace", "thread_id", "child_id", "summary_id"),
        _KEYED,
    )

    namespace: str = _key()
    thread_id: str = _key()
    summary_id: str = _key()
    ordinal: int = Field(sa_type=_Big, primary_key=True)
    source_thread: str = _text()
    child_id: str = _text()


class SpendRow(_Base, table=True):
    """What calls to summarizers took in a slot of time, for a thread. Operational: limits are counted with it, nothing else.

    ``cost`` is in millionths of a US dollar. The row of slot -1 and no thread is what writers wait for each other at.
    """

    __tablename__ = "lossless_spend"
    __table_args__ = (Index("lossless_spend_slot", "namespace", "slot"), _KEYED)

    namespace: str = _key()
    thread_id: str = _key()
    slot: int = Field(sa_type=_Big, primary_key=True)
    calls: int = _int()
    input_tokens: int = _int()
    cached_tokens: int = _int()
    output_tokens: int = _int()
    cost: int = _int()
    unpriced: int = _int()


class LeaseRow(_Base, table=True):
    """Who does a piece of work on a thread now, and until when (``lossless.store.leases``). Operational."""

    __tablename__ = "lossless_lease"
    __table_args__ = (_KEYED,)

    namespace: str = _key()
    thread_id: str = _key()
    work: str = _key()
    holder: str = _text()
    until: int = _int()


class CorrectionRow(_Base, table=True):
    """A message in which a person corrects something. ``meant``: a JSON list of the seqs that it is about. Operational."""

    __tablename__ = "lossless_correction"
    __table_args__ = (_KEYED,)

    namespace: str = _key()
    thread_id: str = _key()
    seq: int = Field(sa_type=_Big, primary_key=True)
    meant: str = _text()


class CalibrationRow(_Base, table=True):
    """How many tokens a model's provider reported for contexts that were counted as ``counted``. Operational."""

    __tablename__ = "lossless_calibration"
    __table_args__ = (_KEYED,)

    namespace: str = _key()
    model: str = _key()
    counted: int = _int()
    reported: int = _int()


class SearchDocRow(_Base, table=True):
    """Which message a document of the search index is; derivable, made again by a repair.

    On PostgreSQL the tokens stand beside it, on SQLite in an FTS5 table.
    """

    __tablename__ = "lossless_search_doc"
    __table_args__ = (Index("lossless_search_doc_message", "namespace", "thread_id", "seq", unique=True), _STRICT)

    docid: int | None = Field(default=None, sa_type=_Big, primary_key=True)
    namespace: str = _text()
    thread_id: str = _text()
    seq: int = _int()
