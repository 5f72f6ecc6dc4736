"""Rendering what the engine itself writes into a context: summaries, the omission line, stubs.

All of it is quoted, escaped, untrusted data (invariant 14): text inside a frame can't close it. It is deterministic: the same
view gives the same bytes. Times have a fixed width, so that their token count doesn't depend on the clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from lossless.dag.summaries import Summary
from lossless.messages.model import Message
from lossless.messages.parts import Text
from lossless.store.contents import shortened_line
from lossless.store.times import from_stored

__all__ = [
    "is_engines_own",
    "is_rendered_summary",
    "late_result_text",
    "omission_text",
    "own_words",
    "recall_text",
    "render_summary",
    "stub_text",
]

_HEAD, _FOOT = "<summary ", "</summary>"
_FRAME = re.compile(r'\s*<summary id="(sum_[0-9a-f]{16})" kind="[^<>]*>[^<>]*</summary>\s*')
_OMISSION = re.compile(r"\[[0-9]+ messages? not shown, [^\n]*; nothing is lost: search with lcm_grep, read with lcm_expand\]")
_LATE_RESULT = re.compile(r'<late_result tool="[^"<>]*" call="[^"<>]*" message="[^"<>]*" trust="untrusted">[^<>]*</late_result>')
_RECALL = re.compile(r'<recall summary="sum_[0-9a-f]{16}" sources="[0-9]+ of [0-9]+" trust="untrusted">[^<>]*</recall>')
_OWN_LINES = (_OMISSION, _LATE_RESULT, _RECALL)


def render_summary(summary: Summary) -> str:
    """Render a summary in its frame: id, kind, depth, counts, time range, completeness when items were left out, and its text."""
    complete = f' complete="{summary.kept} of {summary.total}"' if summary.kept < summary.total else ""
    frame = (
        f'{_HEAD}id="{summary.id}" kind="{summary.kind}" depth="{summary.depth}" messages="{summary.messages}" '
        f'from="{_time(summary.earliest_at)}" to="{_time(summary.latest_at)}"{complete} trust="untrusted">'
    )
    return f"{frame}\n{_escape(summary.text)}\n{_FOOT}"


def late_result_text(text: str, *, tool: str, call_id: str, message_id: str) -> str:
    """Quote what a tool answered after its call was summarised or left out."""
    named = " ".join(
        f'{name}="{_attribute(value)}"' for name, value in (("tool", tool), ("call", call_id), ("message", message_id))
    )
    return f'<late_result {named} trust="untrusted">\n{_escape(text)}\n</late_result>'


def recall_text(summary_id: str, total: int, sources: Sequence[tuple[str, str, str]]) -> str:
    """Quote the sources of a summary, each given by id, role and text; ``total``: how many it has."""
    lines = "\n".join(f"[{_escape(id)} · {role}] {_escape(text)}" for id, role, text in sources)
    return f'<recall summary="{summary_id}" sources="{len(sources)} of {total}" trust="untrusted">\n{lines}\n</recall>'


def is_rendered_summary(text: str) -> str | None:
    """Give the id of the summary that a text is a rendered copy of, or None.

    Whether that summary exists is for the caller to check.
    """
    found = _FRAME.fullmatch(text)
    return found.group(1) if found is not None else None


def is_engines_own(text: str, known: Callable[[str], bool]) -> bool:
    """Tell whether a text is what the engine writes into contexts, come back: a line of its own, or a known summary."""
    if "<" not in text and not text.startswith("["):
        return False
    id = is_rendered_summary(text)
    return known(id) if id is not None else any(line.fullmatch(text) is not None for line in _OWN_LINES)


def own_words(message: Message) -> Message:
    """Give a message without what the engine wrote into it; it stands there where a provider's rules made neighbours one."""
    if message.role != "user":
        return message
    kept = tuple(part for part in message.parts if not (isinstance(part, Text) and is_engines_own(part.text, lambda _id: True)))
    return message if len(kept) == len(message.parts) else replace(message, parts=kept)


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
    head, tail = text[: room * 2 // 3], text[len(text) - room // 3 :] if room >= 3 else ""
    return "\n".join(part for part in (head, shortened_line(what, text, message_id), tail) if part)


def _time(stored: int) -> str:
    return f"{from_stored(stored):%Y-%m-%dT%H:%MZ}"


def _attribute(value: str) -> str:
    return _escape(value[:80]).replace('"', "&quot;").replace("\n", " ")


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
