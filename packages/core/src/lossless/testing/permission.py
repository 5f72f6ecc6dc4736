"""A guard for tests: no real model is called, and a test during which one was is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lossless.summarizers.permission import calls_forbidden

__all__ = ["RealModelCallError", "no_real_models"]


class RealModelCallError(AssertionError):
    """A real model was called where none may be."""


@contextmanager
def no_real_models(*, allow_loopback: bool = True) -> Iterator[None]:
    """Let no real model be called while the block runs, in any thread.

    A call is refused at once. As an engine takes that for a failure of its summarizer and goes on without, the block raises in
    the end, too.

    Args:
        allow_loopback: whether servers on this machine may be called, such as a scripted one.

    Raises:
        RealModelCallError: a real model would have been called; the error names model and host.
    """
    with calls_forbidden(allow_loopback=allow_loopback) as attempts:
        yield
    if attempts:
        raise RealModelCallError(f"a real model was called: {', '.join(dict.fromkeys(attempts))}")
