"""The tables of checkpoints: what a graph's runtime saves of its state (``lossless.checkpoints``).

They stand beside the conversation model: a runtime replaces, prunes and deletes its checkpoints, so only the parts, which are
addressed by content, never change. See ``lossless.store.tables``, which hands the tables out with all others.
"""

from __future__ import annotations

from sqlalchemy import Index, text
from sqlmodel import Field

from lossless.store.columns import BIG, KEYED, STRICT, Base, bytes_column, int_column, key_column, text_column

__all__ = [
    "CheckpointInheritedRow",
    "CheckpointPartRow",
    "CheckpointPoolRow",
    "CheckpointRow",
    "CheckpointShareRow",
    "CheckpointWriteRow",
]


class CheckpointPoolRow(Base, table=True):
    """Which pool of parts a thread's checkpoints are made of: its own, or after a copy that of the thread it was copied from.

    ``strand`` is what the thread's own checkpoints and writes bear. ``inherits`` counts the strands that it shares with copies,
    which nobody adds to or changes. Who puts holds this row, who removes parts or copies the thread locks it, so that no part
    goes that somebody has just referred to, and nothing comes to a strand that has just been shared.
    """

    __tablename__ = "lossless_checkpoint_pool"
    __table_args__ = (
        Index("lossless_checkpoint_pool_shared", "namespace", "pool"),
        Index("lossless_checkpoint_pool_strand", "namespace", "strand"),
        KEYED,
    )

    namespace: str = key_column()
    thread_id: str = key_column()
    pool: int = int_column()
    strand: int = int_column()
    inherits: int = int_column()


class CheckpointInheritedRow(Base, table=True):
    """A strand that a thread shares with copies; of several, what is in one of a higher ``place`` goes before the rest."""

    __tablename__ = "lossless_checkpoint_inherited"
    __table_args__ = (Index("lossless_checkpoint_inherited_strand", "namespace", "strand"), KEYED)

    namespace: str = key_column()
    thread_id: str = key_column()
    place: int = Field(sa_type=BIG, primary_key=True)
    strand: int = int_column()


class CheckpointPartRow(Base, table=True):
    """Content that is shared by all checkpoints and writes of a pool; ``data`` is in the form that ``codec`` names.

    ``inner`` is 1 if it may refer to other parts.
    """

    __tablename__ = "lossless_checkpoint_part"
    __table_args__ = (STRICT,)

    namespace: str = key_column()
    pool: int = Field(sa_type=BIG, primary_key=True)
    digest: bytes = bytes_column(primary_key=True)
    inner: int = int_column()
    size: int = int_column()
    codec: str = text_column()
    data: bytes = bytes_column()


class CheckpointShareRow(Base, table=True):
    """Which blobs of the message store a pool's parts, checkpoints and writes name: none of them goes while it stands here."""

    __tablename__ = "lossless_checkpoint_share"
    __table_args__ = (KEYED,)

    namespace: str = key_column()
    pool: int = Field(sa_type=BIG, primary_key=True)
    digest: bytes = bytes_column(primary_key=True)


class CheckpointRow(Base, table=True):
    """A checkpoint. ``channels`` says which content each channel had; ``body`` and ``facts`` (its metadata) are the runtime's.

    ``view``, ``upto`` and ``owner``, if its messages are a thread's: the thread's view then, the seq that it went up to, and the
    thread that stores that message.

    ``run`` is a keyed hash of the run that made it, ``hidden`` is 1 for one that was removed, but that others are made from.
    """

    __tablename__ = "lossless_checkpoint"
    __table_args__ = (
        Index("lossless_checkpoint_recent", "namespace", "strand", "checkpoint_id", "checkpoint_ns"),
        Index("lossless_checkpoint_all", "namespace", "checkpoint_id", "strand", "checkpoint_ns"),
        Index(
            "lossless_checkpoint_run",
            "namespace",
            "run",
            sqlite_where=text("run IS NOT NULL"),
            postgresql_where=text("run IS NOT NULL"),
        ),
        STRICT,
    )

    namespace: str = key_column()
    strand: int = Field(sa_type=BIG, primary_key=True)
    checkpoint_ns: str = key_column()
    checkpoint_id: str = key_column()
    parent: str | None = text_column(nullable=True)
    run: bytes | None = bytes_column(nullable=True)
    hidden: int = int_column()
    view: bytes | None = bytes_column(nullable=True)
    upto: int | None = int_column(nullable=True)
    owner: str | None = text_column(nullable=True)
    body: bytes = bytes_column()
    channels: bytes = bytes_column()
    facts: bytes = bytes_column()


class CheckpointWriteRow(Base, table=True):
    """What a task wrote after a checkpoint; it may be stored before the checkpoint is."""

    __tablename__ = "lossless_checkpoint_write"
    __table_args__ = (KEYED,)

    namespace: str = key_column()
    strand: int = Field(sa_type=BIG, primary_key=True)
    checkpoint_ns: str = key_column()
    checkpoint_id: str = key_column()
    task_id: str = key_column()
    idx: int = Field(sa_type=BIG, primary_key=True)
    task_path: str = text_column()
    body: bytes = bytes_column()
