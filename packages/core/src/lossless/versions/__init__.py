"""Versions: snapshots, branches and restoring."""

from lossless.versions.snapshots import Snapshot

__all__ = ["Snapshot"]
