"""Asking piecewise: what is longer than a summarizer's window is given to it in parts, each summarised by itself.

This concerns single messages and units that are longer than the window; other blocks are made small enough. In the view they stay
whole: one summary stands for all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lossless.compaction.acceptance import cleaned
from lossless.compaction.calls import Calls, ModelCalls
from lossless.compaction.prompts import framed, instructions, mark_of, previous_end
from lossless.policies.model import Answer, Summarizer, SummarizeRequest
from lossless.summarizers.calling import told_by
from lossless.tokens.counter import TokenCounter

__all__ = ["ask_piecewise", "input_limit", "pieces_of"]

_SHARE = 0.6
"""Of a window that the transcript may take; instructions, what went before and the answer need the rest."""
_LEAST_TARGET = 48
_MOST = 1_000_000_000
_CHARACTERS = 3
"""A token has more as a rule, so a piece of so many is seldom cut again."""


def input_limit(summarizer: Summarizer, window: int) -> int:
    """Give how many tokens of a transcript a summarizer may be given: its own ``window`` decides, else the engine's."""
    own = told_by(summarizer, "window")
    return max(256, int(_SHARE * min(own if isinstance(own, int) and own > 0 else window, _MOST)))


def pieces_of(text: str, limit: int, counter: TokenCounter) -> list[str]:
    """Cut a text into pieces of at most ``limit`` tokens each, at ends of lines where there are any. Pure."""
    if 4 * len(text) <= limit or counter.count(text) <= limit:
        return [text]
    return [piece for part in _cut(text, limit * _CHARACTERS) for piece in _small(part, limit, counter)]


def ask_piecewise(
    models: ModelCalls,
    summarizer: Summarizer,
    request: SummarizeRequest,
    written: str,
    calls: Calls,
    counter: TokenCounter,
    window: int,
) -> Answer:
    """Ask a summarizer for a note of a transcript, in as many calls as its window needs.

    Args:
        models: makes the calls.
        summarizer: that is asked.
        request: for the whole transcript.
        written: the transcript, without its frame.
        calls: what may be spent.
        counter: counts tokens.
        window: the engine's.

    Raises:
        SummarizerError: one of the calls failed, or may not be made.
    """
    pieces = pieces_of(written, input_limit(summarizer, window), counter)
    if len(pieces) == 1:
        return models.ask(summarizer, request, calls)
    target = max(_LEAST_TARGET, request.target_tokens // len(pieces))
    told = instructions(request.level, request.depth, target)
    texts: list[str] = []
    answer = Answer(text="")
    for piece in pieces:
        previous = previous_end(texts[-1], counter) if texts else request.previous
        mark = mark_of(told, previous, piece)
        part = replace(request, text=framed(piece, mark), instructions=told, target_tokens=target, previous=previous, mark=mark)
        answer = models.ask(summarizer, part, calls)
        texts.append(cleaned(answer.text, mark).strip())
    return replace(answer, text="\n".join(text for text in texts if text))


def _cut(text: str, characters: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        stop = min(len(text), start + characters)
        if stop < len(text):
            line = text.rfind("\n", start + characters // 2, stop)
            stop = line + 1 if line > 0 else stop
        yield text[start:stop]
        start = stop


def _small(piece: str, limit: int, counter: TokenCounter) -> Iterator[str]:
    if len(piece) <= 1 or counter.count(piece) <= limit:
        yield piece
        return
    for half in _cut(piece, (len(piece) + 1) // 2):
        yield from _small(half, limit, counter)
