"""What delta channels are made of: the writes since their last value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import DeltaChannelHistory

from lossless.checkpoints import CheckpointStore, Outline, Place, StoredWrite
from lossless_langgraph.coding import Coding

__all__ = ["delta_history"]


def delta_history(
    store: CheckpointStore, coding: Coding, where: tuple[str, str, str | None], channels: Sequence[str]
) -> Mapping[str, DeltaChannelHistory]:
    """Give each channel's writes before a checkpoint, back to where it has a value, and that value.

    Of the checkpoints on the way, nothing else is loaded or read.

    Raises:
        CorruptError: a value can't be read; the error names thread, channel and path.
    """
    walk, loaded = store.ancestors(*where, lambda: _Walk(coding, channels))
    parts = coding.sound(loaded)
    found: dict[str, DeltaChannelHistory] = {}
    for channel in channels:
        writes = reversed(walk.writes[channel])
        found[channel] = {
            "writes": [(one.task_id, channel, coding.value(place, channel, one.value, parts)) for place, one in writes]
        }
        if channel in walk.seeds:
            place, item = walk.seeds[channel]
            found[channel]["seed"] = coding.value(place, channel, item, parts)
    return found


class _Walk:
    """Takes from the checkpoints on the way, the nearest first, what belongs to the channels."""

    def __init__(self, coding: Coding, channels: Sequence[str]) -> None:
        self._coding = coding
        self._left = set(channels)
        self.writes: dict[str, list[tuple[Place, StoredWrite]]] = {channel: [] for channel in channels}
        self.seeds: dict[str, tuple[Place, bytes]] = {}

    def step(self, outline: Outline, writes: Sequence[StoredWrite]) -> tuple[list[bytes], bool]:
        """Give the items of a checkpoint that are needed, and whether the one before it is wanted, too."""
        items: list[bytes] = []
        for one in reversed(writes):
            channel: Any = self._coding.written_to(outline.place, one)
            if channel in self._left:
                self.writes[channel].append((outline.place, one))
                items.append(one.value)
        held: Mapping[str, tuple[Any, bytes]] = self._coding.channels(outline) if self._left else {}
        for channel in sorted(self._left & held.keys()):
            self.seeds[channel] = (outline.place, held[channel][1])
            items.append(held[channel][1])
            self._left.discard(channel)
        return items, bool(self._left)
