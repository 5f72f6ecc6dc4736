"""Coverage: every message of a thread is in its view exactly once (invariant 3)."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from lossless.dag.segments import Hidden, Raw, SummaryRef, Tail
from lossless.dag.summaries import messages_under
from lossless.dag.view import View
from lossless.store.keys import ThreadKey

__all__ = ["coverage_problems", "covered_seqs"]


def covered_seqs(connection: Connection, key: ThreadKey, view: View, next_seq: int) -> Iterator[tuple[int, str]]:
    """Give every message that the view stands for, in the view's order, with how: ``raw``, ``hidden`` or a summary's id."""
    for segment in view.segments:
        match segment:
            case Raw(first=first, last=last):
                yield from ((seq, "raw") for seq in range(first, last + 1))
            case Hidden(first=first, last=last):
                yield from ((seq, "hidden") for seq in range(first, last + 1))
            case SummaryRef(id=id):
                yield from ((seq, id) for seq in messages_under(connection, key, id))
            case Tail(first=first):
                yield from ((seq, "raw") for seq in range(first, next_seq))


def coverage_problems(connection: Connection, key: ThreadKey, view: View, next_seq: int) -> list[str]:
    """Say which messages the view misses, repeats or invents; empty when it covers all of them exactly once."""
    times = bytearray(next_seq)
    problems: list[str] = []
    for seq, _how in covered_seqs(connection, key, view, next_seq):
        if not 1 <= seq < next_seq:
            problems.append(f"the view names a message that is not there, seq {seq}")
        elif times[seq]:
            problems.append(f"message seq {seq} is more than once in the view")
        else:
            times[seq] = 1
    missing = times.count(0) - 1
    if missing:
        problems.append(f"{missing} messages are in no segment of the view, the first is seq {times.index(0, 1)}")
    return problems
