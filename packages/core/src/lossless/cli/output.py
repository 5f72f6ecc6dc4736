"""Output: data on stdout, talk on stderr, and nothing that was stored can take over the terminal.

What is shown to a person is escaped: control characters, marks that reverse the direction of writing and lone surrogates are made
visible. In JSON the same characters are written as ``\\u`` escapes, so that the value stays what it is.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, RenderableType
    from rich.text import Text

__all__ = [
    "complain",
    "console",
    "counted",
    "first_words",
    "moment",
    "number",
    "pairs",
    "say",
    "styled",
    "table",
    "visible",
    "write_json",
]

_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but tab and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # marks of direction and other invisible ones
    "\u2028\u2029\ud800-\udfff\U000e0000-\U000e007f"
)
_IN_TEXT = re.compile(f"[{_UNSAFE}]")
_IN_LINE = re.compile(f"[\t\n{_UNSAFE}]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_NARROWEST = 12  # of a column that is cut
_WIDE = 100_000  # a pipe has no edge at which anything would have to be cut or wrapped


def visible(text: str, *, lines: bool = False) -> str:
    """Make characters visible that would act on a terminal; ``lines``: keep line breaks and tabs."""
    if lines:
        return _IN_TEXT.sub(_escaped, text.replace("\r\n", "\n"))
    return _IN_LINE.sub(_escaped, text)


def first_words(text: str, length: int = 80) -> str:
    """Give the beginning of a text as one line of at most ``length`` characters, safe to show."""
    line = visible(" ".join(text[: 4 * length].split()))
    return line if len(line) <= length and len(text) <= 4 * length else line[: length - 1] + "…"


def number(value: int) -> str:
    """Write a number with spaces between thousands."""
    return f"{value:_}".replace("_", " ")


def counted(value: int, what: str) -> str:
    """Write how many there are of something, such as ``1 thread`` or ``2 summaries``."""
    if value == 1:
        return f"1 {what}"
    return f"{number(value)} {what[:-1]}ies" if what.endswith("ry") else f"{number(value)} {what}s"


def moment(value: datetime) -> str:
    """Write a time, in UTC, to the second."""
    return value.strftime("%Y-%m-%d %H:%M:%SZ")


def write_json(value: Any) -> None:
    """Write one JSON document to stdout. Times become ISO strings, other values that JSON has no word for their text."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=_in_json, allow_nan=False)
    text = _IN_TEXT.sub(_json_escape, text)
    try:
        text.encode(sys.stdout.encoding or "utf-8", "strict")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2)
    sys.stdout.write(text + "\n")


def console(*, stderr: bool = False) -> Console:
    """Give a console on stdout, or on stderr: colours and the terminal's width on a terminal, else plain text of any width."""
    from rich.console import Console

    found = Console(file=sys.stderr if stderr else sys.stdout, highlight=False, markup=False, emoji=False)
    if not found.is_terminal:
        found.width = _WIDE
    return found


def say(text: str) -> None:
    """Tell a person something, in one line on stderr."""
    sys.stderr.write(visible(text) + "\n")


def complain(text: str) -> None:
    """Say what is wrong, in one line on stderr."""
    try:
        sys.stdout.flush()
        say(f"lossless: {text}")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody listens


def styled(*pieces: tuple[str, str] | str) -> Text:
    """Give text of several styles, each piece a text or (text, style), made visible."""
    from rich.text import Text

    return Text.assemble(*(visible(piece) if isinstance(piece, str) else (visible(piece[0]), piece[1]) for piece in pieces))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = (), cut: str | None = None) -> None:
    """Print a table of one-line cells.

    Args:
        columns: their headings.
        rows: the cells, as they are: they are made visible here.
        right: the columns whose cells are aligned to the right.
        cut: the column that is cut where the terminal is too narrow; the others are folded, so that nothing of them gets lost.
    """
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    cells = [[visible(cell) for cell in row] for row in rows]
    wide = [max(cell_len(row[place]) for row in (columns, *cells)) for place in range(len(columns))]
    # What is left of the line is for the column that is cut; on a pipe that is all it needs.
    left = console().width - sum(size + 2 for name, size in zip(columns, wide, strict=True) if name != cut)
    for name, size in zip(columns, wide, strict=True):
        justify: JustifyMethod = "right" if name in right else "left"
        if name == cut:
            room = min(size, max(_NARROWEST, left))
            shown.add_column(name, justify=justify, overflow="ellipsis", no_wrap=True, width=room)
        else:
            shown.add_column(name, justify=justify, overflow="fold")
    for row in cells:
        shown.add_row(*map(Text, row))
    _print_trimmed(shown)


def pairs(rows: Iterable[tuple[Text | str, Text | str]]) -> None:
    """Print names, or marks, with what belongs to them, which wraps beside its name where it is too long for a line."""
    from rich.table import Table

    shown = Table.grid(padding=(0, 2))
    for name, value in rows:
        left = styled((name, "dim")) if isinstance(name, str) else name
        shown.add_row(left, styled(value) if isinstance(value, str) else value)
    _print_trimmed(shown)


def _print_trimmed(shown: RenderableType) -> None:
    """Print without blanks at the ends of lines."""
    out = console()
    with out.capture() as captured:
        out.print(shown)
    lines = captured.get().split("\n")
    out.file.write("\n".join(line if out.is_terminal else line.rstrip() for line in lines))


def _escaped(found: re.Match[str]) -> str:
    char = found.group()
    code = ord(char)
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def _json_escape(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1] if found.group() != "\x7f" else "\\u007f"


def _in_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return str(value)
