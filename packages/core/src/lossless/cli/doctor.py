"""``lossless doctor``: make again what can be derived, and name what can't."""

from __future__ import annotations

from typing import Annotated

import typer

from lossless.cli.opening import opened
from lossless.cli.options import AsJson, ModelOption, NamespaceOption, UrlOption, WindowOption
from lossless.cli.output import console, counted, say, styled, write_json

__all__ = ["doctor"]


def doctor(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be mended.")] = False,
    window: WindowOption = None,
    model: ModelOption = None,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Make again what can be derived, and name what can't.

    Heads and their counters, views, the search index; with --window or --model also summaries that were written while a model
    failed. What was stored once is never edited. Exits with 1 if something is left that does not match.
    """
    with opened(url, namespace, window=window, model=model) as engine:
        found = engine.doctor(dry_run)
    if as_json:
        write_json(
            {
                "ok": found.ok,
                "dry_run": dry_run,
                "mended": found.mended,
                "left": list(map(str, found.left)),
                "degraded": [{"thread": thread, "summary": id} for thread, id in found.degraded],
            }
        )
    else:
        out = console()
        for each in found.mended:
            out.print(styled(("would be mended: " if dry_run else "mended: ", "bold"), each))
        for finding in () if dry_run else found.left:
            out.print(styled(("left: ", "bold red"), str(finding)))
        for thread, id in found.degraded:
            out.print(styled(("degraded: ", "bold"), f"summary {id} of thread {thread}"))
        if found.degraded and window is None and model is None:
            say("give --window or --model to have degraded summaries made again")
        verdict = ("ok", "bold green") if found.ok else (counted(len(found.left), "problem"), "bold red")
        out.print(styled(verdict))
    if not found.ok:
        raise typer.Exit(1)
