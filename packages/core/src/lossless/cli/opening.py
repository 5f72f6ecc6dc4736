"""Opening: the engine that a command works on, and its threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lossless.cli.keys import given_cipher
from lossless.cli.output import say
from lossless.errors import ConfigError

if TYPE_CHECKING:
    from lossless import Engine, Thread, ThreadInfo

__all__ = ["DEFAULT_WINDOW", "existing_thread", "opened", "shown_url", "thread_info", "window_or_default"]

DEFAULT_WINDOW = 200_000
"""Tokens of the window where neither window nor model is named."""


@contextmanager
def opened(
    url: str | None,
    namespace: str,
    *,
    window: int | None = None,
    model: str | None = None,
    create: bool = False,
) -> Iterator[Engine]:
    """Open an engine that compacts nothing behind the command's back; an absent database is made only if ``create`` says so.

    Raises:
        CipherError: the database is encrypted by another key, or one of both is not encrypted.
        ConfigError: the model is not known, or the key is none.
        StoreOpenError: the database can't be opened.
    """
    from lossless import Engine
    from lossless.tokens import find_model

    if model is not None and window is None:
        # Said here in the words of the command line.
        from lossless.builtins import Builtins
        from lossless.hooks import Plugins

        if find_model(model, Plugins(builtins=(Builtins(),)).models()) is None:
            raise ConfigError(f"the model {model!r} is not known", hint="give --window as well")
    cipher = given_cipher()
    with Engine(url, namespace=namespace, window=window, model=model, create=create, cipher=cipher, background=False) as engine:
        yield engine


def shown_url(url: str) -> str:
    """Give a URL as it may be shown: without the password."""
    from sqlalchemy.engine import make_url

    return make_url(url).render_as_string(hide_password=True) if "@" in url else url


def window_or_default(window: int | None, model: str | None) -> int | None:
    """Give the window, or the default, and say so, if neither window nor model was named."""
    if window is not None or model is not None:
        return window
    say(f"neither --window nor --model given: a window of {DEFAULT_WINDOW:_} tokens is assumed".replace("_", " "))
    return DEFAULT_WINDOW


def existing_thread(engine: Engine, thread_id: str) -> Thread:
    """Give a handle on a thread that is there.

    Raises:
        NotFoundError: it is not.
    """
    if thread_info(engine, thread_id) is None:
        from lossless.dag.heads import no_thread

        raise no_thread(thread_id)
    return engine.thread(thread_id)


def thread_info(engine: Engine, thread_id: str) -> ThreadInfo | None:
    """Give what a list of threads says about one, or None if it is not there."""
    from lossless.dag.threads import list_threads
    from lossless.store.keys import Reach

    handle = engine.thread(thread_id)
    with engine.database.read() as connection:
        found = list_threads(connection, Reach(engine.namespace, (handle.id,)), limit=1, cursor=None)
    return found.items[0] if found.items else None
