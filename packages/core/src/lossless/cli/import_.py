"""``lossless import``: conversations from files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lossless.cli.opening import opened
from lossless.cli.options import AsJson, ModelOption, NamespaceOption, UrlOption, WindowOption
from lossless.cli.output import console, counted, number, styled, write_json

if TYPE_CHECKING:
    from lossless.cli.importing import Imported, Problem

__all__ = ["import_"]


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="JSON or JSONL, packed with gzip or not.")],
    format: Annotated[
        Literal["auto", "openai", "anthropic"], typer.Option("--format", help="Whose messages they are; auto looks at each.")
    ] = "auto",
    thread: Annotated[
        str | None,
        typer.Option("--thread", metavar="ID", help="The thread's id. [default: the conversation's name, else the file's]"),
    ] = None,
    window: WindowOption = None,
    model: ModelOption = None,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Import conversations from files.

    A file is a thread, or a line is in a JSONL of whole conversations. What is stored already is not stored again. A thread
    that holds another conversation of the same name is left alone: the new one gets the next free name, such as log-2; only
    --thread adds to what is there. With --window or --model, threads are compacted while they are imported.

    What can't be read is reported with its line and skipped; then the exit code is 1.
    """
    from lossless.cli.importing import Importer, readable_files

    problems: list[Problem] = []
    paths = readable_files(files, problems)
    done: list[Imported] = []
    if paths:
        from lossless.store.keys import checked_name

        base = None if thread is None else checked_name(thread, "a thread id")
        with opened(url, namespace, window=window, model=model, create=True) as engine:
            importer = Importer(engine, format=format, base=base, problems=problems)
            done = importer.run(paths)
    summary = _summary(done, problems)
    if as_json:
        write_json(summary)
    else:
        _print_summary(summary)
    if problems:
        raise typer.Exit(1)


def _summary(done: list[Imported], problems: list[Problem]) -> dict[str, Any]:
    return {
        "threads": [{"id": one.thread_id, "file": str(one.path), "added": one.added, "tokens": one.tokens} for one in done],
        "added": sum(one.added for one in done),
        "tokens": sum(one.tokens for one in done),
        "skipped": len(problems),
        "problems": [{"file": str(one.path), "line": one.line, "reason": one.reason} for one in problems],
    }


def _print_summary(summary: dict[str, Any]) -> None:
    count = len(summary["threads"])
    touched = counted(count, "thread")
    if count and count <= 3:
        touched += f" ({', '.join(one['id'] for one in summary['threads'])})"
    console().print(
        styled(
            f"{touched}: {counted(summary['added'], 'message')} added, {counted(summary['tokens'], 'token')}, ",
            (f"{number(summary['skipped'])} skipped", "bold red" if summary["skipped"] else ""),
        )
    )
