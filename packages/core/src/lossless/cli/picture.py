"""The demo's picture: live on a terminal, a line every tenth of the way elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from lossless.cli.bar import draw_bar, filled_lines
from lossless.cli.context import bar_width, marks_of, shares_of
from lossless.cli.output import counted, first_words, number, styled
from lossless.cli.showing import ROLE_STYLES, payload_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.text import Text

    from lossless.cli.playing import Moment
    from lossless.context.budget import Limits

__all__ = ["Picture", "picture_on"]

PACE_SECONDS = 6.0
"""How long a session takes on a terminal at the least, for people to watch; a short one takes ``STEP_SECONDS`` a message."""
STEP_SECONDS = 0.02
_LEVELS, _PLAIN_LEVELS = "▁▂▃▄▅▆▇█", "_.-=*#"


class Picture(Protocol):
    """Shows a session while it is played."""

    def show(self, moment: Moment) -> None:
        """Show where it stands."""
        ...


@contextmanager
def picture_on(out: Console | None, limits: Limits, pinned: set[str]) -> Iterator[Picture]:
    """Give the picture that fits where it is shown: None means nowhere. ``pinned`` may be filled while the session is played."""
    if out is None:
        yield _Nothing()
    elif out.is_terminal and not out.is_dumb_terminal:
        from rich.live import Live

        with Live(console=out, auto_refresh=False, transient=False) as live:
            yield _Living(out, live, limits, pinned)
    else:
        yield _Lines(out, limits)


class _Nothing:
    def show(self, moment: Moment) -> None:
        """Show nothing."""


class _Lines:
    """A line every tenth of the way."""

    def __init__(self, out: Console, limits: Limits) -> None:
        self._out = out
        self._limits = limits
        self._tenth = 0

    def show(self, moment: Moment) -> None:
        """Print a line if the next tenth is reached."""
        tenth = 10 * moment.played // moment.total
        if tenth == self._tenth:
            return
        self._tenth = tenth
        percent = 100 * moment.played // moment.total
        summaries = counted(sum(item.kind == "summary" for item in moment.context.items), "summary")
        compactions, calls = counted(moment.compactions, "compaction"), counted(moment.model_calls, "model call")
        self._out.print(
            f"{percent:3d} %  {number(moment.played):>5} messages, {number(moment.stored_tokens):>7} tokens stored | context "
            f"{number(moment.context.tokens):>6} of {number(self._limits.hard)}, {summaries} | {compactions}, {calls}"
        )


class _Living:
    """The live picture."""

    def __init__(self, out: Console, live: Live, limits: Limits, pinned: set[str]) -> None:
        self._out = out
        self._live = live
        self._limits = limits
        self._pinned = pinned
        self._history: list[tuple[int, int]] = []
        self._began = time.monotonic()

    def show(self, moment: Moment) -> None:
        """Draw anew, and wait if the session is ahead of its pace."""
        self._history.append((moment.played, moment.context.tokens))
        self._live.update(self._drawn(moment), refresh=True)
        pace = min(PACE_SECONDS, STEP_SECONDS * moment.total)
        ahead = self._began + pace * moment.played / moment.total - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)

    def _drawn(self, moment: Moment) -> RenderableType:
        from rich.console import Group

        ascii_only = self._out.options.ascii_only
        width = bar_width(self._out.width)
        context = moment.context
        bar = draw_bar(
            shares_of(context, self._pinned),
            marks_of(self._limits),
            full=max(self._limits.hard, context.tokens),
            width=width,
            ascii_only=ascii_only,
        )
        summaries = sum(item.kind == "summary" for item in context.items)
        facts = (
            ("context now", f"{number(context.tokens)} tokens"),
            ("highest", f"{number(moment.highest)} of {number(self._limits.hard)}"),
            ("summaries in view", number(summaries)),
            ("compactions", number(moment.compactions)),
            ("model calls", number(moment.model_calls)),
        )
        role = str(moment.newest.get("role", ""))
        said = first_words(payload_text(moment.newest), max(10, width - len(role) - 2))
        return Group(
            self._stored(moment, width, ascii_only),
            styled(""),
            *bar,
            styled(""),
            *filled_lines([styled((f"{name} ", "dim"), (value, "bold")) for name, value in facts], width),
            styled(("context over time ", "dim"), (self._curve(moment.total, width - 18, ascii_only), "green")),
            styled((role, ROLE_STYLES.get(role, "")), " ", (said, "dim")),
        )

    def _stored(self, moment: Moment, width: int, ascii_only: bool) -> Text:
        text = f"stored {number(moment.played)}/{number(moment.total)} messages, {number(moment.stored_tokens)} tokens "
        room = max(0, width - len(text))
        done = room * moment.played // moment.total
        full, empty = ("#", "-") if ascii_only else ("━", "─")
        return styled(text, (full * done, "bold"), (empty * (room - done), "bright_black"))

    def _curve(self, total: int, width: int, ascii_only: bool) -> str:
        """Draw the tokens of the context over the session so far, each column the highest of its share."""
        levels = _PLAIN_LEVELS if ascii_only else _LEVELS
        columns: dict[int, int] = {}
        for played, tokens in self._history:
            column = min(width - 1, played * width // total)
            columns[column] = max(tokens, columns.get(column, 0))
        drawn, last = "", 0
        for column in range(max(columns, default=-1) + 1):
            last = columns.get(column, last)
            drawn += levels[min(len(levels) - 1, last * len(levels) // max(1, self._limits.hard))]
        return drawn
