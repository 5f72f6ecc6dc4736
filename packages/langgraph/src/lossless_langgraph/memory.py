"""Memory: what a process remembers of what is stored."""

from __future__ import annotations

from lossless.checkpoints import CheckpointDraft, Gathered, Place, Run, Vouched
from lossless.store.recent import Recent

__all__ = ["Memory"]

_REMEMBERED = 100_000


class Memory:
    """What a process remembers of what is stored. It may be wrong: the store checks what is relied on."""

    def __init__(self) -> None:
        self.pools: Recent[str, int] = Recent(4_096)
        self.parts: Recent[tuple[int, bytes], bool] = Recent(_REMEMBERED)
        self.items: Recent[tuple[int, bytes], bytes] = Recent(_REMEMBERED)
        self.channels: Recent[Place, bytes] = Recent(1_024)
        self.vouched: Recent[tuple[str, str], Vouched] = Recent(1_024)
        self.runs: Recent[tuple[int, bytes], Run] = Recent(_REMEMBERED // 32)
        self.erased: Recent[str, dict[str, bytes]] = Recent(4_096)

    def stored(self, gathered: Gathered, draft: CheckpointDraft | None = None) -> None:
        """Remember that parts are stored, and the checkpoint that they were gathered for."""
        if gathered.pool is not None:
            for digest in gathered.parts:
                self.parts.put((gathered.pool, digest), True)
        if draft is not None:
            self.channels.put(draft.place, draft.channels)
            digests = gathered.relied.union(gathered.parts, gathered.shared)
            found = Vouched(place=draft.place, channels=draft.channels, digests=digests)
            self.vouched.put((draft.place.thread_id, draft.place.checkpoint_ns), found)
