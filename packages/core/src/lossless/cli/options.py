"""Arguments and options that several commands share, each stated once."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "AsJson",
    "CursorOption",
    "LimitOption",
    "ModelOption",
    "NamespaceOption",
    "ThreadArgument",
    "UrlOption",
    "WindowOption",
]

UrlOption = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="The database. [default: $LOSSLESS_URL, else sqlite:///lossless.db]"),
]
NamespaceOption = Annotated[str, typer.Option("--namespace", metavar="NAME", help="The tenant.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON document.")]
ThreadArgument = Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id; `threads` lists them.")]
WindowOption = Annotated[int | None, typer.Option("--window", metavar="TOKENS", min=1, help="The model's context window.")]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="A known model instead of its window; it also chooses the tokenizer."),
]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to give at the most.")]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="CURSOR", help="Where the page before ended: its next_cursor.")
]
