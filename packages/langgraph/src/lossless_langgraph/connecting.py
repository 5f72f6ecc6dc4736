"""How a database is named, and a saver that closes what it has opened."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol, TypeVar

from lossless import Engine
from lossless.errors import ConfigError
from lossless.twins import async_twin

__all__ = ["Connection", "database_url"]


class _Saver(Protocol):
    engine: Engine


S = TypeVar("S", bound=_Saver)


class Connection(AbstractContextManager[S], AbstractAsyncContextManager[S]):
    """Opens a saver, and closes its engine; ``with`` and ``async with``."""

    def __init__(self, open: Callable[[], S]) -> None:
        self._open = open
        self._saver: S | None = None

    def __enter__(self) -> S:
        self._saver = self._open()
        return self._saver

    def __exit__(self, *_error: object) -> None:
        if self._saver is not None:
            self._saver.engine.close()

    _aopen = async_twin(__enter__)
    _aclose = async_twin(__exit__)

    async def __aenter__(self) -> S:
        return await self._aopen()

    async def __aexit__(self, *error: object) -> None:
        await self._aclose(*error)


def database_url(text: str) -> str:
    """Give the URL of a database that is named by URL, path or ``:memory:``."""
    if not isinstance(text, str):
        raise ConfigError(f"a {type(text).__name__} is neither an engine nor a URL", hint="give an Engine, a URL or a path")
    if text == ":memory:":
        return "sqlite://"
    return text if "://" in text else f"sqlite:///{text}"
