"""``lossless erase``: forget messages, or a whole thread, for good."""

from __future__ import annotations

from typing import Annotated

import typer

from lossless.cli.opening import opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import console, counted, say, styled, write_json

__all__ = ["erase"]


def erase(
    thread: ThreadArgument,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is recorded.")],
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Of the messages; none: the whole thread.")] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who asked for it. [default: you]")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Really erase: it can't be taken back.")] = False,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Erase messages for good.

    They go from every thread that has them, from views, snapshots, summaries and the index, and from the files. Backups are out
    of reach.
    """
    if not yes:
        what = counted(len(set(ids)), "message") if ids else "all messages"
        raise typer.BadParameter(f"this erases {what} of {thread} for good; say --yes to do it")
    with opened(url, namespace) as engine:
        done = engine.erase(thread, list(dict.fromkeys(ids)) if ids else None, reason=reason, by=by)
        pending = engine.purge() if done.pending else ()
    if as_json:
        stones = [
            {"message_id": each.message_id, "thread": each.thread_id, "seq": each.seq, "hash": each.hash}
            | {"reason": each.reason, "erased_at": each.erased_at}
            for each in done
        ]
        write_json({"thread": thread, "tombstones": stones, "threads": list(done.threads), "pending": list(pending)})
        return
    console().print(styled("erased: ", (counted(len(done), "message"), "cyan"), f" in {counted(len(done.threads), 'thread')}"))
    for what in pending:
        say(f"pending: {what}")
