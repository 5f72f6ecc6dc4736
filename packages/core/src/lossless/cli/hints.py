"""Hints, in the words of the command line: the library says what to call, a person at a terminal wants to know what to type."""

from __future__ import annotations

from lossless.errors import LosslessError

__all__ = ["typed"]

_TYPED = (
    ("threads()", "`lossless threads`"),
    ("messages()", "`lossless messages THREAD`"),
    ("snapshots()", "`lossless snapshot THREAD`"),
    ("the items of context()", "the items of `lossless context THREAD --json`"),
    ("give window=, model= or budget= to the Engine", "give --window or --model"),
    ("give window= as well, or a lossless_models plugin", "give --window as well"),
    ("or name another format=", "or name another --format"),
    ("next_cursor of a page", "cursor that a page ended with"),
    ("use Engine(load_plugins=False)", "repair it"),
)


def typed(error: LosslessError) -> str:
    """Give an error's message and hint as one line for somebody who types commands."""
    hint = error.hint
    for called, command in _TYPED:
        hint = hint.replace(called, command)
    return f"{error.message} ({hint})" if hint else error.message
