"""The control loop's one decision, made after every append. Pure."""

from __future__ import annotations

from typing import Literal

from lossless.context.budget import Limits

__all__ = ["Action", "decide_action"]

Action = Literal["nothing", "background", "now"]


def decide_action(tokens: int, limits: Limits, *, background: bool, undone: bool) -> Action:
    """Decide what an append calls for.

    Args:
        tokens: of the view, the append included.
        limits: the thresholds.
        background: whether compaction may run in the background.
        undone: whether the newest move took back a compaction; then nothing is compacted before it must be.
    """
    if tokens > limits.hard:
        return "now"
    if tokens > limits.soft and background and not undone:
        return "background"
    return "nothing"
