"""``lossless compact``: compact a thread now."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from lossless.cli.opening import existing_thread, opened, window_or_default
from lossless.cli.options import AsJson, ModelOption, NamespaceOption, ThreadArgument, UrlOption, WindowOption
from lossless.cli.output import console, counted, number, say, styled, table, write_json

if TYPE_CHECKING:
    from lossless.compaction.foresight import CompactionPlan

__all__ = ["compact"]


def compact(
    thread: ThreadArgument,
    window: WindowOption = None,
    model: ModelOption = None,
    force: Annotated[bool, typer.Option("--force", help="Compact whatever can be, also below soft.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be compacted; no model is called.")] = False,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Compact a thread now, if it is above soft.

    It is compacted down to the target; `undo` takes it back. Exits with 1 if the thread stays above hard.
    """
    size = window_or_default(window, model)
    with opened(url, namespace, window=size, model=model) as engine:
        if dry_run:
            _tell(thread, existing_thread(engine, thread).plan(force), as_json)
            return
        result = existing_thread(engine, thread).compact(force)
    if as_json:
        write_json({"thread": thread, **dataclasses.asdict(result)})
    else:
        change = f"from {number(result.tokens_before)} to {number(result.tokens_after)} tokens"
        calls = counted(result.model_calls, "model call")
        console().print(styled((result.status, "bold"), f": {change}, {calls}"))
        if result.summaries:
            console().print(styled("new summaries: ", (" ".join(result.summaries), "cyan")))
        if result.reason:
            say(result.reason)
    if result.status == "exhausted":
        raise typer.Exit(1)


def _tell(thread: str, plan: CompactionPlan, as_json: bool) -> None:
    """Say what would be compacted."""
    if as_json:
        write_json({"thread": thread, **dataclasses.asdict(plan)})
        return
    change = f"{number(plan.tokens)} tokens, about {number(plan.tokens_after)} after"
    console().print(styled((f"{counted(len(plan.summaries), 'summary')} would be written", "bold"), f": {change}"))
    if plan.held:
        say(plan.held)
    rows = [
        (
            each.kind,
            number(each.depth),
            f"{each.first_id} … {each.last_id}",
            *map(number, (each.messages, each.tokens, each.about)),
        )
        for each in plan.summaries
    ]
    if rows:
        table(
            ("kind", "depth", "messages of", "messages", "tokens", "about"), rows, right=("depth", "messages", "tokens", "about")
        )
