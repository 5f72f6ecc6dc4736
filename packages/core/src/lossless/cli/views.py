"""``lossless views``: the views that a thread had."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import console, moment, number, styled, table, write_json

if TYPE_CHECKING:
    from lossless.dag.history import ViewDiff

__all__ = ["views"]


def views(
    thread: ThreadArgument,
    diff: Annotated[bool, typer.Option("--diff", help="Say what each changed.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="How many to give at the most.")] = None,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Show the views that a thread had.

    The newest comes first: when and why each was swung in.
    """
    with opened(url, namespace) as engine:
        found = existing_thread(engine, thread).views(limit, diff=diff)
    if as_json:
        write_json({"thread": thread, "items": [dataclasses.asdict(view) for view in found], "next_cursor": None})
        return
    if diff:
        for view in found:
            made = f"{view.why}{' (by hand)' if view.by_hand else ''}"
            console().print(styled((f"{number(view.generation)}  {view.view[:12]}", "bold"), f"  {made}, {moment(view.at)}"))
            for line in _lines(view.diff):
                console().print(f"    {line}")
        return
    rows = [
        (
            number(view.generation),
            view.view[:12],
            number(view.next_seq - 1),
            f"{view.why}{' (by hand)' if view.by_hand else ''}",
            moment(view.at),
        )
        for view in found
    ]
    table(("generation", "view", "messages", "why", "at"), rows, right=("generation", "messages"))


def _lines(diff: ViewDiff | None) -> list[str]:
    """Say what a view changed, a line for each kind of change."""
    if diff is None:
        return []
    found = [
        (f"- {name} {_named(ranges)}") for name, ranges in (("summarised", diff.summarised), ("hidden", diff.hidden)) if ranges
    ]
    found += [f"+ {name} {_named(ranges)}" for name, ranges in (("opened", diff.opened), ("shown", diff.shown)) if ranges]
    found += [f"- {id}" for id in diff.gone]
    return found + [f"+ {id}" for id in diff.summaries]


def _named(ranges: tuple[tuple[int, int], ...]) -> str:
    count = sum(last - first + 1 for first, last in ranges)
    seqs = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return f"{seqs} ({number(count)} {'message' if count == 1 else 'messages'})"
