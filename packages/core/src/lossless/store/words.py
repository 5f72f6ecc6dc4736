"""The words mode of search: a forgiving query language, read into a small tree over tokens of the index.

``AND``, ``OR`` and ``NOT`` in capitals, ``"phrases"``, ``prefix*`` and parentheses; words side by side mean all of them. NOT
binds tightest, then AND, then OR. There is no wrong query: an operator without operands is a plain word; a quote or parenthesis
without its partner, like other punctuation, separates words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lossless.store.folding import RUN, compose, cut, fold, humps, prefix_of, run_tokens

__all__ = ["And", "Expression", "Not", "Or", "Phrase", "Prefix", "Term", "WordQuery", "holds", "parse_words", "to_fts5"]

MOST_WORDS = 256
"""How many words of a query are read, and how many tokens of a phrase; the rest is ignored."""
DEEPEST = 6
"""How deep parentheses are read; in a deeper query they mean nothing. SQLite's own parser ends at about 20."""


@dataclass(frozen=True, slots=True)
class Term:
    """A whole token."""

    token: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a token begins with."""

    token: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Two or more tokens, one right after the other. ``prefix``: the last one may be longer."""

    tokens: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class And:
    """All of them; two or more."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of them; two or more."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """What ``keep`` finds, without what ``drop`` finds."""

    keep: Expression
    drop: Expression


Expression: TypeAlias = Term | Prefix | Phrase | And | Or | Not


@dataclass(frozen=True, slots=True)
class WordQuery:
    """A query that was read. ``expression`` is None where there is nothing to look for."""

    expression: Expression | None


def parse_words(query: str) -> WordQuery:
    """Read a query of the words mode; never raises."""
    items = _items(query)
    if _depth(items) is None:
        items = [item for item in items if item.kind not in "()"]
    return WordQuery(_Reader(_settled(items)).any_of())


def to_fts5(query: WordQuery | Expression) -> str:
    """Write a query as the expression of an FTS5 ``MATCH``; an empty string where there is nothing to look for."""
    match query:
        case WordQuery(expression=None):
            return ""
        case WordQuery(expression=expression) if expression is not None:
            return to_fts5(expression)
        case Term(token=token):
            return f'"{token}"'
        case Prefix(token=token):
            return f'"{token}" *'
        case Phrase(tokens=tokens, prefix=prefix):
            return f'"{" ".join(tokens)}"' + (" *" if prefix else "")
        case And(operands=operands):
            return "(" + " AND ".join(map(to_fts5, operands)) + ")"
        case Or(operands=operands):
            return "(" + " OR ".join(map(to_fts5, operands)) + ")"
        case Not(keep=keep, drop=drop):
            return f"({to_fts5(keep)} NOT {to_fts5(drop)})"
    raise TypeError(f"no query: {query!r}")


def holds(expression: Expression, tokens: Sequence[str]) -> bool:
    """Tell whether an expression finds a text that has these tokens, in order: what an index does, for one text."""
    places: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        places.setdefault(token, []).append(place)

    def held(wanted: Expression) -> bool:
        match wanted:
            case Term(token=token):
                return token in places
            case Prefix(token=token):
                return any(other.startswith(token) for other in places)
            case Phrase(tokens=run, prefix=prefix):
                whole = run[:-1] if prefix else run
                return any(_stands_at(tokens, place, whole, run[-1] if prefix else "") for place in places.get(run[0], ()))
            case And(operands=operands):
                return all(map(held, operands))
            case Or(operands=operands):
                return any(map(held, operands))
            case Not(keep=keep, drop=drop):
                return held(keep) and not held(drop)
        raise TypeError(f"no query: {wanted!r}")

    return held(expression)


def _stands_at(tokens: Sequence[str], place: int, whole: Sequence[str], beginning: str) -> bool:
    """Tell whether tokens stand at a place, one right after the other, and then one with this beginning, if any is given."""
    end = place + len(whole)
    if list(tokens[place:end]) != list(whole):
        return False
    return not beginning or (end < len(tokens) and tokens[end].startswith(beginning))


Kind = Literal["word", "AND", "OR", "NOT", "(", ")"]


@dataclass(frozen=True, slots=True)
class _Item:
    kind: Kind
    expression: Expression | None = None


_OPERATORS: dict[str, Kind] = {"AND": "AND", "OR": "OR", "NOT": "NOT"}
_QUOTES = str.maketrans("“”„‟«»＂", '"' * 7)
_CHUNK = re.compile(r'"([^"]*)"(\*?)|([^\s"]+)')


def _items(query: str) -> list[_Item]:
    items: list[_Item] = []
    for number, chunk in enumerate(_CHUNK.finditer(query.translate(_QUOTES))):
        if number == MOST_WORDS:
            break
        phrase, star, word = chunk.groups()
        if word is None:
            items.append(_Item("word", _spelled(phrase, prefix=bool(star))))
        elif word in _OPERATORS:
            items.append(_Item(_OPERATORS[word]))
        else:
            items += _word_items(word)
    return items


def _word_items(word: str) -> list[_Item]:
    """Take parentheses off the ends of a word, but not those of a call such as ``main()``."""
    inner = word.lstrip("(")
    opened = len(word) - len(inner)
    core = inner.rstrip(")")
    own = min(len(inner) - len(core), max(0, core.count("(") - core.count(")")))
    closed = len(inner) - len(core) - own
    body = inner[: len(inner) - closed]
    if body in _OPERATORS:
        middle = [_Item(_OPERATORS[body])]
    else:
        middle = [_Item("word", _word(body))] if body else []
    return [_Item("(")] * min(opened, DEEPEST + 1) + middle + [_Item(")")] * min(closed, DEEPEST + 1)


def _word(text: str) -> Expression | None:
    """Read one word. One in camelCase also finds its humps as separate words."""
    word = text.rstrip("*")
    prefix = word != text
    spelled = _spelled(word, prefix=prefix)
    split = humps(word) if word.isalnum() else []
    if spelled is None or not split or len(split[0]) < 2:
        return spelled
    *before, last = split[0]
    return Or((spelled, Phrase((*before, prefix_of(last) if prefix else last), prefix)))


def _spelled(text: str, *, prefix: bool) -> Term | Prefix | Phrase | None:
    """Read a text as tokens that stand one right after the other.

    A run of unspaced letters at the end may go on in the text that is looked for, so its last letter is no token by itself.
    """
    folded = fold(compose(text))
    tokens: list[str] = []
    open_end = False
    runs = list(RUN.finditer(folded))[:MOST_WORDS]
    for run in runs:
        at_end = run is runs[-1]
        if run.lastindex:
            *pairs, last = run_tokens(run[0])
            tokens += pairs[:MOST_WORDS]
            if not at_end or not pairs:
                tokens.append(last)
                open_end = at_end
        elif at_end and prefix and run.end() == len(folded):
            tokens.append(prefix_of(run[0]))
            open_end = True
        else:
            tokens.append(cut(run[0]))
    if len(tokens) > 1:
        return Phrase(tuple(tokens), open_end)
    if not tokens:
        return None
    return Prefix(tokens[0]) if open_end else Term(tokens[0])


def _depth(items: list[_Item]) -> int | None:
    """Give how deep the parentheses go, or None where they don't match or go too deep."""
    depth = deepest = 0
    for item in items:
        depth += (item.kind == "(") - (item.kind == ")")
        deepest = max(deepest, depth)
        if depth < 0 or deepest > DEEPEST:
            return None
    return deepest if depth == 0 else None


def _settled(items: list[_Item]) -> list[_Item]:
    """Turn operators that lack an operand into plain words."""
    settled: list[_Item] = []
    for item in reversed(items):
        begins = bool(settled) and settled[-1].kind in ("word", "(", "NOT")
        negates_twice = item.kind == "NOT" and bool(settled) and settled[-1].kind == "NOT"
        is_operator = item.kind in _OPERATORS
        settled.append(_plain(item) if is_operator and (not begins or negates_twice) else item)
    settled.reverse()
    for place, item in enumerate(settled):
        ends = place > 0 and settled[place - 1].kind in ("word", ")")
        if item.kind in ("AND", "OR") and not ends:
            settled[place] = _plain(item)
    return settled


def _plain(operator: _Item) -> _Item:
    return _Item("word", Term(operator.kind.lower()))


class _Reader:
    """Reads items whose parentheses match and whose operators have operands."""

    def __init__(self, items: list[_Item]) -> None:
        self._items = items
        self._place = 0

    def any_of(self) -> Expression | None:
        found = [self._all_of()]
        while self._next_is("OR"):
            self._place += 1
            found.append(self._all_of())
        return _joined(Or, [expression for expression in found if expression is not None])

    def _all_of(self) -> Expression | None:
        keep: list[Expression] = []
        drop: list[Expression] = []
        while self._place < len(self._items) and not self._next_is("OR", ")"):
            if self._next_is("AND"):
                self._place += 1
            if negated := self._next_is("NOT"):
                self._place += 1
            expression = self._operand()
            if expression is not None:
                (drop if negated else keep).append(expression)
        if drop and not keep:
            return _joined(And, [Term("not"), *drop])
        kept, dropped = _joined(And, keep), _joined(Or, drop)
        return kept if kept is None or dropped is None else Not(kept, dropped)

    def _operand(self) -> Expression | None:
        item = self._items[self._place]
        self._place += 1
        if item.kind != "(":
            return item.expression
        inner = self.any_of()
        self._place += 1
        return inner

    def _next_is(self, *kinds: Kind) -> bool:
        return self._place < len(self._items) and self._items[self._place].kind in kinds


def _joined(kind: type[And] | type[Or], found: list[Expression]) -> Expression | None:
    """Join expressions, each once, without nesting a kind in itself."""
    flat: dict[Expression, None] = {}
    for expression in found:
        flat.update(dict.fromkeys(expression.operands if isinstance(expression, kind) else (expression,)))
    return kind(tuple(flat)) if len(flat) > 1 else next(iter(flat), None)
