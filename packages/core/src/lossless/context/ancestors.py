"""Ancestors: when a budget can't hold a view, summaries that exist above what it holds stand in for it, the shallowest first.

They are there after a compaction was taken back, a summary was opened again or an earlier view was restored. Only what stands in
the view as it stood under the ancestor is covered by it, so nothing that was removed since comes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lossless.context.entries import newest_request
from lossless.context.pieces import Scene
from lossless.dag.opening import ref_to
from lossless.dag.segments import Raw, SummaryRef, Tail
from lossless.dag.splice import Source, Splice
from lossless.dag.summaries import Summary, directly_over, load_summaries, messages_under, parents_of, sources_of
from lossless.dag.view import View
from lossless.errors import CorruptError
from lossless.store.read import facts_of

__all__ = ["with_ancestors"]

_MOST = 64
"""Ancestors in a context at the most; each costs a few queries."""


def with_ancestors(scene: Scene, room: int, total_tokens: int) -> Scene:
    """Give the scene with ancestors in the places of what they cover, as many as it takes to fit ``room`` tokens."""
    request = newest_request(scene.connection, scene.key, scene.view, scene.next_seq)
    kept = request[1].seq if request is not None else 0
    view = scene.view
    for _time in range(_MOST):
        if view.tokens(total_tokens) <= room:
            break
        found = next(_covering(replace(scene, view=view), kept), None)
        if found is None:
            break
        view = found
    return scene if view is scene.view else replace(scene, view=view)


def _covering(scene: Scene, kept: int) -> Iterator[View]:
    """Give views in which one ancestor more stands for its sources, the shallowest and oldest ancestor first."""
    candidates: list[tuple[int, int, str]] = []
    for number, segment in enumerate(scene.view.segments):
        if isinstance(segment, (Raw, Tail)) and segment.first < scene.next_seq:
            above = directly_over(scene.connection, scene.key, segment.first)
        elif isinstance(segment, SummaryRef):
            above = parents_of(scene.connection, scene.key, segment.id)
        else:
            continue
        for id in above:
            summary = _loaded(scene, id)
            if summary is not None and not summary.degraded:
                candidates.append((summary.depth, number, id))
    for _depth, _number, id in sorted(set(candidates)):
        view = _spliced(scene, id)
        if view is not None and kept not in messages_under(scene.connection, scene.key, id):
            yield view


def _loaded(scene: Scene, id: str) -> Summary | None:
    """Load a summary; a damaged one stands in for nothing."""
    try:
        return load_summaries(scene.connection, scene.key, [id])[id]
    except CorruptError:
        return None


def _spliced(scene: Scene, id: str) -> View | None:
    names = sources_of(scene.connection, scene.key, id)
    seqs = [name for name in names if isinstance(name, int)]
    facts = {fact.seq: fact for fact in facts_of(scene.connection, scene.key, seqs)}
    below = load_summaries(scene.connection, scene.key, [name for name in names if isinstance(name, str)])
    sources = tuple(
        ref_to(below[name]) if isinstance(name, str) else Source(name, facts[name].tokens, facts[name].total_tokens)
        for name in names
    )
    summary = load_summaries(scene.connection, scene.key, [id])[id]
    return Splice(ref_to(summary), sources).apply(scene.view) if sources else None
