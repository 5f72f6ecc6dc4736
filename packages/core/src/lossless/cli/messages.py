"""``lossless messages``: the messages of a thread, verbatim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import say, write_json
from lossless.cli.showing import message_json, print_messages

if TYPE_CHECKING:
    from lossless import Engine, Message, Thread

__all__ = ["messages"]

_FEWEST = 200


def messages(
    thread: ThreadArgument,
    start: Annotated[int, typer.Option("--start", metavar="SEQ", min=1, help="The first seq.")] = 1,
    stop: Annotated[int | None, typer.Option("--stop", metavar="SEQ", min=1, help="Where to end; exclusive.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Also those deleted from the view or replaced, marked.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="How many to give at the most.")] = None,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Show the messages of a thread, verbatim.

    The oldest comes first. --json gives each payload as it was stored. With --limit, next_cursor is the --start of the next page.
    """
    with opened(url, namespace) as engine:
        handle = existing_thread(engine, thread)
        if limit is None:
            found, more = handle.messages(start, stop, deleted), None
        else:
            found, more = _page(engine, handle, start, stop, deleted, limit)
    if as_json:
        write_json({"thread": thread, "items": [message_json(message) for message in found], "next_cursor": more})
        return
    if not found:
        say("there are no such messages")
    print_messages(found)
    if more is not None:
        say(f"there are more: --start {more}")


def _page(
    engine: Engine, thread: Thread, start: int, stop: int | None, deleted: bool, limit: int
) -> tuple[list[Message], str | None]:
    """Give at most ``limit`` messages and the seq to go on from, without reading the whole thread."""
    from lossless.cli.opening import thread_info

    info = thread_info(engine, thread.id)
    end = (info.messages if info is not None else 0) + 1
    end = end if stop is None else min(stop, end)
    found: list[Message] = []
    while start < end:
        until = min(end, start + max(limit, _FEWEST))
        window = sorted(thread.messages(start, until, deleted), key=lambda message: message.seq)
        taken = window[: limit - len(found)]
        found += taken
        if len(found) == limit:
            after = taken[-1].seq + 1
            return found, str(after) if after < end else None
        start = until
    return found, None
