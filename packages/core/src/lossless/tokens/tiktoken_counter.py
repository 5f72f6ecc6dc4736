"""Counting with tiktoken: any text, in linear time, without an error."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from lossless.tokens import vocabulary
from lossless.tokens.estimator import EstimatingCounter
from lossless.tokens.media import DEAREST, MediaRates

__all__ = ["TiktokenCounter", "pieces"]

_log = logging.getLogger("lossless")

# tiktoken's regular expressions give up on a million characters of white space, by a panic of its native code.
_PIECE = 100_000

# Names of tools and participants come again and again, call ids at least twice.
_SHORT, _REMEMBERED = 64, 4_096

# Places where every encoding starts a new piece in any case, so that a text cut there has the same tokens as the whole: before a
# line that begins with a letter or digit, and before a single space between a word and a letter or digit.
_SEAM = re.compile(r"(?<=\n)(?=[^\W_])|(?<=\S)(?= [^\W_])")


class TiktokenCounter:
    """Counts with an encoding of tiktoken, or by estimate where its vocabulary can't be had.

    The vocabulary is loaded at the first count, which takes about 0.3 seconds and 80 MB once per process. Until then ``exact``
    and ``name`` say what to expect, from the vocabulary's being there; a damaged one is found out when it is loaded. ``media``
    says what images and documents cost.
    """

    __slots__ = ("_allow_network", "_count_short", "_encode", "_encoding", "_estimate", "_tried", "media")

    def __init__(self, encoding: str, *, allow_network: bool = False, media: MediaRates = DEAREST) -> None:
        self.media = media
        self._encoding = encoding
        self._allow_network = allow_network
        self._encode: Callable[[str], list[int]] | None = None
        self._estimate = EstimatingCounter()
        self._tried = False
        self._count_short = lru_cache(_REMEMBERED)(self._count)

    @property
    def exact(self) -> bool:
        """Whether a real tokenizer counts."""
        if self._tried:
            return self._encode is not None
        return self.load() if self._allow_network else vocabulary.at_hand(self._encoding)

    @property
    def name(self) -> str:
        """The encoding's name, or ``estimate``."""
        return self._encoding if self.exact else self._estimate.name

    def load(self) -> bool:
        """Load the vocabulary now instead of at the first count; tells whether a real tokenizer counts from here on."""
        if not self._tried:
            found = vocabulary.load(self._encoding, allow_network=self._allow_network)
            self._encode = found.encode_ordinary if found is not None else None
            self._tried = True
        return self._encode is not None

    def count(self, text: str) -> int:
        """Count the tokens of any text, special tokens as ordinary text; never raises."""
        if self._encode is None and not self.load():
            return self._estimate.count(text)
        if len(text) <= _SHORT:
            return self._count_short(text)
        if len(text) <= _PIECE:
            return self._count(text)
        return sum(map(self._count, pieces(text, _PIECE)))

    def _count(self, text: str) -> int:
        try:
            return len(self._encode(text)) if self._encode is not None else self._estimate.count(text)
        except BaseException as error:
            if not _is_of_the_tokenizer(error):
                raise
            _log.warning("event=count_estimated encoding=%s characters=%d error=%r", self._encoding, len(text), error)
            return self._estimate.count(text)

    def __repr__(self) -> str:
        return f"TiktokenCounter({self._encoding!r})"


def pieces(text: str, size: int) -> Iterator[str]:
    """Cut a text into pieces of at most ``size`` characters whose tokens add up to those of the text.

    Where a text has no seam within reach (a single line of base64, say), it is cut anywhere, which costs a token or two.
    """
    start = 0
    while len(text) - start > size:
        stop = _last_seam(text, start, start + size)
        yield text[start:stop]
        start = stop
    yield text[start:]


def _last_seam(text: str, start: int, stop: int) -> int:
    for reach in (2_000, (stop - start) // 2):
        lowest = max(start + 1, stop - reach)
        seam = max((match.start() for match in _SEAM.finditer(text, lowest, stop + 2) if match.start() <= stop), default=0)
        if seam:
            return seam
    return stop


def _is_of_the_tokenizer(error: BaseException) -> bool:
    """A panic of native code is no Exception, and its class can't be imported; interrupts and exits must go through."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"
