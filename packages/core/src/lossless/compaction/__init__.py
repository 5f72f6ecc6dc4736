"""Compaction: what is summarised, when, by whom, and how it becomes the view."""

from lossless.compaction.compactor import Compactor
from lossless.compaction.model import CompactionResult

__all__ = ["CompactionResult", "Compactor"]
