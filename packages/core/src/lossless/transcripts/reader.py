"""Reading transcripts for import: message by message, whatever their size, past lines that can't be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lossless.errors import ConfigError, MessageError
from lossless.messages.anthropic import AnthropicFormat, looks_anthropic
from lossless.messages.openai import OpenAIFormat
from lossless.transcripts.document import Document
from lossless.transcripts.model import BadLine, Conversation
from lossless.transcripts.source import LONGEST_LINE, Source, check_file, lines
from lossless.transcripts.values import Unreadable, decode_line

__all__ = ["FORMATS", "read_transcript"]

FORMATS = ("auto", "openai", "anthropic")
"""What ``read_transcript`` takes as ``format``."""

_PART_MESSAGES = 1_000
_PART_BYTES = 16 * 1024 * 1024
_SAMPLE = 1024 * 1024
_OPENAI, _ANTHROPIC = OpenAIFormat(), AnthropicFormat()


def read_transcript(
    path: Path, *, format: str = "auto", progress: Callable[[int], None] | None = None
) -> Iterator[Conversation | BadLine]:
    """Read the conversations of a file, in parts, and the lines that had to be skipped.

    The file holds one JSON value, or one a line; either may be packed with gzip. A value is a message, a list of messages, or a
    dict with ``messages`` and perhaps ``id`` and ``system`` (the prompt, which becomes the first message). Messages on lines of
    their own are one conversation, as are those of one list; lists and dicts with messages, on lines or in a list, are a
    conversation each. A line that can't be read is skipped; a value over several lines is read up to where it breaks.

    Args:
        path: a regular file.
        format: ``openai`` or ``anthropic``: whose messages they are; ``auto`` looks at each.
        progress: is told how many bytes of the file were read so far, of ``path.stat().st_size``.

    Raises:
        NotFoundError: there is no such file, or it can't be opened. Raised by the call itself.
        ConfigError: the format is not known.
    """
    if format not in FORMATS:
        raise ConfigError(f"the transcript format {format!r} is not known", hint=f"one of {', '.join(FORMATS)}")
    path = Path(path)
    check_file(path)
    return _read(path, format, progress)


@dataclass(frozen=True, slots=True)
class _Said:
    """A message of the conversation that the whole file is."""

    payload: Any
    line: int
    size: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """A conversation of its own: a list of messages, or a dict with ``messages``."""

    value: Any
    line: int
    entry: int | None


@dataclass(frozen=True, slots=True)
class _Named:
    """What the conversation that the whole file is is called."""

    name: str | None


_Piece = _Said | _Entry | _Named | BadLine


def _read(path: Path, format: str, progress: Callable[[int], None] | None) -> Iterator[Conversation | BadLine]:
    source = Source(path, progress)
    pieces = _lines(source) if _has_lines(path) else _document(path, source)
    gathered = _Gathered()
    for piece in pieces:
        match piece:
            case _Said(payload=payload, line=line, size=size):
                if reason := _fault(payload, format):
                    yield BadLine(line, reason)
                else:
                    yield from gathered.add(payload, line, size)
            case _Entry():
                yield from _conversation(piece, format)
            case _Named(name=name):
                gathered.name = name
            case BadLine():
                yield piece
    yield from gathered.rest()


def _lines(source: Source) -> Iterator[_Piece]:
    number = 1
    for line in lines(source):
        number = line.number
        if line.data is None:
            yield BadLine(number, f"longer than {LONGEST_LINE // 2**20} MiB")
        elif line.data.strip():
            piece = _piece(decode_line(line.data), number, number, len(line.data))
            if source.broken and isinstance(piece, BadLine):
                break  # it is where reading ended: said once, below
            yield piece
    if source.broken:
        yield BadLine(number, source.broken)


def _document(path: Path, source: Source) -> Iterator[_Piece]:
    document = Document(source)
    try:
        if document.peek() == "{":
            yield from _object(path, document)
        else:
            for place, (value, line, size) in enumerate(document.elements(), start=1):
                yield _piece(value, line, place, size)
        place = 1
        while document.peek():  # values may follow each other, each over several lines
            place += 1
            value, line, size = document.value()
            yield _piece(value, line, place, size)
    except Unreadable as error:
        yield BadLine(document.line, f"{error}; the rest of the document is skipped")


def _object(path: Path, document: Document) -> Iterator[_Piece]:
    """Read a document that is one dict. Its keys come in any order: name and system prompt are looked up first."""
    head, lists = _head(path)
    if not lists:
        value, line, size = document.value()
        yield _piece(value, line, None, size)
        return
    yield _Named(_name(head))
    for system in _system(head):
        yield _Said(system, 1, 0)
    passed = 0
    for key in document.object_keys():
        if key != "messages" or document.peek() != "[":
            document.value()
            continue
        passed += 1
        for value, line, size in document.elements():
            if passed == lists:  # of a key that comes twice, the last counts
                yield BadLine(line, str(value)) if isinstance(value, Unreadable) else _Said(value, line, size)


def _head(path: Path) -> tuple[dict[str, Any], int]:
    """Give the name and system prompt of a document, and how many lists of messages it has."""
    document = Document(Source(path))
    head: dict[str, Any] = {}
    lists = 0
    try:
        for key in document.object_keys():
            if key == "messages" and document.peek() == "[":
                lists += 1
                for _ in document.elements():
                    pass
            else:
                value = document.value()[0]
                if key in ("id", "system"):
                    head[key] = value
    except Unreadable:
        pass  # reported when the messages are read
    return head, lists


def _piece(value: Any, line: int, entry: int | None, size: int) -> _Said | _Entry | BadLine:
    if isinstance(value, Unreadable):
        return BadLine(line, str(value))
    if isinstance(value, list) or (isinstance(value, dict) and isinstance(value.get("messages"), list)):
        return _Entry(value, line, entry)
    return _Said(value, line, size)


def _conversation(found: _Entry, format: str) -> Iterator[Conversation | BadLine]:
    head = found.value if isinstance(found.value, dict) else {"messages": found.value}
    gathered = _Gathered(name=_name(head), entry=found.entry)
    for place, payload in enumerate([*_system(head), *head["messages"]], start=1 - len(_system(head))):
        if reason := _fault(payload, format):
            yield BadLine(found.line, f"{f'message {place}' if place else 'system'}: {reason}")
        else:
            yield from gathered.add(payload, found.line, 0)
    yield from gathered.rest()


def _name(head: dict[str, Any]) -> str | None:
    name = head.get("id")
    return str(name) if isinstance(name, str | int) and not isinstance(name, bool) and name != "" else None


def _system(head: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the prompt that a request to Anthropic carries beside its messages, as a message."""
    system = head.get("system")
    return [] if system is None or system in ("", []) else [{"role": "system", "content": system}]


def _fault(payload: Any, format: str) -> str | None:
    """Say why a value is no message, or None."""
    anthropic = format == "anthropic" or (format == "auto" and looks_anthropic(payload))
    reader = _ANTHROPIC if anthropic else _OPENAI
    try:
        reader.role(payload)
        reader.read(payload)
    except MessageError as error:
        return error.message
    return None


@dataclass(slots=True)
class _Gathered:
    """The messages of one conversation that wait for their part to be full."""

    name: str | None = None
    entry: int | None = None
    part: int = 1
    messages: list[dict[str, Any]] = field(default_factory=list)
    first_line: int = 1
    size: int = 0

    def add(self, payload: dict[str, Any], line: int, size: int) -> Iterator[Conversation]:
        if not self.messages:
            self.first_line = line
        self.messages.append(payload)
        self.size += size
        if len(self.messages) == _PART_MESSAGES or self.size >= _PART_BYTES:
            yield from self.rest()

    def rest(self) -> Iterator[Conversation]:
        if self.messages:
            yield Conversation(
                messages=self.messages, name=self.name, entry=self.entry, part=self.part, first_line=self.first_line
            )
            self.messages, self.size, self.part = [], 0, self.part + 1


def _has_lines(path: Path) -> bool:
    """Tell whether a file holds a value a line, other than one value over all lines."""
    sample, whole = _sample(path)
    stripped = sample.lstrip()
    first, _, more = stripped.partition("\n")
    suffixes = {suffix.lower() for suffix in path.suffixes[-2:]}
    named_lines = bool(suffixes & {".jsonl", ".ndjson"})
    if named_lines or stripped[:1] not in ("{", "["):
        return True
    if not more.strip():
        return not whole and ".json" not in suffixes
    fault = _fault_place(first)
    if fault is None or fault < len(first.rstrip()):
        return True
    second = more.lstrip().partition("\n")[0]
    return _fault_place(first + second) == len(first)  # else the second line goes on with what the first began


def _fault_place(text: str) -> int | None:
    """Give where a text ceases to be one JSON value, or None."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos
    except (ValueError, RecursionError):
        pass  # nested too deeply, or with too long a number, it is a value all the same
    return None


def _sample(path: Path) -> tuple[str, bool]:
    """Give the beginning of a file, and whether it is the whole."""
    chunks = iter(Source(path))
    data = b""
    while len(data) < _SAMPLE:
        chunk = next(chunks, None)
        if chunk is None:
            return data.decode("utf-8", "replace"), True
        data += chunk
    return data.decode("utf-8", "replace"), False
