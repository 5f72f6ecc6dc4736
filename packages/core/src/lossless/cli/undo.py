"""``lossless undo``: take back the newest move made by hand."""

from __future__ import annotations

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import console, say, styled, write_json

__all__ = ["undo"]


def undo(thread: ThreadArgument, url: UrlOption = None, namespace: NamespaceOption = "default", as_json: AsJson = False) -> None:
    """Take back the newest move made by hand.

    A compaction, a deletion or a restoration. Messages appended since stay.
    """
    with opened(url, namespace) as engine:
        handle = existing_thread(engine, thread)
        undone = handle.undo()
        moves = handle.views(limit=1)
    what = moves[0].why if undone and moves else None
    if as_json:
        write_json({"thread": thread, "undone": undone, "why": what})
    elif undone:
        console().print(styled("taken back: ", (what.removeprefix("undo ") if what else "a move", "bold")))
    else:
        say("there is nothing to take back")
