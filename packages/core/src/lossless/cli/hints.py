"""Hints, in the words of the command line: the library says what to call, a person at a terminal wants to know what to type."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lossless.errors import LosslessError

__all__ = ["program", "typed"]

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
    ("give Engine(cipher=AesGcmCipher(key))", "give its key in $LOSSLESS_KEY or with --key-file"),
    ("leave the cipher out", "leave the key out ($LOSSLESS_KEY, --key-file)"),
    ("of one that was replaced, AesGcmCipher(new, retired=[old])", "keys that were replaced may follow it"),
    ("AesGcmCipher.new_key() makes one", "`openssl rand -hex 32` makes one"),
)


def program() -> list[str]:
    """Give the words that a person typed to get here, and types again for the next command."""
    by_uv = ["uv", "run"] if os.environ.get("UV_RUN_RECURSION_DEPTH") else []  # else a shell may not find the program
    by_python = ["python", "-m"] if Path(sys.argv[0]).name == "__main__.py" else []
    return [*by_uv, *by_python, "lossless"]


def typed(error: LosslessError) -> str:
    """Give an error's message and hint as one line for somebody who types commands."""
    hint = error.hint
    for called, command in _TYPED:
        hint = hint.replace(called, command)
    return f"{error.message} ({hint})" if hint else error.message
