"""``lossless threads``: what the database holds."""

from __future__ import annotations

import dataclasses

from lossless.cli.opening import opened
from lossless.cli.options import AsJson, CursorOption, LimitOption, NamespaceOption, UrlOption
from lossless.cli.output import moment, number, say, table, write_json

__all__ = ["threads"]


def threads(
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """List the threads, the one appended to last first."""
    with opened(url, namespace) as engine:
        page = engine.threads(limit=limit, cursor=cursor)
    if as_json:
        write_json({"items": [dataclasses.asdict(thread) for thread in page], "next_cursor": page.next_cursor})
        return
    if not page.items:
        say("there are no threads")
        return
    table(
        ("thread", "messages", "tokens", "format", "last appended to"),
        [(one.id, number(one.messages), number(one.tokens), one.format, moment(one.updated_at)) for one in page],
        right=("messages", "tokens"),
    )
    if page.next_cursor:
        say(f"there are more: --cursor {page.next_cursor}")
