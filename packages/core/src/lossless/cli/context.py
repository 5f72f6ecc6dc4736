"""``lossless context``: what a model would be shown, and what it costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lossless.cli.bar import Mark, Share, draw_bar, share
from lossless.cli.opening import existing_thread, opened, window_or_default
from lossless.cli.options import AsJson, ModelOption, NamespaceOption, ThreadArgument, UrlOption, WindowOption
from lossless.cli.output import console, first_words, number, say, styled, table, write_json
from lossless.cli.showing import message_text, payload_json

if TYPE_CHECKING:
    from lossless import ActiveContext, ContextItem, Engine, Thread
    from lossless.context.budget import Limits

__all__ = ["bar_width", "context", "marks_of", "pinned_ids", "shares_of"]

_PINNED = ("system", "developer")


def context(
    thread: ThreadArgument,
    window: WindowOption = None,
    model: ModelOption = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="Whose rules to meet: openai, anthropic or gemini. [default: the format's]",
        ),
    ] = None,
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="How the messages are written: openai or anthropic.")
    ] = "openai",
    overhead: Annotated[
        int, typer.Option("--overhead", metavar="TOKENS", min=0, help="What is sent beside it: a system prompt, tool schemas.")
    ] = 0,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Show the active context: what a model would be given.

    First what it costs, drawn to scale, then item by item. --json also gives the rendered messages.
    """
    size = window_or_default(window, model)
    with opened(url, namespace, window=size, model=model) as engine:
        handle = existing_thread(engine, thread)
        found = handle.context(overhead=overhead, profile=profile, format=format)
        limits = engine.require_budget().adjusted(overhead=overhead).limits(engine.margin)
        pinned = pinned_ids(handle, found.items)
        texts = {} if as_json else _texts(handle, found.items)
        facts = _facts(thread, engine, found, limits, overhead) if as_json else {}
    if as_json:
        write_json(facts)
    else:
        _show(found, limits, pinned, texts)


def pinned_ids(thread: Thread, items: tuple[ContextItem, ...]) -> set[str]:
    """Give the ids of the leading system and developer messages."""
    found: set[str] = set()
    for item in items:
        if item.kind != "message" or thread.describe(item.id)["role"] not in _PINNED:
            break
        found.add(item.id)
    return found


def shares_of(context: ActiveContext, pinned: set[str]) -> list[Share]:
    """Sum up a context's tokens by what they are spent on, in the order in which they are drawn."""
    spent = dict.fromkeys(("pinned", "summaries", "messages", "stubs", "recall", "omission"), 0)
    names = {"recall": "recall", "summary": "summaries", "stub": "stubs", "omission": "omission"}
    for item in context.items:
        spent["pinned" if item.id in pinned else names.get(item.kind, "messages")] += item.tokens
    # Repairs may add messages or take some away.
    spent["messages"] = max(0, context.tokens - sum(tokens for name, tokens in spent.items() if name != "messages"))
    return [share(name, tokens) for name, tokens in spent.items() if tokens]


def marks_of(limits: Limits) -> list[Mark]:
    """Give the thresholds of a budget, by rising tokens."""
    found = (("target", limits.target), ("soft", limits.soft), ("hard", limits.hard))
    return [Mark(name=name, tokens=tokens) for name, tokens in found]


def bar_width(columns: int) -> int:
    """Give how wide a bar is drawn where ``columns`` characters fit into a line."""
    return max(10, min(columns - 1, 100))


def _texts(thread: Thread, items: tuple[ContextItem, ...]) -> dict[str, str]:
    """Give what to show of each item: of a summary what stands in its frame, of a message its calls, too."""
    found: dict[str, str] = {}
    for item in items:
        if item.kind == "summary":
            found[item.id] = item.text.partition("\n")[2]
        elif item.kind == "message" and not item.text.strip():
            found[item.id] = message_text(thread.expand(item.id)[0], call_ids=False)
        else:
            found[item.id] = item.text
    return found


def _show(context: ActiveContext, limits: Limits, pinned: set[str], texts: Mapping[str, str]) -> None:
    out = console()
    ascii_only = out.options.ascii_only
    full = max(limits.hard, context.tokens, 1)
    for line in draw_bar(
        shares_of(context, pinned), marks_of(limits), full=full, width=bar_width(min(out.width, 81)), ascii_only=ascii_only
    ):
        out.print(line)
    shown = f"{number(context.represented)} of {number(context.total)} messages represented"
    percent = f"{100 * context.tokens / limits.hard:.0f} % of hard" if limits.hard else "no room"
    out.print(styled((context.status, "bold"), f": {number(context.tokens)} tokens ({percent}), {shown}"))
    if context.reason:
        say(context.reason)
    out.print()
    rows = [
        (
            "pinned" if item.id in pinned else item.kind,
            item.id,
            _seqs(item),
            number(item.messages),
            number(item.tokens),
            first_words(texts[item.id]),
        )
        for item in context.items
    ]
    if rows:
        table(("kind", "id", "seqs", "covers", "tokens", "text"), rows, right=("seqs", "covers", "tokens"), cut="text")


def _seqs(item: ContextItem) -> str:
    return str(item.first_seq) if item.first_seq == item.last_seq else f"{item.first_seq}-{item.last_seq}"


def _plain(value: Any) -> Any:
    from lossless.messages import encode

    return payload_json(encode(value))


def _facts(thread: str, engine: Engine, context: ActiveContext, limits: Limits, overhead: int) -> dict[str, Any]:
    return {
        "thread": thread,
        "status": context.status,
        "reason": context.reason,
        "tokens": context.tokens,
        "window": engine.require_budget().window,
        "overhead": overhead,
        "hard": limits.hard,
        "soft": limits.soft,
        "target": limits.target,
        "represented": context.represented,
        "total": context.total,
        "view": context.view,
        "items": [dataclasses.asdict(item) for item in context.items],
        "system": None if context.system is None else _plain(context.system),
        "messages": [_plain(message) for message in context.messages],
        "repairs": [dataclasses.asdict(repair) for repair in context.repairs],
    }
