"""Search: exact substrings, words and regular expressions, complete or with a cursor to go on.

The index (``lossless.store.index``) holds the tokens of ``lossless.store.analyzer``. It only narrows down: exact and
regular-expression hits are verified against the message itself. A substring that may begin and
end inside longer tokens can't be narrowed down; then the messages themselves are scanned, newest first, within a limit of rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import regex
from sqlalchemy import Connection, func, select

from lossless.errors import CorruptError, QueryError
from lossless.messages.model import Message
from lossless.messages.parts import searchable
from lossless.store.analyzer import And, Prefix, Term, analyze, parse_words, query_tokens
from lossless.store.blobs import unpack
from lossless.store.index import index_of
from lossless.store.keys import Reach, ThreadKey
from lossless.store.pages import Page, read_cursor, write_cursor
from lossless.store.read import MessageReader
from lossless.store.tables import BlobRow, MessageRow, SearchDocRow
from lossless.store.words import Expression, holds

__all__ = ["Hit", "Mode", "search"]

Mode = Literal["exact", "words", "regex"]

REGEX_SECONDS = 1.0
"""How long a regular expression may search for one page."""
SCAN_ROWS = 100_000
"""How many messages are scanned for one page before it ends with a cursor."""
INDEX_FROM = 20_000
"""From how many messages within reach an exact search asks the index first although it can't be complete."""
_BATCH = 500
_TAG = b'"$lossless"'
_SNIPPET = 200

_DOC = SearchDocRow.__table__  # type: ignore[attr-defined]
_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_BLOB = BlobRow.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A message that was found. ``summary_id``: the summary that covers it in its thread's view, or None."""

    thread_id: str
    message_id: str
    seq: int
    role: str
    snippet: str
    created_at: datetime
    summary_id: str | None = None


Matcher = Callable[[Message], "int | None"]
"""Gives the place of a match in a message's searchable text, or None."""


def search(
    connection: Connection,
    reader: MessageReader,
    reach: Reach,
    pattern: str,
    *,
    mode: Mode = "exact",
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Hit]:
    """Find messages within reach.

    Args:
        connection: a reading connection.
        reader: reads the messages found.
        reach: the namespace, and the threads or all.
        pattern: what to look for.
        mode: ``exact`` substring in any case, newest first; ``words`` ranked; ``regex``, newest first.
        limit: hits in a page, at least 1.
        cursor: where an earlier page ended.

    Raises:
        QueryError: unknown mode, a pattern that is no text, a regular expression that can't be read or runs for longer than
            ``REGEX_SECONDS``, a foreign cursor.
    """
    if not isinstance(pattern, str):
        raise QueryError(f"a pattern must be text, not {type(pattern).__name__}", hint="give a string")
    limit = min(max(1, limit), SCAN_ROWS)
    if not pattern or reach.threads == ():
        return Page(())
    if mode == "words":
        return _words(connection, reader, reach, pattern, limit, cursor)
    if mode == "exact":
        return _exact(connection, reader, reach, pattern, limit, cursor)
    if mode == "regex":
        deadline = time.monotonic() + REGEX_SECONDS
        return _scan(connection, reader, reach, _regex_matcher(pattern, deadline), limit, cursor, deadline=deadline)
    raise QueryError(f"the search mode {mode!r} is not known", hint="use exact, words or regex")


def _words(
    connection: Connection, reader: MessageReader, reach: Reach, pattern: str, limit: int, cursor: str | None
) -> Page[Hit]:
    expression = parse_words(pattern).expression
    if expression is None:
        return Page(())
    state = read_cursor(cursor, int)
    offset = state[0] if state else 0
    hits: list[Hit] = []
    scanned = 0
    while True:
        rows = index_of(connection).ranked(connection, reach, expression, limit + 1, offset)
        for row in rows[:limit]:
            if len(hits) == limit:
                return Page(hits, write_cursor(offset), scanned)
            offset, scanned = offset + 1, scanned + 1
            message = _message_at(connection, reader, reach, row.thread_id, row.seq)
            if message is not None and (row.sure or holds(expression, analyze(searchable(message.parts)))):
                hits.append(_hit(message, 0))
        if len(rows) <= limit:
            return Page(hits, None, scanned)
        if len(hits) == limit:
            return Page(hits, write_cursor(offset), scanned)


def _exact(
    connection: Connection, reader: MessageReader, reach: Reach, pattern: str, limit: int, cursor: str | None
) -> Page[Hit]:
    matches, may_match = _substring_matcher(pattern), _prefilter(pattern)
    tokens = query_tokens(pattern)
    certain: list[Expression] = [*map(Term, tokens.whole), *([Prefix(tokens.prefix)] if tokens.prefix else [])]
    state = read_cursor(cursor, str, int)
    if state is not None and state[0] == "scan":
        return _scan(connection, reader, reach, matches, limit, cursor, may_match=may_match)
    if certain and _size(connection, reach) > _BATCH:
        return _narrowed(connection, reader, reach, certain, matches, limit, cursor)
    if tokens.loose and _size(connection, reach) > INDEX_FROM:
        quick = _narrowed(connection, reader, reach, [Prefix(token) for token in tokens.loose], matches, limit, cursor)
        if quick.items:
            # What stands inside longer tokens is left to the scan, for those who ask for the next page.
            return Page(quick.items, quick.next_cursor or write_cursor("scan", 0), quick.scanned)
        cursor = None
    return _scan(connection, reader, reach, matches, limit, cursor, may_match=may_match)


def _narrowed(
    connection: Connection,
    reader: MessageReader,
    reach: Reach,
    wanted: Sequence[Expression],
    matches: Matcher,
    limit: int,
    cursor: str | None,
) -> Page[Hit]:
    """Verify what the index finds, newest first."""
    state = read_cursor(cursor, str, int)
    below = state[1] if state else 2**62
    expression = wanted[0] if len(wanted) == 1 else And(tuple(wanted))
    hits: list[Hit] = []
    scanned = 0
    with closing(index_of(connection).newest(connection, reach, expression, below)) as rows:
        for row in rows:
            message = _message_at(connection, reader, reach, row.thread_id, row.seq)
            scanned += 1
            place = matches(message) if message is not None else None
            if message is not None and place is not None:
                hits.append(_hit(message, place))
            if len(hits) == limit or scanned >= SCAN_ROWS:
                return Page(hits, write_cursor("index", row.docid), scanned)
    return Page(hits, None, scanned)


def _scan(
    connection: Connection,
    reader: MessageReader,
    reach: Reach,
    matches: Matcher,
    limit: int,
    cursor: str | None,
    *,
    may_match: Callable[[bytes], bool] | None = None,
    deadline: float | None = None,
) -> Page[Hit]:
    """Look at the messages themselves, newest first."""
    state = read_cursor(cursor, str, int)
    below = state[1] if state and state[1] else 2**62
    hits: list[Hit] = []
    scanned = 0
    for position, thread_id, seq, data in _newest_first(connection, reach, below):
        scanned += 1
        if may_match is None or data is None or may_match(data):
            message = _message_at(connection, reader, reach, thread_id, seq)
            place = matches(message) if message is not None else None
            if message is not None and place is not None:
                hits.append(_hit(message, place))
        late = deadline is not None and time.monotonic() > deadline
        if len(hits) == limit or scanned >= SCAN_ROWS or late:
            return Page(hits, write_cursor("scan", position), scanned)
    return Page(hits, None, scanned)


def _newest_first(connection: Connection, reach: Reach, below: int) -> Iterator[tuple[int, str, int, bytes | None]]:
    """Give (position, thread, seq, payload) by falling position: the seq within one thread, else the place in the index."""
    single = reach.threads is not None and len(reach.threads) == 1
    position = _DOC.c.seq if single else _DOC.c.docid
    statement = (
        select(position.label("position"), _DOC.c.thread_id, _DOC.c.seq, _BLOB.c.codec, _BLOB.c.size, _BLOB.c.data)
        .join(
            _MESSAGE,
            (_MESSAGE.c.namespace == _DOC.c.namespace)
            & (_MESSAGE.c.thread_id == _DOC.c.thread_id)
            & (_MESSAGE.c.seq == _DOC.c.seq),
        )
        .join(_BLOB, (_BLOB.c.namespace == _MESSAGE.c.namespace) & (_BLOB.c.digest == _MESSAGE.c.digest))
        .where(_DOC.c.namespace == reach.namespace)
        .order_by(position.desc())
        .limit(_BATCH)
    )
    if reach.threads is not None:
        statement = statement.where(_DOC.c.thread_id.in_(reach.threads))
    for thread_id, until in reach.bounds:
        statement = statement.where((_DOC.c.thread_id != thread_id) | (_DOC.c.seq <= until))
    while True:
        rows = connection.execute(statement.where(position < below)).all()
        for row in rows:
            yield row.position, row.thread_id, row.seq, _payload(row)
        if len(rows) < _BATCH:
            return
        below = rows[-1].position


def _payload(row: Any) -> bytes | None:
    """Give a payload, or None where it is damaged: whoever reads the message then says which one it is."""
    try:
        return unpack(row.codec, row.size, row.data)
    except CorruptError:
        return None


def _size(connection: Connection, reach: Reach) -> int:
    """Give how many messages are within reach, at the most."""
    if reach.threads is None:
        return int(connection.execute(select(func.max(_DOC.c.docid))).scalar() or 0)
    largest = select(func.max(_MESSAGE.c.seq)).where(_MESSAGE.c.namespace == reach.namespace)
    return sum(connection.execute(largest.where(_MESSAGE.c.thread_id == thread)).scalar() or 0 for thread in reach.threads)


def _message_at(connection: Connection, reader: MessageReader, reach: Reach, thread_id: str, seq: int) -> Message | None:
    found = reader.by_seq(connection, ThreadKey(reach.namespace, thread_id), [seq])
    return found[0] if found else None


def _substring_matcher(pattern: str) -> Matcher:
    folded = pattern.casefold()

    def matches(message: Message) -> int | None:
        place = searchable(message.parts).casefold().find(folded)
        return place if place >= 0 else None

    return matches


def _regex_matcher(pattern: str, deadline: float) -> Matcher:
    try:
        compiled = regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise QueryError(f"the regular expression can't be read: {error}", hint="check brackets and escapes") from None

    def matches(message: Message) -> int | None:
        left = max(0.01, deadline - time.monotonic())
        try:
            found = compiled.search(searchable(message.parts), timeout=left)
        except TimeoutError:
            raise QueryError(
                f"the regular expression took longer than {REGEX_SECONDS:g} s", hint="make it simpler, or search for words first"
            ) from None
        return found.start() if found is not None else None

    return matches


def _prefilter(pattern: str) -> Callable[[bytes], bool] | None:
    """Give a cheap test that no message with the pattern fails: its longest run of letters and digits stands in the payload."""
    runs = regex.findall(r"[\p{L}\p{N}_]+", pattern)
    if not runs:
        return None
    run = max(runs, key=len)
    lowered, folded = run.lower().encode("utf-8", "surrogatepass"), run.casefold()

    def may_match(data: bytes) -> bool:
        if _TAG in data:
            return True  # what JSON can't say is stored in other words than it is read in
        if data.isascii():
            return lowered in data.lower()
        # Some signs fold to several letters, ASCII ones among them.
        return folded in data.decode("utf-8", "surrogatepass").casefold()

    return may_match


def _hit(message: Message, place: int) -> Hit:
    whole = searchable(message.parts)
    start = max(0, min(place, len(whole)) - _SNIPPET // 4)
    snippet = " ".join(whole[start : start + _SNIPPET].split())
    return Hit(
        thread_id=message.thread_id,
        message_id=message.id,
        seq=message.seq,
        role=message.role,
        snippet=("… " if start else "") + snippet + (" …" if start + _SNIPPET < len(whole) else ""),
        created_at=message.created_at,
    )
