"""Documents: one JSON value over the whole file, read element by element, so that its size does not matter."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

from lossless.transcripts.source import LONGEST_LINE, Source
from lossless.transcripts.values import Unreadable, decode_at

__all__ = ["Document"]

_BLANK = re.compile(r"[ \t\r\n]*")
_NUMERIC = re.compile("[0-9.eE+-]*")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")  # what the decoder makes of bytes that are no UTF-8


class Document:
    """A reader that stands somewhere in a JSON document.

    Attributes:
        line: the line it stands in, from 1.
    """

    def __init__(self, source: Source, longest: int = LONGEST_LINE) -> None:
        self._source = source
        self._chunks = iter(source)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._longest = longest
        self._text = ""
        self._place = 0
        self._ended = False
        self.line = 1

    def peek(self) -> str:
        """Give the next character that is not blank without passing it; an empty string at the end."""
        while True:
            found = _BLANK.match(self._text, self._place)
            assert found is not None
            self._pass_to(found.end())
            if self._place < len(self._text):
                return self._text[self._place]
            if self._ended:
                return ""
            self._grow()

    def take(self, wanted: str) -> str:
        """Pass the next character, which must be one of those wanted, and give it.

        Raises:
            Unreadable: it is another one.
        """
        found = self.peek()
        if not found:
            raise Unreadable(self._source.broken or "the document is cut off")
        if found not in wanted:
            raise Unreadable(f"not JSON: {found!r} where {' or '.join(wanted)} should be")
        self._pass_to(self._place + 1)
        return found

    def value(self) -> tuple[Any, int, int]:
        """Read the next value; give it, the line it begins in, and its length in characters.

        In place of a value that is not UTF-8 or nested too deeply stands Unreadable: what follows it can be read.

        Raises:
            Unreadable: it is no JSON, too long, or cut off.
        """
        self.peek()
        while True:
            try:
                value, end = decode_at(self._text, self._place)
                if self._ended or not self._may_go_on(value, end):
                    break
            except Unreadable as error:
                if self._ended:
                    cut_off = self._source.broken or "the document is cut off"
                    raise Unreadable(cut_off if error.place >= len(self._text) else str(error)) from None
            if len(self._text) - self._place > self._longest:
                raise Unreadable(f"a value longer than {self._longest // 2**20} MiB, or not JSON")
            self._grow()
        if _NOT_UTF8.search(self._text, self._place, end):
            value = Unreadable("not UTF-8")
        line, size = self.line, end - self._place
        self._pass_to(end)
        return value, line, size

    def elements(self) -> Iterator[tuple[Any, int, int]]:
        """Read the values of the list that comes next, each as ``value`` gives it.

        Raises:
            Unreadable: what comes is no list, or its rest can't be read.
        """
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            yield self.value()
            if self.take(",]") == "]":
                return

    def object_keys(self) -> Iterator[str]:
        """Read the keys of the object that comes next; after each, the caller reads its value.

        Raises:
            Unreadable: what comes is no object, or its rest can't be read.
        """
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        while True:
            key = self.value()[0]
            if not isinstance(key, str):
                raise Unreadable("not JSON: a key is no string")
            self.take(":")
            yield key
            if self.take(",}") == "}":
                return

    def _may_go_on(self, value: Any, end: int) -> bool:
        """Tell whether the text read so far ends in or right behind a number."""
        return isinstance(value, int | float) and _NUMERIC.fullmatch(self._text, end) is not None

    def _pass_to(self, place: int) -> None:
        self.line += self._text.count("\n", self._place, place)
        self._place = place

    def _grow(self) -> None:
        """Read at least as much again as is waiting: a long value is tried again few times only."""
        waiting = [self._text[self._place :]]
        wanted = 2 * len(waiting[0])
        size = len(waiting[0])
        while size <= wanted and not self._ended:
            chunk = next(self._chunks, None)
            self._ended = chunk is None
            waiting.append(self._decoder.decode(chunk or b"", final=self._ended))
            size += len(waiting[-1])
        self._text, self._place = "".join(waiting), 0
