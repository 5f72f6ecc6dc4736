"""Naming: which thread has the messages of a graph."""

from __future__ import annotations

import hashlib

__all__ = ["part_name"]

_LONGEST_NAME = 512
"""Characters of a thread id."""


def part_name(thread_id: str, checkpoint_ns: str) -> str:
    """Give the id of the thread that has the private messages of a graph within a graph; of the root, the thread itself."""
    if not checkpoint_ns:
        return thread_id
    name = f"{thread_id}#{checkpoint_ns}"
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{thread_id[: _LONGEST_NAME - 65]}#{hashlib.sha256(name.encode()).hexdigest()}"
