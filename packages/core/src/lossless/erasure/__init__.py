"""Erasure: messages that are forgotten for good, threads that are put away, and rows that nothing refers to any more."""

from lossless.erasure.model import Erasure, Retention, Tombstone

__all__ = ["Erasure", "Retention", "Tombstone"]
