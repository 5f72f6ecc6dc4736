"""The bounds of a reach, as a condition on the entries of the search index."""

from __future__ import annotations

from lossless.store.keys import Reach

__all__ = ["within_bounds"]


def within_bounds(reach: Reach) -> tuple[str, dict[str, str | int]]:
    """Write the condition that leaves out what is beyond a bound, and deleted threads; give it with its values by name."""
    condition = "".join(f"AND (d.thread_id <> :thread_{n} OR d.seq <= :until_{n}) " for n in range(len(reach.bounds)))
    values: dict[str, str | int] = {}
    for n, (thread_id, until) in enumerate(reach.bounds):
        values |= {f"thread_{n}": thread_id, f"until_{n}": until}
    if reach.threads is None:
        condition += _THERE
    elif reach.since > 1:
        whole = {f"whole_{n}": thread_id for n, thread_id in enumerate(reach.parts)}
        condition += f"AND (d.seq >= :since{''.join(f' OR d.thread_id = :{name}' for name in whole)}) "
        values |= {"since": reach.since, **whole}
    return condition, values


_THERE = (
    "AND EXISTS (SELECT 1 FROM lossless_head h WHERE h.namespace = :namespace AND h.thread_id = d.thread_id "
    "AND h.deleted_at IS NULL AND h.since <= d.seq) "
)
