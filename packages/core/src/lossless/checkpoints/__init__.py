"""Checkpoints: what a graph's runtime saves of its state, made of parts that are shared by all that hold the same content.

The room knows nothing of a framework: it keeps trees of bytes. An adapter says what they mean.
"""

from lossless.checkpoints.items import erased_item, joined, message_key, pieces, refers_to, shared_item, shares
from lossless.checkpoints.model import (
    CheckpointDraft,
    Gathered,
    Outline,
    Pair,
    Place,
    Stored,
    StoredWrite,
    Thinned,
    Vouched,
    Within,
    WriteDraft,
)
from lossless.checkpoints.removal import Details
from lossless.checkpoints.seen import Seen
from lossless.checkpoints.store import CheckpointStore
from lossless.checkpoints.trees import Leaves, Run, TreeReader, TreeWriter, Twig

__all__ = [
    "CheckpointDraft",
    "CheckpointStore",
    "Details",
    "Gathered",
    "Leaves",
    "Outline",
    "Pair",
    "Place",
    "Run",
    "Seen",
    "Stored",
    "StoredWrite",
    "Thinned",
    "TreeReader",
    "TreeWriter",
    "Twig",
    "Vouched",
    "Within",
    "WriteDraft",
    "erased_item",
    "joined",
    "message_key",
    "pieces",
    "refers_to",
    "shared_item",
    "shares",
]
