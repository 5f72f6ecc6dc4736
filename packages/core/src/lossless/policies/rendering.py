"""The text of a note: the tag, items grouped by who said them, decisions, and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from lossless.policies.model import Decision, SourceItem
from lossless.policies.ranking import Sentence

__all__ = ["DECISIONS", "PROSE", "expandable", "heading", "render", "tags", "without_tag"]

DECISIONS = "Decisions and actions:"
PROSE = "Also said:"


def render(items: Sequence[SourceItem], decisions: Sequence[Decision], prose: Iterable[Sentence]) -> str:
    """Write a note without its tag: items in the order of their sources, each verbatim and once, then the rest."""
    lines = list(_grouped(items))
    if decisions:
        lines.append(DECISIONS)
        lines += [f"- {decision.role}: {decision.text}" for decision in decisions]
    said = sorted(prose, key=lambda sentence: sentence.place)
    if said:
        lines.append(PROSE)
        lines += [f"- {sentence.role}: {sentence.text}" if sentence.role else sentence.text for sentence in said]
    return "\n".join(lines)


def heading(item: SourceItem) -> str:
    """Give what stands in front of an item: ``user``, or the tool that answered and for what."""
    return item.origin or item.role


def tags(kept: int, total: int, ids: Sequence[str]) -> list[str]:
    """Give the ways to write that k of N items are kept and where the rest is, the most telling first, the shortest last."""
    written: list[str] = []
    if ids:
        where = ids[0] if ids[0] == ids[-1] else f"{ids[0]} … {ids[-1]}"
        written += [
            f"[{kept} of {total} source items kept; the rest: expand {where}]",
            f"[{kept} of {total} kept; expand {ids[0]}]",
        ]
    return [*written, f"[{kept} of {total} source items kept]", f"[{kept} of {total}]", f"{kept} of {total}"]


def without_tag(text: str) -> str:
    """Give a note's text without the tag in front of it."""
    return _TAG.sub("", text, count=1)


def expandable(text: str) -> list[str]:
    """Give the ids that the tag in front of a note names."""
    tag = _TAG.match(text)
    where = tag.group().partition("expand ")[2].strip(" ]\n") if tag else ""
    return [name for name in where.split(" … ") if name]


_TAG = re.compile(r"\[?\d{1,9} of \d{1,9}(?: (?:source items )?kept[^\]\n]{0,2000})?\]?(?:\n|$)")


def _grouped(items: Sequence[SourceItem]) -> Iterator[str]:
    written: set[str] = set()
    head = ""
    line: list[str] = []
    for item in items:
        if item.text in written:
            continue
        written.add(item.text)
        own = heading(item)
        if own != head and line:
            yield f"{head}: {'; '.join(line)}"
            line = []
        head = own
        line.append(item.text)
    if line:
        yield f"{head}: {'; '.join(line)}"
