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
        condition += "AND d.seq >= :since "
        values["since"] = reach.since
    return condition, values


_THERE = (
    "AND EXISTS (SELECT 1 FROM lossless_head h WHERE h.namespace = :namespace AND h.thread_id = d.thread_id "
    "AND h.deleted_at IS NULL AND h.since <= d.seq) "
)
