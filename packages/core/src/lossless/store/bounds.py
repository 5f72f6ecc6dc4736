"""The bounds of a reach, as a condition on the entries of the search index."""

from __future__ import annotations

from lossless.store.keys import Reach

__all__ = ["within_bounds"]


def within_bounds(reach: Reach) -> tuple[str, dict[str, str | int]]:
    """Write the condition that leaves out what is above a bound; give it with its values, which are bound by name."""
    condition = "".join(f"AND (d.thread_id <> :thread_{n} OR d.seq <= :until_{n}) " for n in range(len(reach.bounds)))
    values: dict[str, str | int] = {}
    for n, (thread_id, until) in enumerate(reach.bounds):
        values |= {f"thread_{n}": thread_id, f"until_{n}": until}
    return condition, values
