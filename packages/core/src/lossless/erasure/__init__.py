"""Erasure: messages that are forgotten for good, threads that are put away, and rows that nothing refers to any more."""

from lossless.erasure.model import Collected, Erasure, Removal, Retention, Tombstone

__all__ = ["Collected", "Erasure", "Removal", "Retention", "Tombstone"]
