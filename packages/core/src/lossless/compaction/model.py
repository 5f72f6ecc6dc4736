"""The values of the compaction room."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lossless.policies.model import Usage

__all__ = ["CompactionResult", "CompactionStatus"]

CompactionStatus = Literal["done", "partial", "exhausted", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult:
    """What came of a compaction.

    Attributes:
        changed: whether the view changed and the change is durable.
        status: ``done``: the target was reached; ``partial``: some was compacted, not all that should be; ``exhausted``: above
            hard, and nothing more can be compacted; ``nothing``: there was nothing to compact.
        reason: in words; empty when done.
        tokens_before: tokens of the view before, ``tokens_after`` after.
        model_calls: how often the summarizer was called.
        summaries: ids of the new summaries, oldest first.
        usage: what the calls took: tokens, and the cost where prices are known.
    """

    changed: bool
    status: CompactionStatus
    reason: str
    tokens_before: int
    tokens_after: int
    model_calls: int
    summaries: tuple[str, ...]
    usage: Usage = field(default_factory=Usage)
