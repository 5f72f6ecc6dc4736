"""Checkpoints: what a graph's runtime saves of its state, made of parts that are shared by all that hold the same content.

The room knows nothing of a framework: it keeps trees of bytes. An adapter says what they mean.
"""

from lossless.checkpoints.model import CheckpointDraft, Gathered, Outline, Place, Stored, Thinned, WriteDraft
from lossless.checkpoints.removal import Details
from lossless.checkpoints.store import CheckpointStore
from lossless.checkpoints.trees import Leaves, TreeReader, TreeWriter, Twig, joined, pieces, refers_to

__all__ = [
    "CheckpointDraft",
    "CheckpointStore",
    "Details",
    "Gathered",
    "Leaves",
    "Outline",
    "Place",
    "Stored",
    "Thinned",
    "TreeReader",
    "TreeWriter",
    "Twig",
    "WriteDraft",
    "joined",
    "pieces",
    "refers_to",
]
