"""``lossless backup``: the whole database as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lossless.cli.opening import opened
from lossless.cli.options import AsJson, NamespaceOption, UrlOption
from lossless.cli.output import console, counted, number, styled, write_json

__all__ = ["backup"]


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup: a SQLite database.")],
    restore: Annotated[
        bool, typer.Option("--restore", help="Put FILE back into the database of --url, which must be empty.")
    ] = False,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Write a backup of the whole database, every namespace, while others write.

    FILE must not be there yet; it appears when it is complete. It is verified, and it is itself a database that --url can name.
    Exits with 1 if the copy does not verify.
    """
    with opened(url, namespace, create=restore) as engine:
        done = engine.restore_backup(file) if restore else engine.backup(file)
    if as_json:
        facts = {"file": done.path, "bytes": done.size, "threads": done.threads, "messages": done.messages}
        write_json({**facts, "ok": done.ok, "problems": list(done.report.problems)})
    else:
        out = console()
        for problem in done.report.problems:
            out.print(styled(("problem: ", "bold red"), problem))
        what = f"{counted(done.threads, 'thread')}, {counted(done.messages, 'message')}, {number(done.size)} bytes"
        out.print(styled(("restored from " if restore else "backed up to ", "bold"), (done.path, "cyan"), f": {what}"))
    if not done.ok:
        raise typer.Exit(1)
