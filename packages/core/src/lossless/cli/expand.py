"""``lossless expand``: from a summary back to the messages under it."""

from __future__ import annotations

from typing import Annotated

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import say, write_json
from lossless.cli.showing import message_json, print_messages

__all__ = ["expand"]


def expand(
    thread: ThreadArgument,
    id: Annotated[str, typer.Argument(metavar="ID", help="Of a summary, or of a message.")],
    sources_only: Annotated[
        bool, typer.Option("--sources-only", help="Only what users said and tools answered, without the assistant's turns.")
    ] = False,
    offset: Annotated[int, typer.Option("--offset", metavar="N", min=0, help="How many to leave out at the start.")] = 0,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="How many to give at the most.")] = None,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Show the messages under a summary, verbatim.

    Or the one message behind a message's id. With --limit, next_cursor is the --offset of the next page; pages have neither
    gaps nor overlaps.
    """
    with opened(url, namespace) as engine:
        handle = existing_thread(engine, thread)
        more_than = None if limit is None else limit + 1
        found = handle.expand(id, sources_only=sources_only, offset=offset, limit=more_than)
    shown = found[:limit]
    more = str(offset + len(shown)) if len(found) > len(shown) else None
    if as_json:
        write_json({"thread": thread, "id": id, "items": [message_json(message) for message in shown], "next_cursor": more})
        return
    if not shown:
        say("there are no such messages")
    print_messages(shown)
    if more is not None:
        say(f"there are more: --offset {more}")
