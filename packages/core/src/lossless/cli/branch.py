"""``lossless branch``: a thread that begins with another one's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import console, counted, styled, write_json

if TYPE_CHECKING:
    from lossless import Thread

__all__ = ["branch"]


def branch(
    thread: ThreadArgument,
    at: Annotated[
        str | None, typer.Option("--at", metavar="WHAT", help="A snapshot, a message's id or a seq; default: now.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NEW", help="The new thread's id; default: one is made up.")
    ] = None,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Begin a thread with the messages of another one.

    Nothing is copied, and either goes its own way from there.
    """
    with opened(url, namespace) as engine:
        handle = existing_thread(engine, thread)
        new = handle.branch(at=_place(handle, at), thread_id=name)
        count = len(new.messages())
    if as_json:
        write_json({"thread": new.id, "from": thread, "messages": count})
    else:
        console().print(styled((new.id, "cyan"), f"  {counted(count, 'message')} from {thread}"))


def _place(thread: Thread, at: str | None) -> str | int | None:
    """Read ``--at``: digits are a seq, unless a snapshot has that name."""
    if at is None or not at.isdecimal() or any(snapshot.name == at for snapshot in thread.snapshots()):
        return at
    return int(at)
