"""``lossless snapshot``: a name for a thread as it is now; without a name, the names there are."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import console, number, say, styled, write_json

__all__ = ["snapshot"]


def snapshot(
    thread: ThreadArgument,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Unique in the thread; it never moves.")] = None,
    description: Annotated[str, typer.Option("--description", "-d", help="What it is.")] = "",
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="A tag; may be given several times.")] = None,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Name a thread as it is now.

    Without a name, the thread's snapshots are listed, the newest first.
    """
    with opened(url, namespace) as engine:
        handle = existing_thread(engine, thread)
        found = [handle.snapshot(name, description, tag or ())] if name is not None else handle.snapshots()
    if as_json:
        write_json(asdict(found[0]) if name is not None else {"items": [asdict(each) for each in found]})
        return
    for each in found:
        about = f", {each.description}" if each.description else ""
        console().print(styled((each.name, "cyan"), f"  up to seq {number(each.seq)}, {number(each.tokens)} tokens{about}"))
    if not found:
        say("there are no snapshots of this thread")
