"""Rendering what the engine itself writes into a context: summaries, the omission line, stubs.

All of it is quoted, escaped, untrusted data (invariant 14): text inside a frame can't close it. It is deterministic: the same
view gives the same bytes. Times have a fixed width, so that their token count doesn't depend on the clock.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime

from lossless.dag.summaries import Summary

__all__ = ["is_rendered_summary", "omission_text", "render_summary", "stub_text"]

_HEAD, _FOOT = "<summary ", "</summary>"
_FRAME = re.compile(r'\s*<summary id="(sum_[0-9a-f]{16})" kind="')


def render_summary(summary: Summary) -> str:
    """Render a summary in its frame: id, kind, depth, counts, time range, completeness when items were left out, and its text."""
    complete = f' complete="{summary.kept} of {summary.total}"' if summary.kept < summary.total else ""
    frame = (
        f'{_HEAD}id="{summary.id}" kind="{summary.kind}" depth="{summary.depth}" messages="{summary.messages}" '
        f'from="{_time(summary.earliest_at)}" to="{_time(summary.latest_at)}"{complete} trust="untrusted">'
    )
    return f"{frame}\n{_escape(summary.text)}\n{_FOOT}"


def is_rendered_summary(text: str) -> str | None:
    """Give the id of the summary that a text is a rendered copy of, or None.

    Whether that summary exists is for the caller to check.
    """
    found = _FRAME.match(text)
    return found.group(1) if found is not None and text.rstrip().endswith(_FOOT) else None


def omission_text(missing: int, first_id: str, last_id: str) -> str:
    """Say which messages are not shown: how many, from where to where, and how to get at them."""
    named = first_id if first_id == last_id else f"{first_id} … {last_id}"
    noun = "message" if missing == 1 else "messages"
    return f"[{missing} {noun} not shown, {_escape(named)}; nothing is lost: search with lcm_grep, read with lcm_expand]"


def stub_text(text: str, *, message_id: str, what: str, room: int) -> str:
    """Shorten a text that can't fit: its beginning and end, how much is left out, a hash, and how to get it back.

    Args:
        text: the whole text.
        message_id: the message that holds it.
        what: what it is, such as ``result of read_file``.
        room: how many characters of the text to keep.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    lines = text.count("\n") + 1
    head, tail = text[: room * 2 // 3], text[len(text) - room // 3 :] if room >= 3 else ""
    line = f'[shortened {what} · {lines} lines · {len(text)} chars · sha256:{digest}… · lcm_expand("{message_id}")]'
    return "\n".join(part for part in (head, line, tail) if part)


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%MZ")


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
