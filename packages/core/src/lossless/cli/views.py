"""``lossless views``: the views that a thread had."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import moment, number, table, write_json

__all__ = ["views"]


def views(
    thread: ThreadArgument,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="How many to give at the most.")] = None,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Show the views that a thread had.

    The newest comes first: when and why each was swung in.
    """
    with opened(url, namespace) as engine:
        found = existing_thread(engine, thread).views(limit)
    if as_json:
        write_json({"thread": thread, "items": [dataclasses.asdict(view) for view in found], "next_cursor": None})
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
