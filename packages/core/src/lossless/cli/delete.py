"""``lossless delete``: take messages out of a thread's view."""

from __future__ import annotations

from typing import Annotated

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import console, say, styled, write_json

__all__ = ["delete"]


def delete(
    thread: ThreadArgument,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Of the messages.")],
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Take messages out of the view.

    With a tool call go its results. They stay in the store, and `undo` takes it back.
    """
    with opened(url, namespace) as engine:
        gone = existing_thread(engine, thread).delete(list(dict.fromkeys(ids)))
    if as_json:
        write_json({"thread": thread, "deleted": list(gone)})
    elif gone:
        console().print(styled("deleted from the view: ", (" ".join(gone), "cyan")))
    else:
        say("they were deleted before")
