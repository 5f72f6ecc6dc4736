"""The search analyzer: tokens for the index, tokens of a pattern, and the words mode of a query.

Texts are tokenised here, once, and databases are fed plain tokens, so that each finds the same. The tokens of a text are, in
order: each run of letters and digits; of unspaced scripts each pair of neighbours and each run's last letter; each symbol. Behind
them, as further spellings, stand the humps of camelCase words, set off by ``GAP`` so that a phrase can't run across.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lossless.store.folding import RUN, compose, cut, fold, humps, prefix_of, run_tokens, tokens_of
from lossless.store.words import And, Not, Or, Phrase, Prefix, Term, WordQuery, parse_words, to_fts5

__all__ = [
    "GAP",
    "And",
    "Not",
    "Or",
    "Phrase",
    "Prefix",
    "QueryTokens",
    "Term",
    "WordQuery",
    "analyze",
    "analyzed",
    "parse_words",
    "query_tokens",
    "to_fts5",
]

GAP = "u0"
"""The token between a text and its further spellings: the code point NUL, which is a separator and never a symbol."""
_MOST_WHOLE = 32
_AT_ONCE = 1 << 18
"""Characters whose tokens are held at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTokens:
    """What the index can say about an exact substring.

    Attributes:
        whole: tokens of every text that contains the pattern, in any case; of a long pattern the longest ones.
        prefix: what some token of every such text begins with, or None.
        loose: what stands at an open end of the pattern and may be part of a longer token: nothing certain follows from it.
    """

    whole: tuple[str, ...]
    prefix: str | None
    loose: tuple[str, ...]


def analyze(text: str) -> list[str]:
    """Give the tokens of any text for the search index.

    Takes time linear in the text, and never raises. A token has at most 64 characters, all letters or digits; a longer one is its
    first 48 characters and 16 digits of its SHA-256.
    """
    tokens = tokens_of(fold(text))
    if not text.isascii():
        composed = compose(text)
        if composed != text:
            tokens.append(GAP)
            tokens += tokens_of(fold(composed))
    for spelling in humps(text):
        tokens.append(GAP)
        tokens += spelling
    return tokens


def analyzed(text: str) -> str:
    """Give what :func:`analyze` gives, spaces between, without holding all tokens of a large text at once."""
    if len(text) <= _AT_ONCE:
        return " ".join(analyze(text))
    pieces = list(_joined(fold(text)))
    if not text.isascii():
        composed = compose(text)
        if composed != text:
            pieces += [GAP, *_joined(fold(composed))]
    for spelling in humps(text):
        pieces += [GAP, *spelling]
    return " ".join(pieces)


def _joined(folded: str) -> Iterator[str]:
    """Give the tokens of a folded text, those of a stretch joined; stretches end at spaces, and so do tokens."""
    start = 0
    while start < len(folded):
        end = folded.find(" ", start + _AT_ONCE)
        end = len(folded) if end < 0 else end
        joined = " ".join(tokens_of(folded[start:end]))
        if joined:
            yield joined
        start = end + 1


def query_tokens(pattern: str) -> QueryTokens:
    """Say which tokens a text must have to contain a pattern, in any case.

    A run of letters and digits is surely a whole token where the pattern itself ends it on both sides; the last one, open to the
    right, is surely the beginning of a token. Of unspaced scripts each pair of neighbours is sure.
    """
    folded = fold(pattern)
    whole: dict[str, None] = {}
    prefix: str | None = None
    loose: list[str] = []
    for run in RUN.finditer(folded):
        open_left, open_right = run.start() == 0, run.end() == len(folded)
        if run.lastindex:
            *pairs, last = run_tokens(run[0])
            whole.update(dict.fromkeys(pairs))
            if not open_right:
                whole[last] = None
            elif not pairs:
                prefix = last
        elif open_left:
            loose.append(cut(run[0]))
        elif open_right:
            prefix = prefix_of(run[0])
        else:
            whole[cut(run[0])] = None
    return QueryTokens(whole=_most_telling(tuple(whole)), prefix=prefix, loose=tuple(loose))


def _most_telling(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Keep the longest: they are the rarest, and a database need not look up each word of a page."""
    return tuple(sorted(tokens, key=len, reverse=True)[:_MOST_WHOLE]) if len(tokens) > _MOST_WHOLE else tokens
