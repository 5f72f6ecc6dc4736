"""``lossless verify``: derive everything again and compare."""

from __future__ import annotations

from typing import Annotated

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, UrlOption
from lossless.cli.output import console, counted, styled, write_json

__all__ = ["verify"]


def verify(
    thread: Annotated[str | None, typer.Argument(metavar="THREAD", help="Only this thread.")] = None,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Derive everything again, and say what does not match.

    Every digest, chain and counter, every view, snapshot and summary, the search index, and what refers to what. Exits with 1 if
    anything does not match; `doctor` makes again what can be.
    """
    with opened(url, namespace) as engine:
        if thread is not None:
            existing_thread(engine, thread)
        report = engine.verify(thread)
    if as_json:
        facts = {"ok": report.ok, "threads": report.threads, "messages": report.messages, "problems": list(report.problems)}
        write_json(facts)
    else:
        out = console()
        for problem in report.problems:
            out.print(styled(("problem: ", "bold red"), problem))
        size = f"{counted(report.threads, 'thread')}, {counted(report.messages, 'message')}"
        verdict = ("ok", "bold green") if report.ok else (counted(len(report.problems), "problem"), "bold red")
        out.print(styled(verdict, f": {size}"))
    if not report.ok:
        raise typer.Exit(1)
