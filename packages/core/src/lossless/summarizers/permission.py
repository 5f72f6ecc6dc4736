"""Whether real models may be called at all: tests forbid it, and are told of every attempt.

An engine takes a summarizer that raises for one that failed, and goes on without it; so an attempt is kept, not only refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from lossless.locks import ForkLock

__all__ = ["announce_call", "calls_forbidden"]

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_lock = ForkLock()
_forbidden: list[tuple[list[str], bool]] = []


def announce_call(model: str, url: str) -> None:
    """Say that a real model is about to be called; a summarizer that reaches for one does so before each call.

    Raises:
        PermissionError: real calls are forbidden now.
    """
    with _lock:
        if not _forbidden:
            return
        attempts, allow_loopback = _forbidden[-1]
        host = urlsplit(url).hostname or ""
        if allow_loopback and host in _LOOPBACK:
            return
        attempts.append(f"{model} at {host or 'an unknown address'}")
    raise PermissionError(f"real models may not be called here: {model}")


@contextmanager
def calls_forbidden(*, allow_loopback: bool) -> Iterator[list[str]]:
    """Forbid real calls in all threads of the process while the block runs; give the list of what was attempted."""
    attempts: list[str] = []
    entry = (attempts, allow_loopback)
    with _lock:
        _forbidden.append(entry)
    try:
        yield attempts
    finally:
        with _lock:
            _forbidden[:] = [other for other in _forbidden if other is not entry]
