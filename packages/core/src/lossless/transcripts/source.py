"""Sources: the bytes of a transcript file, unpacked, as they come, and cut into lines."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from lossless.errors import NotFoundError

__all__ = ["LONGEST_LINE", "Line", "Source", "check_file", "lines"]

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of the longest line, and characters of the longest JSON value in a document, that are read."""
_CHUNK = 256 * 1024
_GZIP = 31  # for zlib: a gzip header, and the largest window
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Line:
    """One line, without its end. ``data`` is None for a line over ``LONGEST_LINE``."""

    number: int
    data: bytes | None


def check_file(path: Path) -> None:
    """Make sure that a path is a file which can be opened.

    Raises:
        NotFoundError: it is not.
    """
    try:
        mode = path.stat().st_mode
        if S_ISDIR(mode):
            raise NotFoundError(f"{path} is a directory", hint="name the transcript files in it")
        if not S_ISREG(mode):
            raise NotFoundError(f"{path} is not a regular file", hint="save the transcript to a file first")
        path.open("rb").close()
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}", hint="check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NotFoundError(f"{path} can't be read: {reason}", hint="check the path and its permissions") from error


class Source:
    """The bytes of a file as UTF-8 without a byte order mark; gzip is recognised by its first bytes and unpacked.

    Attributes:
        broken: why reading ended before the end of the file, or None.
    """

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        self._path = path
        self._progress = progress
        self.broken: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        chunks = self._unpacked()
        first = next(chunks, b"")
        while len(first) < 2 and (more := next(chunks, b"")):
            first += more
        if encoding := _UTF16.get(first[:2]):
            yield from self._recoded(first[2:], chunks, encoding)
            return
        while len(first) < 3 and (more := next(chunks, b"")):
            first += more
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from chunks

    def _unpacked(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            try:
                for chunk in filter(None, _members(file) if packed else iter(lambda: file.read(_CHUNK), b"")):
                    yield chunk
                    if self._progress is not None:
                        self._progress(file.tell())
            except (OSError, EOFError, zlib.error) as error:
                self.broken = f"the file can't be read further: {error}"

    def _recoded(self, first: bytes, chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
        try:
            yield decoder.decode(first).encode("utf-8", "surrogatepass")
            for chunk in chunks:
                yield decoder.decode(chunk).encode("utf-8", "surrogatepass")
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            self.broken = f"the file can't be read further: {error.reason}"


def _members(file: BinaryIO) -> Iterator[bytes]:
    """Unpack the members of a gzip file, each chunk as soon as it is there: what comes before damage is not lost with it.

    Raises:
        EOFError: the file ends within a member.
        zlib.error: what comes next is damaged, or no gzip.
    """
    member, packed = None, b""
    while packed := packed or file.read(_CHUNK):
        if member is None:
            packed = packed.lstrip(b"\0")  # members may be padded
            member = zlib.decompressobj(_GZIP) if packed else None
            continue
        before = member.copy()
        try:
            chunk = member.decompress(packed, _CHUNK)
        except zlib.error:
            for place in range(len(packed)):  # byte by byte up to the damage, which raises again
                yield before.decompress(packed[place : place + 1])
            raise
        packed = member.unused_data if member.eof else member.unconsumed_tail
        yield chunk
        member = None if member.eof else member
    if member is not None:
        yield member.flush()
        if not member.eof:
            raise EOFError("it is cut off")


def lines(chunks: Iterable[bytes], longest: int = LONGEST_LINE) -> Iterator[Line]:
    """Cut chunks into lines at line feeds, and nowhere else: JSON strings may hold other separators. Empty lines are left out."""
    number, size = 1, 0
    pieces: list[bytes] = []
    for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            size += end - start
            if size:
                yield Line(number, b"".join((*pieces, chunk[start:end])) if size <= longest else None)
                pieces.clear()
            number, size, start = number + 1, 0, end + 1
        size += len(chunk) - start
        if size > longest:
            pieces.clear()
        else:
            pieces.append(chunk[start:])
    if size:
        yield Line(number, b"".join(pieces) if size <= longest else None)
