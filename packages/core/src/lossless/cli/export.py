"""``lossless export``: the messages of a thread in their own format."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import counted, say, write_json
from lossless.errors import ConfigError, ExistsError

__all__ = ["export"]

FORMATS = ("own",)


def export(
    thread: ThreadArgument,
    format: Annotated[str, typer.Option("--format", metavar="FORMAT", help="own: as they were given, a line each.")] = "own",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; else to stdout.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Also those deleted from the view or replaced.")] = False,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Write the messages of a thread as they were given, one JSON value a line.

    `import` reads it back. FILE must not be there yet, and appears when it is complete. --json, with -o, says what was written.
    """
    if format not in FORMATS:
        raise ConfigError(f"the export format {format!r} is not known", hint=f"one of {', '.join(FORMATS)}")
    if as_json and output is None:
        raise ConfigError("--json would stand between the messages", hint="give a file with -o")
    if output is not None and output.exists():
        raise ExistsError(f"{output} is there already", hint="give another name")
    from lossless.versions.exporting import exported

    with opened(url, namespace) as engine:
        existing_thread(engine, thread)
        lines = exported(engine.database, engine.key_of(thread), engine.views, engine.reader, deleted=deleted)
        if output is None:
            for line in lines:
                sys.stdout.buffer.write(line + b"\n")
            return
        count = _write(output, lines)
    if as_json:
        write_json({"thread": thread, "file": str(output), "messages": count})
    else:
        say(f"{counted(count, 'message')} written to {output}")


def _write(output: Path, lines: Iterator[bytes]) -> int:
    """Write lines to a file that has its name only when it is complete; give how many."""
    draft = output.with_name(f".{output.name}.draft")
    count = 0
    try:
        with draft.open("wb") as file:
            for line in lines:
                file.write(line + b"\n")
                count += 1
        draft.rename(output)
    finally:
        draft.unlink(missing_ok=True)
    return count
