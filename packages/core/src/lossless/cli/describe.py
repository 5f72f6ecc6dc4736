"""``lossless describe``: what a summary, a message or a snapshot is."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from lossless.cli.opening import existing_thread, opened
from lossless.cli.options import AsJson, NamespaceOption, ThreadArgument, UrlOption
from lossless.cli.output import console, moment, number, pairs, visible, write_json

__all__ = ["describe"]


def describe(
    thread: ThreadArgument,
    id: Annotated[str, typer.Argument(metavar="ID", help="Of a summary, a message or a snapshot.")],
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Describe a summary, a message or a snapshot.

    Its kind, tokens, sources, parents, depth, completeness and more.
    """
    with opened(url, namespace) as engine:
        facts = existing_thread(engine, thread).describe(id)
    if as_json:
        write_json(facts)
        return
    out = console()
    pairs((name.replace("_", " "), _in_words(value)) for name, value in facts.items() if name != "text")
    if "text" in facts:
        out.print()
        out.print(visible(str(facts["text"]), lines=True), soft_wrap=True)


def _in_words(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int():
            return number(value)
        case datetime():
            return moment(value)
        case {"kept": kept, "total": total}:
            return f"{kept} of {total} source items"
        case list() | tuple():
            return " ".join(map(str, value)) or "none"
        case _:
            return str(value)
