"""Folding: text becomes the tokens of the search index, in every script, the same on every database.

Folding works character by character: casefold, compatibility forms, diacritics off. What a character becomes never depends on
its neighbours, so a piece of a text folds to a piece of the folded text; the soundness of ``query_tokens`` rests on that.
Folded text knows four kinds of characters: letters and digits of scripts that put spaces between words, letters of scripts that
don't, symbols (each a token of its own, as its code point in hexadecimal), and separators.

A token holds ASCII letters and digits, and letters and digits of other scripts that need no further folding; anything else in
it is written as ``u`` and its code point. So are letters newer than Unicode 3.2: a database's tokenizer may not know them.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from operator import add

__all__ = ["LONGEST", "RUN", "compose", "cut", "fold", "humps", "prefix_of", "run_tokens", "tokens_of"]

LONGEST = 64
"""How many characters a token has at the most."""
_KEPT = 48  # of a longer one: its beginning, then 16 digits of its hash

_UNSPACED = (  # Thai to Tibetan, Burmese, jamo, Khmer, kana and ideographs, Yi, Hangul, ideographs beyond the first plane
    "\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3040-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48f\ua960-\ua97f\uaa60-\uaa7f\uac00-\ud7ff"
    "\U00020000-\U0003ffff"
)
_OPEN, _CLOSE = "\x1e", "\x1f"  # around the code point of an unspaced letter that has to be written in hexadecimal
_CODED = f"{_OPEN}[0-9a-z]+{_CLOSE}"
RUN = re.compile(f"((?:[{_UNSPACED}]|{_CODED})+)|[^ {_UNSPACED}{_OPEN}{_CLOSE}]+")
"""A run of folded text; group 1 where its script puts no spaces between words."""
_IN_UNSPACED = re.compile(f"[{_UNSPACED}]")
_UNSPACED_LETTER = re.compile(f"{_OPEN}([0-9a-z]+){_CLOSE}|(.)")
_COMPOSABLE = re.compile("[\u1100-\u11ff]+|[\u3041-\u30fe\uff66-\uff9d][\u3099\u309a\uff9e\uff9f]")
_WORD = re.compile(r"[^\W_]+")
_LETTERS_AND_DIGITS = frozenset({"Ll", "Lm", "Lo", "Nd", "Nl"})
_REMEMBERED = 1 << 16


class _Folding(dict[int, str]):
    """What each character becomes, for ``str.translate``; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        folded = "".join(_folded(one) for one in chr(code).casefold())
        if len(self) < _REMEMBERED:
            self[code] = folded
        return folded


class _Shape(dict[int, str]):
    """Which characters are capitals (``A``), other letters and digits (``a``), or neither, for ``str.translate``."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        shape = "A" if letter.isupper() else "a" if letter.isalnum() else " "
        if len(self) < _REMEMBERED:
            self[code] = shape
        return shape


_FOLDING = _Folding()
_SHAPE = _Shape()


def fold(text: str) -> str:
    """Fold a text: casefold, compatibility forms, no diacritics; separators become spaces, symbols words of their own."""
    return text.translate(_FOLDING)


def compose(text: str) -> str:
    """Join Hangul letters into syllables and kana with their voicing marks: file names often carry them apart."""
    return _COMPOSABLE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)


def tokens_of(folded: str) -> list[str]:
    """Give the tokens of a folded text, in order."""
    if _OPEN not in folded and (folded.isascii() or _IN_UNSPACED.search(folded) is None):
        tokens = folded.split()
    else:
        tokens = []
        for run in RUN.finditer(folded):
            if run.lastindex:
                tokens += run_tokens(run[0])
            else:
                tokens.append(run[0])
    if tokens and max(map(len, tokens)) > LONGEST:
        tokens = [cut(token) for token in tokens]
    return tokens


def run_tokens(run: str) -> list[str]:
    """Give the overlapping pairs of a run of unspaced letters, then its last letter: every single letter begins a token."""
    letters: str | list[str] = run
    if _OPEN in run:
        letters = [coded or plain for coded, plain in _UNSPACED_LETTER.findall(run)]
    return [*map(add, letters, letters[1:]), letters[-1]]


def cut(token: str) -> str:
    """Give a token, or for one that is too long its beginning and its hash."""
    if len(token) <= LONGEST:
        return token
    return token[:_KEPT] + hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()[: LONGEST - _KEPT]


def prefix_of(token: str) -> str:
    """Give the longest prefix that every token which begins like this one has, cut or not."""
    return token[:_KEPT]


def humps(text: str) -> list[list[str]]:
    """Give the tokens of the humps of each camelCase word that has any, each word once."""
    shape = text.translate(_SHAPE)
    if "aA" not in shape and "AAa" not in shape:
        return []
    found = []
    for word in dict.fromkeys(_WORD.findall(text)):
        if not word.islower() and not word.isupper() and len(word) <= LONGEST:
            starts = _hump_starts(word.translate(_SHAPE))
            if len(starts) > 1:
                pieces = (word[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True))
                found.append([token for piece in pieces for token in tokens_of(fold(piece))])
    return found


def _hump_starts(shape: str) -> list[int]:
    """A hump begins at a capital after a small letter, and at the last capital of a row when a small letter follows."""
    return [0] + [
        place
        for place in range(1, len(shape))
        if shape[place] == "A" and (shape[place - 1] == "a" or shape[place + 1 : place + 2] == "a")
    ]


def _folded(letter: str) -> str:
    expanded = unicodedata.normalize("NFKC", letter)
    if not _IN_UNSPACED.match(expanded):
        expanded = unicodedata.normalize("NFKD", letter)
    if unicodedata.category(letter)[0] == "S" and len(expanded) > 1:
        expanded = letter  # a trademark sign is not the letters TM at the end of a name
    return "".join(_written(one) for one in expanded.casefold())


def _written(letter: str) -> str:
    """Write one folded character: itself, in hexadecimal, a space, or nothing."""
    if letter.isascii():
        return letter if letter.isalnum() else " "
    if letter == "ı":
        return "i"  # its capital is the ASCII one
    category, code = unicodedata.category(letter), f"u{ord(letter):04x}"
    unspaced = _IN_UNSPACED.match(letter) is not None
    if category[0] in "LN" or (unspaced and category == "Cn"):
        if _is_settled(letter):
            return letter
        return f"{_OPEN}{code}{_CLOSE}" if unspaced else code
    if category[0] == "M":
        if unspaced:
            return f"{_OPEN}{code}{_CLOSE}"
        return code if _is_vowel_sign(letter, category) else ""
    if category == "Cf":
        return ""
    if category[0] in "ZP" or category == "Cc" or "\u2500" <= letter <= "\u259f":
        return " "  # the last are box drawings
    return f" {code} "


def _is_settled(letter: str) -> bool:
    """Whether a database's tokenizer knows the letter and has nothing to fold in it."""
    categories = {unicodedata.category(letter), unicodedata.ucd_3_2_0.category(letter)}
    return categories <= _LETTERS_AND_DIGITS and letter.lower() == letter


def _is_vowel_sign(mark: str, category: str) -> bool:
    """Whether a mark is part of a word's spelling (Indic vowels, virama, nukta), unlike accents, points, variation selectors."""
    variation = "\ufe00" <= mark <= "\ufe0f" or "\U000e0100" <= mark <= "\U000e01ef" or mark in "\u034f\u180b\u180c\u180d"
    return category != "Me" and not variation and unicodedata.combining(mark) in (0, 7, 9)
