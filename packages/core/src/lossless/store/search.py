"""Search: exact substrings, words and regular expressions, complete or with a cursor to go on.

The index (``lossless.store.index``) holds the tokens of ``lossless.store.analyzer``. It only narrows down: exact and
regular-expression hits are verified against the message itself. A substring that may begin and
end inside longer tokens can't be narrowed down; then the messages themselves are scanned, newest first, within a limit of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import regex
from sqlalchemy import Connection

from lossless.errors import QueryError
from lossless.messages.model import Message
from lossless.messages.parts import searchable
from lossless.store.analyzer import And, Prefix, Term, analyze, parse_words, query_tokens
from lossless.store.filters import EVERYTHING, Filters, uses_tool
from lossless.store.index import Candidate, index_of
from lossless.store.keys import Reach, ThreadKey
from lossless.store.matching import Matcher, OutOfTimeError, RegexMatcher, prefilter, snippet, substring_matcher
from lossless.store.pages import Page, read_cursor, write_cursor
from lossless.store.ranking import Ranking
from lossless.store.read import MessageReader
from lossless.store.scanning import newest_first, size_of
from lossless.store.seen import pack_seen, unpack_seen
from lossless.store.vault import vault_of
from lossless.store.words import Expression, holds

__all__ = ["Hit", "Mode", "chosen_mode", "search"]

Mode = Literal["exact", "words", "regex"]

SCAN_ROWS = 100_000
"""How many messages are looked at for one page before it ends with a cursor."""
INDEX_FROM = 20_000
"""From how many messages within reach an exact search asks the index first although it can't be complete."""
RANKED_MOST = 1_000
"""How many hits are ranked; what is left comes newest first."""
_SCAN_UP_TO = 500
_TOP = 2**62
_WORD = regex.compile(r"[\p{L}\p{N}_]+")


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


def chosen_mode(mode: Mode, regex: bool) -> Mode:
    """Give the mode that a caller means; ``regex`` is another word for that mode.

    Raises:
        QueryError: they contradict each other.
    """
    if regex and mode == "words":
        raise QueryError("mode='words' and regex=True contradict each other", hint="give one of them")
    return "regex" if regex else mode


def search(
    connection: Connection,
    reader: MessageReader,
    reach: Reach,
    pattern: str,
    *,
    mode: Mode = "exact",
    filters: Filters = EVERYTHING,
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
        filters: which messages are looked at.
        limit: hits in a page, at least 1.
        cursor: where an earlier page ended. Messages that were appended meanwhile are not on later pages, all others are on one.

    Raises:
        QueryError: unknown mode, a pattern that is no text, a regular expression that can't be read or runs for longer than
            ``REGEX_SECONDS``, a foreign cursor.
    """
    if not isinstance(pattern, str):
        raise QueryError(f"a pattern must be text, not {type(pattern).__name__}", hint="give a string")
    if mode not in ("exact", "words", "regex"):
        raise QueryError(f"the search mode {mode!r} is not known", hint="use exact, words or regex")
    if not pattern or reach.threads == ():
        return Page(())
    limit = min(max(1, limit), SCAN_ROWS)
    job = _Search(connection, reader, reach, filters, limit, cursor)
    if mode == "words":
        return _words(job, pattern)
    if mode == "exact":
        return _exact(job, pattern)
    return _regex(job, pattern)


@dataclass(frozen=True, slots=True)
class _Search:
    """One call: where it looks, and for how much."""

    connection: Connection
    reader: MessageReader
    reach: Reach
    filters: Filters
    limit: int
    cursor: str | None

    def message(self, thread_id: str, seq: int) -> Message | None:
        """Read a message; None where it is not there, or does not use a tool that it should."""
        found = self.reader.by_seq(self.connection, ThreadKey(self.reach.namespace, thread_id), [seq])
        tools = self.filters.tools
        if not found or (tools and not uses_tool(self.connection, self.reader, found[0], self.reach.namespace, tools)):
            return None
        return found[0]


def _words(job: _Search, pattern: str) -> Page[Hit]:
    """Give the best first. What was shown is kept in the cursor, because ranks shift with every message that is appended."""
    expression = parse_words(pattern).expression
    state = read_cursor(job.cursor, str, int, str)
    if state is not None and state[0] not in ("ranked", "rest", "sealed"):
        raise _foreign()
    if expression is None:
        return Page(())
    found = _Found(job, expression, pattern)
    if vault_of(job.connection).encrypts:
        return found.without_index(None, 0) if state is None else found.without_index(state[1], _offset(state))
    if state is not None and state[0] == "sealed":
        raise _foreign()
    if state is not None and state[0] == "rest":
        return found.rest(state[1], unpack_seen(state[2], RANKED_MOST))
    if state is not None:
        return found.best(state[1], unpack_seen(state[2], RANKED_MOST))
    return found.best(index_of(job.connection).last(job.connection) + 1, set())


def _offset(state: Sequence[Any]) -> int:
    if state[0] != "sealed" or not (state[2].isascii() and state[2].isdecimal() and len(state[2]) < 10):
        raise _foreign()
    return int(state[2])


class _Found:
    """A page of the words mode in the making."""

    def __init__(self, job: _Search, expression: Expression, pattern: str) -> None:
        self._job = job
        self._expression = expression
        self._spelled = sorted(_WORD.findall(pattern.casefold()), key=len, reverse=True)
        self._hits: list[Hit] = []
        self._scanned = 0

    def best(self, below: int, seen: set[int]) -> Page[Hit]:
        """Go on among the best, then among the rest."""
        job = self._job
        index = index_of(job.connection)
        while len(seen) < RANKED_MOST:
            wanted = min(len(seen) + job.limit + 1, RANKED_MOST)
            rows = index.ranked(job.connection, job.reach, job.filters, self._expression, below, wanted)
            for row in rows:
                if row.docid not in seen:
                    if len(self._hits) == job.limit:
                        return self._page(write_cursor("ranked", below, pack_seen(seen)))
                    seen.add(row.docid)
                    self._look_at(row)
            if len(rows) < wanted:
                return self._page(None)
        return self.rest(below, seen)

    def rest(self, below: int, seen: set[int]) -> Page[Hit]:
        """Go on among those that were not ranked, newest first."""
        job = self._job
        rows = index_of(job.connection).newest(job.connection, job.reach, job.filters, self._expression, below)
        with closing(rows):
            for row in rows:
                if len(self._hits) == job.limit or self._scanned >= SCAN_ROWS:
                    return self._page(write_cursor("rest", row.docid + 1, pack_seen(seen)))
                if row.docid not in seen:
                    self._look_at(row)
        return self._page(None)

    def without_index(self, below: int | None, offset: int) -> Page[Hit]:
        """Rank what a scan finds: all of it, or as many messages at a time as a page may scan."""
        job, ranking = self._job, Ranking[tuple[str, int]](self._expression)
        last = top = _TOP if below is None else below
        for found in newest_first(job.connection, job.reach, job.filters, top):
            if self._scanned >= SCAN_ROWS:
                break
            if self._scanned == 0 and below is None:
                top = found.position + 1  # later pages are not disturbed by what is appended meanwhile
            last = found.position
            self._scanned += 1
            message = job.message(found.thread_id, found.seq) if found.passes else None
            if message is not None:
                ranking.look_at((found.thread_id, found.seq), analyze(searchable(message.parts)))
        else:
            last = 0
        best = ranking.best()
        for thread_id, seq in best[offset : offset + job.limit]:
            message = job.message(thread_id, seq)
            if message is not None:
                self._hits.append(_hit(message, self._place(message)))
        if offset + job.limit < len(best):
            return self._page(write_cursor("sealed", top, str(offset + job.limit)))
        return self._page(write_cursor("sealed", last, "0") if last else None)

    def _look_at(self, row: Candidate) -> None:
        self._scanned += 1
        message = self._job.message(row.thread_id, row.seq) if row.passes else None
        if message is not None and (row.sure or holds(self._expression, analyze(searchable(message.parts)))):
            self._hits.append(_hit(message, self._place(message)))

    def _place(self, message: Message) -> int:
        """Give about where the longest of the words stands, for the snippet."""
        text = searchable(message.parts).casefold()
        return next((place for word in self._spelled if (place := text.find(word)) >= 0), 0)

    def _page(self, cursor: str | None) -> Page[Hit]:
        return Page(self._hits, cursor, self._scanned)


def _exact(job: _Search, pattern: str) -> Page[Hit]:
    matches, may_match = substring_matcher(pattern), prefilter(pattern)
    tokens = query_tokens(pattern)
    certain: list[Expression] = [*map(Term, tokens.whole), *([Prefix(tokens.prefix)] if tokens.prefix else [])]
    loose: list[Expression] = [Prefix(token) for token in tokens.loose]
    state = read_cursor(job.cursor, str, int)
    if state is not None and state[0] not in ("index", "scan", "others"):
        raise _foreign()
    if state is not None and state[0] == "others":
        return _scan(job, _others(matches, loose), may_match, below=state[1], as_what="others")
    if state is not None and state[0] == "scan":
        return _scan(job, matches, may_match, below=state[1])
    size = size_of(job.connection, job.reach)
    if certain and size > _SCAN_UP_TO:
        return _narrowed(job, certain, matches)
    if not loose or size <= INDEX_FROM:
        return _scan(job, matches, may_match)
    quick = _narrowed(job, loose, matches)
    if not quick.items and state is None:
        return _scan(job, matches, may_match)
    # What stands inside longer tokens is left to a scan, for those who ask for the next page.
    return Page(quick.items, quick.next_cursor or write_cursor("others", _TOP), quick.scanned)


def _others(matches: Matcher, shown: Sequence[Expression]) -> Matcher:
    """Give what leaves out the messages that the index has given already."""
    expression = shown[0] if len(shown) == 1 else And(tuple(shown))

    def left(message: Message) -> int | None:
        place = matches(message)
        return None if place is None or holds(expression, analyze(searchable(message.parts))) else place

    return left


def _narrowed(job: _Search, wanted: Sequence[Expression], matches: Matcher) -> Page[Hit]:
    """Verify what the index finds, newest first."""
    state = read_cursor(job.cursor, str, int)
    expression = wanted[0] if len(wanted) == 1 else And(tuple(wanted))
    hits: list[Hit] = []
    scanned = 0
    below = state[1] if state else _TOP
    with closing(index_of(job.connection).newest(job.connection, job.reach, job.filters, expression, below)) as rows:
        for row in rows:
            scanned += 1
            message = job.message(row.thread_id, row.seq) if row.passes else None
            place = matches(message) if message is not None else None
            if message is not None and place is not None:
                hits.append(_hit(message, place))
            if len(hits) == job.limit or scanned >= SCAN_ROWS:
                return Page(hits, write_cursor("index", row.docid), scanned)
    return Page(hits, None, scanned)


def _scan(
    job: _Search,
    matches: Matcher,
    may_match: Callable[[bytes], bool] | None = None,
    *,
    below: int = _TOP,
    as_what: str = "scan",
) -> Page[Hit]:
    """Look at the messages themselves, newest first."""
    hits: list[Hit] = []
    scanned = 0
    for found in newest_first(job.connection, job.reach, job.filters, below):
        if found.passes and (may_match is None or found.data is None or may_match(found.data)):
            message = job.message(found.thread_id, found.seq)
            try:
                place = matches(message) if message is not None else None
            except OutOfTimeError:
                return Page(hits, write_cursor(as_what, found.position + 1), scanned)
            if message is not None and place is not None:
                hits.append(_hit(message, place))
        scanned += 1
        if len(hits) == job.limit or scanned >= SCAN_ROWS:
            return Page(hits, write_cursor(as_what, found.position), scanned)
    return Page(hits, None, scanned)


def _regex(job: _Search, pattern: str) -> Page[Hit]:
    state = read_cursor(job.cursor, str, int)
    if state is not None and state[0] != "scan":
        raise _foreign()
    return _scan(job, RegexMatcher(pattern), below=state[1] if state is not None else _TOP)


def _foreign() -> QueryError:
    return QueryError("the cursor is of another search", hint="give the next_cursor of a page of the same query")


def _hit(message: Message, place: int) -> Hit:
    return Hit(
        thread_id=message.thread_id,
        message_id=message.id,
        seq=message.seq,
        role=message.role,
        snippet=snippet(message, place),
        created_at=message.created_at,
    )
