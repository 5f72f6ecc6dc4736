"""``lossless restore``: back to a snapshot, or a message or summary shown in full again."""

from __future__ import annotations

from typing import Annotated

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import console, say, styled, write_json

__all__ = ["restore"]


def restore(
    thread: ThreadArgument,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="A snapshot's name, or the id of a message or summary.")],
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Go back to a snapshot, or show something in full again.

    Newer messages leave the view and stay in the store; `undo` takes it back.
    """
    with opened(url, namespace) as engine:
        changed = existing_thread(engine, thread).restore(what)
    if as_json:
        write_json({"thread": thread, "restored": changed})
    elif changed:
        console().print(styled("shown again: ", (what, "cyan")))
    else:
        say("it was shown so already")
