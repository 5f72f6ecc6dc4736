"""``lossless compact``: compact a thread now."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from lossless.cli.opening import existing_thread, opened, window_or_default
from lossless.cli.options import AsJson, ModelOption, NamespaceOption, ThreadArgument, UrlOption, WindowOption
from lossless.cli.output import console, number, say, styled, write_json

__all__ = ["compact"]


def compact(
    thread: ThreadArgument,
    window: WindowOption = None,
    model: ModelOption = None,
    force: Annotated[bool, typer.Option("--force", help="Compact whatever can be, also below soft.")] = False,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Compact a thread now, if it is above soft.

    It is compacted down to the target; `undo` takes it back. Exits with 1 if the thread stays above hard.
    """
    size = window_or_default(window, model)
    with opened(url, namespace, window=size, model=model) as engine:
        result = existing_thread(engine, thread).compact(force)
    if as_json:
        write_json({"thread": thread, **dataclasses.asdict(result)})
    else:
        change = f"from {number(result.tokens_before)} to {number(result.tokens_after)} tokens"
        calls = f"{number(result.model_calls)} model calls"
        console().print(styled((result.status, "bold"), f": {change}, {calls}"))
        if result.summaries:
            console().print(styled("new summaries: ", (" ".join(result.summaries), "cyan")))
        if result.reason:
            say(result.reason)
    if result.status == "exhausted":
        raise typer.Exit(1)
