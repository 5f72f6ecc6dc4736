"""Retention: which checkpoints of a thread stay when old ones go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lossless.checkpoints import Outline, Place, Thinned
from lossless.errors import ConfigError
from lossless_langgraph.removing import newest_of_each

__all__ = ["Looks", "Retained", "Rule", "checked_rule", "summed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """What a retention removed, or would.

    Attributes:
        threads: the threads that lost checkpoints.
        checkpoints: how many checkpoints went.
        hidden: how many are no longer listed, but stay since the state of others is made from them.
        writes: how many pending writes went.
        parts: how many pieces of content went, which nothing was made of any more.
        bytes: bytes of content that went from the database; less than none where a thread got rows of its own that it had shared.
        dry_run: whether it was only counted.
    """

    threads: tuple[str, ...]
    checkpoints: int
    hidden: int
    writes: int
    parts: int
    bytes: int
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """What a rule may look up about a checkpoint, if it has to."""

    parents: Callable[[Outline], dict[str, str]]
    made_at: Callable[[Place], datetime | None]
    waits: Callable[[Place], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which checkpoints stay: the newest so many of each namespace, and those that are young enough; None: this keeps none."""

    keep_last: int | None
    since: datetime | None

    def kept(self, outlines: Sequence[Outline], looks: Looks) -> set[Place]:
        """Give the checkpoints that stay.

        Besides those that the rule names: the newest of each namespace, and those that wait at an interrupt with nothing after
        them. A sub-graph that ran once stays only with the checkpoint of the root graph that it ran after.
        """
        shown = [one for one in outlines if not one.hidden]
        parents = {(one.place.checkpoint_ns, one.parent) for one in shown}
        newest = newest_of_each(shown)
        last = {one.place for group in _by_namespace(shown) for one in group[: self.keep_last or 0]}
        kept = set[Place]()
        for one in shown:
            place = one.place
            ends = (place.checkpoint_ns, place.checkpoint_id) not in parents
            if place in newest or place in last or self._is_young(place, looks) or (ends and looks.waits(place)):
                kept.add(place)
        roots = {place.checkpoint_id for place in (one.place for one in shown) if not place.checkpoint_ns}
        gone = roots - {place.checkpoint_id for place in kept}
        by_place, newest_root = {one.place: one for one in shown}, max(roots, default="")

        def belongs(place: Place) -> bool:
            root = looks.parents(by_place[place]).get("") if ":" in place.checkpoint_ns else None
            # One that is not there may not be stored yet, if it is newer than all that are; else it was removed before.
            return root is None or (root not in gone if root in roots else root > newest_root)

        return {place for place in kept if belongs(place)}

    def _is_young(self, place: Place, looks: Looks) -> bool:
        if self.since is None:
            return False
        made_at = looks.made_at(place)
        return made_at is None or made_at >= self.since


def checked_rule(keep_last: int | None, older_than: timedelta | None, now: datetime | None = None) -> Rule:
    """Give the rule of what a caller asked for.

    Raises:
        ConfigError: it asks for nothing, or for what can't be.
    """
    if keep_last is None and older_than is None:
        raise ConfigError("nothing says what may go", hint="give keep_last= (a number), older_than= (a timedelta), or both")
    if keep_last is not None and (type(keep_last) is not int or keep_last < 1):
        raise ConfigError(f"keep_last={keep_last!r:.50} is not a number of checkpoints", hint="give a whole number from 1")
    if older_than is not None and (not isinstance(older_than, timedelta) or older_than < timedelta(0)):
        raise ConfigError(f"older_than={older_than!r:.50} is not an age", hint="give a datetime.timedelta that is not negative")
    return Rule(keep_last=keep_last, since=None if older_than is None else (now or datetime.now(UTC)) - older_than)


def summed(thinned: Mapping[str, Thinned], *, dry_run: bool) -> Retained:
    """Sum up what was removed of each thread."""
    done = thinned.values()
    return Retained(
        threads=tuple(thread_id for thread_id, one in thinned.items() if one.checkpoints or one.hidden),
        checkpoints=sum(one.checkpoints for one in done),
        hidden=sum(one.hidden for one in done),
        writes=sum(one.writes for one in done),
        parts=sum(one.parts for one in done),
        bytes=sum(one.bytes for one in done),
        dry_run=dry_run,
    )


def _by_namespace(outlines: Iterable[Outline]) -> list[list[Outline]]:
    """Give the checkpoints of each namespace, the newest first."""
    groups: dict[str, list[Outline]] = {}
    for one in outlines:
        groups.setdefault(one.place.checkpoint_ns, []).append(one)
    return [sorted(group, key=lambda one: one.place.checkpoint_id, reverse=True) for group in groups.values()]
