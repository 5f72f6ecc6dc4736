"""The recall tools: search, describe, expand; capped in tokens, in pages that have neither gaps nor overlaps.

Their results are recognised by the tools' names and are never summarised as sources again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from lossless.errors import QueryError
from lossless.messages import Message, searchable
from lossless.store.search import Mode
from lossless.thread import Thread
from lossless.tokens import TokenCounter
from lossless.tools.tool import RecallTool

__all__ = ["recall_tools"]

_TEXT: dict[str, Any] = {"type": "string"}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_MESSAGES = 200
"""Messages in a page at the most, however short they are."""


def recall_tools(
    thread: Thread, *, counter: TokenCounter, allow_expand: bool = False, max_tokens: int = 4_000
) -> list[RecallTool]:
    """Make the recall tools of a thread.

    Args:
        thread: the thread that they look into.
        counter: counts what they answer.
        allow_expand: whether summaries may be expanded, which can be long: for sub-agents rather than for the agent itself.
        max_tokens: what an answer may have at the most.
    """

    recall = _Recall(thread, counter, allow_expand, max_tokens)
    reading = "of a message or stub by its id" + (", or of all messages under a summary." if allow_expand else ".")
    return [
        _tool(
            "lcm_grep",
            "Search everything that was ever said in this conversation, also what is no longer shown. Gives message ids. "
            "since and until: UTC, such as 2026-01-31 or 2026-01-31 17:30.",
            {
                "pattern": _TEXT,
                "mode": {**_TEXT, "enum": ["exact", "words", "regex"]},
                "role": {**_TEXT, "enum": ["system", "user", "assistant", "tool"]},
                "tool": _TEXT,
                "since": _TEXT,
                "until": _TEXT,
                "limit": _COUNT,
                "cursor": _TEXT,
            },
            recall.grep,
        ),
        _tool(
            "lcm_describe",
            "Describe a summary (sum_…) or a message by its id: what it covers, how long it is, what it was made from.",
            {"id": _TEXT},
            recall.describe,
        ),
        _tool(
            "lcm_expand",
            f"Read the original, word for word: {reading}",
            {"id": _TEXT, "offset": _COUNT, "from_character": _COUNT, "sources_only": {"type": "boolean"}},
            recall.expand,
        ),
    ]


class _Recall:
    """What the tools do, for one thread."""

    def __init__(self, thread: Thread, counter: TokenCounter, allow_expand: bool, max_tokens: int) -> None:
        self._thread = thread
        self._counter = counter
        self._allow_expand = allow_expand
        self._max_tokens = max_tokens

    def grep(
        self,
        pattern: str,
        mode: Mode = "exact",
        role: str | None = None,
        tool: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> str:
        page = self._thread.grep(
            pattern,
            mode=mode,
            role=role or None,
            tool=tool or None,
            since=_moment(since),
            until=_moment(until),
            limit=max(1, min(limit, 50)),
            cursor=cursor or None,
        )
        lines = [
            f"{hit.message_id} · {hit.role} · {hit.created_at:%Y-%m-%d %H:%M}"
            + (f" · under {hit.summary_id}" if hit.summary_id else "")
            + f": {hit.snippet}"
            for hit in page
        ]
        more = f'There is more: cursor="{page.next_cursor}"' if page.next_cursor else ""
        return self._capped(lines or [f"Nothing found in {page.scanned} messages that were looked at."], more)

    def describe(self, id: str) -> str:
        return self._capped([f"{name}: {_plain(value)}" for name, value in self._thread.describe(id).items()], "")

    def expand(self, id: str, offset: int = 0, from_character: int = 0, sources_only: bool = False) -> str:
        if id.startswith("sum_") and not self._allow_expand:
            about = self._thread.describe(id)
            return (
                f"{id} stands for {about['messages']} messages with {about['source_tokens']} tokens, too many to be put here. "
                "Search them with lcm_grep, then expand single messages by their ids."
            )
        messages = self._thread.expand(id, sources_only=sources_only, offset=offset, limit=_MESSAGES)
        return _page(messages, id, offset, from_character, self._counter, self._max_tokens)

    def _capped(self, lines: list[str], more: str) -> str:
        return _capped(lines, more, self._counter, self._max_tokens)


def _moment(written: str | None) -> datetime | None:
    """Read a time as a model writes it; the ones that it sees are in UTC.

    Raises:
        QueryError: it is none.
    """
    if not written:
        return None
    try:
        moment = datetime.fromisoformat(written.strip())
    except ValueError:
        raise QueryError(f"{written!r} is no time", hint="write it as 2026-01-31 or 2026-01-31 17:30") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _tool(name: str, description: str, properties: dict[str, Any], run: Callable[..., str]) -> RecallTool:
    first = next(iter(properties))
    schema = {"type": "object", "properties": properties, "required": [first], "additionalProperties": False}
    return RecallTool(name=name, description=description, parameters=schema, run=run)


def _capped(lines: list[str], more: str, counter: TokenCounter, max_tokens: int) -> str:
    """Join whole lines while they fit; a single line that can't is cut."""
    room = max_tokens - counter.count(more) - 24
    kept: list[str] = []
    for line in lines:
        room -= counter.count(line) + 1
        if room < 0:
            left_out = len(lines) - len(kept)
            kept.append(f"({left_out} more lines, left out for their length)" if kept else _cut(line, max_tokens - 24, counter))
            break
        kept.append(line)
    return "\n".join([*kept, more] if more else kept)


def _page(messages: list[Message], id: str, offset: int, from_character: int, counter: TokenCounter, max_tokens: int) -> str:
    """Write messages while they fit, and say how to go on; a message that is too long goes on within itself."""
    room = max_tokens - 64
    written: list[str] = []
    for number, message in enumerate(messages):
        start = from_character if number == 0 else 0
        text = searchable(message.parts)[start:]
        head = f"[{message.id} · {message.role} · {message.created_at:%Y-%m-%d %H:%M}]"
        cost = counter.count(head) + counter.count(text) + 4
        if cost > room and written:
            return "\n".join([*written, f'There is more: lcm_expand("{id}", offset={offset + number})'])
        if cost > room:
            part = _cut(text, room - counter.count(head) - 4, counter)
            place = start + len(part)
            return "\n".join([head, part, f'There is more: lcm_expand("{id}", offset={offset}, from_character={place})'])
        written.append(f"{head}\n{text}")
        room -= cost
    if len(messages) == _MESSAGES:
        written.append(f'There is more: lcm_expand("{id}", offset={offset + _MESSAGES})')
    return "\n".join(written) or "There are no messages there."


def _cut(text: str, tokens: int, counter: TokenCounter) -> str:
    """Give the longest start of a text, to within a few per cent, that has at most so many tokens; one character at least."""
    length = len(text)
    while length > 1 and counter.count(text[:length]) > tokens:
        length = max(1, min(length - 1, length * max(tokens, 1) // counter.count(text[:length])))
    return text[:length]


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return str(value)
