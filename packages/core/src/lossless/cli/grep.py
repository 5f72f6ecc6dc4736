"""``lossless grep``: search everything that was stored."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, CursorOption, LimitOption, NamespaceOption, UrlOption
from lossless.cli.output import console, moment, say, styled, write_json
from lossless.cli.showing import ROLE_STYLES

if TYPE_CHECKING:
    from lossless import Hit, Page

__all__ = ["grep"]

_TIMES = ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]


def grep(
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="What to look for; after -- if it begins with a dash.")],
    thread: Annotated[str | None, typer.Option("--thread", metavar="THREAD", help="Only in this thread.")] = None,
    mode: Annotated[
        Literal["exact", "words", "regex"],
        typer.Option(
            "--mode",
            help="A substring in any case; words (AND, OR, NOT, phrases, prefix*), ranked; or a pattern.",
        ),
    ] = "exact",
    regex: Annotated[bool, typer.Option("--regex", help="The same as --mode regex.")] = False,
    role: Annotated[
        list[str] | None, typer.Option("--role", metavar="ROLE", help="Only messages of this role; may be given several times.")
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option("--tool", metavar="NAME", help="Only calls of this tool and what it answered; may be given several times."),
    ] = None,
    since: Annotated[datetime | None, typer.Option("--since", formats=_TIMES, help="Only what was made then or later.")] = None,
    until: Annotated[datetime | None, typer.Option("--until", formats=_TIMES, help="Only what was made before.")] = None,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Search the messages of all threads, or of one.

    The newest come first, or the best where hits are ranked. Each names its thread, its message and the summary that covers
    it in the thread's view. Without a hit the exit code is 0 as well. Times are in UTC, as they are shown.
    """
    if regex and mode == "words":
        raise typer.BadParameter("--regex and --mode words contradict each other")
    with opened(url, namespace) as engine:
        if thread is not None:
            existing_thread(engine, thread)
        page = engine.grep(
            pattern,
            thread=thread,
            mode="regex" if regex else mode,
            role=role or None,
            tool=tool or None,
            since=_in_utc(since),
            until=_in_utc(until),
            limit=limit,
            cursor=cursor,
        )
    if as_json:
        hits = [dataclasses.asdict(hit) for hit in page]
        write_json({"items": hits, "next_cursor": page.next_cursor, "scanned": page.scanned})
        return
    _print(page)


def _in_utc(given: datetime | None) -> datetime | None:
    return given.replace(tzinfo=UTC) if given is not None and given.tzinfo is None else given


def _print(page: Page[Hit]) -> None:
    out = console()
    for hit in page:
        under = (f" under {hit.summary_id}", "dim") if hit.summary_id else ""
        said_by = (hit.role, ROLE_STYLES.get(hit.role, ""))
        when = (f" {moment(hit.created_at)}", "dim")
        out.print(
            styled((hit.thread_id, "bold"), " ", (hit.message_id, "bold cyan"), " ", said_by, when, under, f": {hit.snippet}")
        )
    if not page.items:
        say("nothing was found" if page.next_cursor is None else "nothing was found yet")
    if page.next_cursor:
        say(f"there may be more: --cursor {page.next_cursor}")
