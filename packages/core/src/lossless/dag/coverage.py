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
    times: dict[int, int] = {}
    for seq, _how in covered_seqs(connection, key, view, next_seq):
        times[seq] = times.get(seq, 0) + 1
    problems = [f"message seq {seq} is {count} times in the view" for seq, count in sorted(times.items()) if count > 1]
    missing = [seq for seq in range(1, next_seq) if seq not in times]
    if missing:
        problems.append(f"{len(missing)} messages are in no segment of the view, the first is seq {missing[0]}")
    extra = [seq for seq in times if not 1 <= seq < next_seq]
    if extra:
        problems.append(f"the view names messages that are not there, the first is seq {min(extra)}")
    return problems
